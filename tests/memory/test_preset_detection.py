"""The kind of a book, detected by its form, on real files and small examples."""

import json
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.book.open import open_book, open_bytes
from gistread.memory.preset_detection import detect_preset

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


def text(*paragraphs: str) -> Book:
    return open_bytes("\n\n".join(paragraphs).encode(), "book.txt")


needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")


@needs_data
def test_real_transcripts_are_meetings_with_or_without_empty_lines() -> None:
    for number, line in enumerate(
        (DATA / "qmsum/qmsum_val.jsonl").read_text().splitlines()[::4]
    ):
        turns = [
            f"{turn['speaker']}: {turn['content']}"
            for turn in json.loads(line)["meeting_transcripts"]
        ]
        for separator in ("\n", "\n\n"):
            assert (
                detect_preset(open_bytes(separator.join(turns).encode(), "m.txt"))
                == "meeting"
            ), number


@needs_data
@pytest.mark.parametrize(
    "name",
    [
        "35_The-Time-Machine",
        "1342_Pride-and-Prejudice",
        "11_Alice-s-Adventures-in-Wonderland",
        "2500_Siddhartha",
    ],
)
def test_real_novels_are_fiction(name: str) -> None:
    assert detect_preset(open_book(DATA / f"books/{name}.txt")) == "fiction"


@needs_data
def test_real_stories_are_fiction() -> None:
    for line in (
        (DATA / "quality/quality_2opt_dev.jsonl").read_text().splitlines()[::30]
    ):
        assert (
            detect_preset(open_bytes(json.loads(line)["article"].encode(), "story.txt"))
            == "fiction"
        )


@needs_data
@pytest.mark.process
def test_a_real_paper_is_a_paper() -> None:
    assert (
        detect_preset(open_book(DATA / "pdf/single_turn_debate_paper.pdf")) == "paper"
    )


@needs_data
@pytest.mark.slow
def test_a_novel_as_pdf_is_fiction() -> None:
    assert (
        detect_preset(open_book(DATA / "pdf/1342_pride_and_prejudice.pdf")) == "fiction"
    )


@needs_data
@pytest.mark.parametrize(
    "name",
    ["kusamakura-japanese-vertical-writing", "regime-anticancer-arabic", "wasteland"],
)
def test_other_scripts_and_verse_are_fiction(name: str) -> None:
    assert (
        detect_preset(open_book(DATA / f"epub/epub3-samples/{name}.epub")) == "fiction"
    )


@pytest.mark.parametrize(
    "turn",
    [
        "{who}: Das war es.",
        "**{who}:** Das war es.",
        "[00:{n:02}:12] {who}: Das war es.",
        "{who} (00:{n:02}) : Das war es.",
        "{who}  {n}:15\nDas war es.",
        "{who}：これで終わりです。",
    ],
)
def test_a_transcript_is_known_however_its_turns_are_written(turn: str) -> None:
    speakers = ("Frau Abt", "Herr Östlund", "田中")
    assert (
        detect_preset(
            text(*(turn.format(who=speakers[n % 3], n=n + 10) for n in range(18)))
        )
        == "meeting"
    )


def test_a_play_has_speakers_and_is_no_meeting() -> None:
    play = "\n\n".join(
        f"{('Nora', 'Helmer')[n % 2]}: Ja, Torvald, das war es wohl." for n in range(20)
    )
    assert (
        detect_preset(
            open_bytes(
                f"# Ein Spiel\n\n## Akt I\n\n{play}\n\n## Akt II\n\n{play}".encode(),
                "p.md",
            )
        )
        == "fiction"
    )


def test_a_story_with_much_talk_is_no_meeting() -> None:
    assert (
        detect_preset(
            text(
                *(
                    f"“Well,” said Ada: “that makes {n} of them.” And she went."
                    for n in range(20)
                )
            )
        )
        == "fiction"
    )


@pytest.mark.parametrize(
    "heading", ["References", "7. Literatur", "参考文献", "Список литературы"]
)
def test_citations_and_a_list_of_references_make_a_paper_in_any_language(
    heading: str,
) -> None:
    body = [
        f"Es wurde gezeigt [{n}], und anderswo bezweifelt (Meier, 19{n}; Abt, 2001)."
        for n in range(10, 20)
    ]
    assert (
        detect_preset(text("Über die Dinge", *body, heading, "Meier (1910): Dinge."))
        == "paper"
    )
    assert detect_preset(text("Über die Dinge", *body)) == "fiction"
