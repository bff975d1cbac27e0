"""Presets are files: ours, and the person's own beside them."""

from pathlib import Path

import pytest

from gistread.errors import UsageError
from gistread.presets import FICTION, built_in_presets, find_preset, read_presets

OWN = (
    'title = "a trial"\nsummary = "who says what"\nkeep = "Keep who says\\nwhat."\nask = "Who '
    'says what?"\n'
)


def test_the_five_domains_come_with_gistread_and_fiction_stands_first() -> None:
    assert list(built_in_presets()) == ["fiction", "code", "manual", "meeting", "paper"]
    assert built_in_presets()["fiction"] is FICTION


@pytest.mark.parametrize("name", built_in_presets())
def test_a_presets_words_fit_the_sentences_that_they_stand_in(name: str) -> None:
    preset = built_in_presets()[name]
    assert not preset.keep.endswith((".", ",", ":"))
    assert preset.ask.endswith("?")
    assert preset.title
    assert preset.summary
    assert "{" not in preset.keep + preset.ask


def test_a_preset_of_the_persons_own_is_found_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "trial.toml").write_text(OWN)
    preset = find_preset("trial", tmp_path)
    assert (preset.name, preset.title, preset.keep) == (
        "trial",
        "a trial",
        "Keep who says what",
    )
    presets, problems = read_presets(tmp_path)
    assert (set(presets), problems) == ({*built_in_presets(), "trial"}, [])


def test_a_preset_of_the_persons_own_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "meeting.toml").write_text(OWN)
    assert find_preset("meeting", tmp_path).title == "a trial"
    assert built_in_presets()["meeting"].title == "a meeting"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mine", "keep = ", "Preset mine.toml: "),
        ("mine", 'keep = "x"', "ask is missing"),
        (
            "mine",
            OWN + "words = 3",
            "unknown entry 'words'; a preset has title, summary, keep, ask.",
        ),
        ("mine", OWN.replace('"a trial"', "3"), "title must be a text in quotes."),
        ("mine", OWN.replace("Keep", "Keep " * 100), "the limit is 400."),
        ("auto", OWN, "name the file in lower-case"),
        ("My Preset", OWN, "name the file in lower-case"),
    ],
)
def test_a_file_that_is_no_preset_is_named_with_its_fault(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / f"{name}.toml").write_text(text)
    presets, problems = read_presets(tmp_path)
    assert dict(presets) == built_in_presets()
    assert len(problems) == 1
    assert message in problems[0]
    with pytest.raises(UsageError) as raised:
        find_preset(name, tmp_path)
    assert message in str(raised.value)


def test_a_name_that_there_is_not_is_told_with_those_that_there_are(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match="Did you mean meeting") as raised:
        find_preset("meetings", tmp_path / "nothing")
    assert "auto, fiction, code, manual, meeting, paper" in str(raised.value)
