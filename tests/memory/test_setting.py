"""What a prompt says of the surroundings of a text: chapter, narrator, what was told before."""

import re
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.memory.model import GistFocus, PageSize, ReadingMode
from gistread.memory.narrator import Narration, narration_of
from gistread.memory.reading import read_book
from gistread.memory.setting import setting
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.prompts import TRAINED
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose

HE_TURNED = "He turned towards me, and I saw that he had been to Cornwall before. I said nothing."
ADDRESSED = (
    "“Come, Watson, you know my methods,” he said. “My dear Watson, I fear for you.”"
)
OTHERS = (
    "“Yes, Sterndale,” I said. Sterndale rose, and I rose too. Sterndale stared at us."
)


def story(*chapters: tuple[str, ...]) -> Book:
    return make_book(*(["# A chapter", *chapter] for chapter in chapters))


def test_whom_speakers_address_and_the_narration_does_not_name_tells_the_story() -> (
    None
):
    speech = "“I spoke to Watson of it.”"
    book = story((HE_TURNED, ADDRESSED, OTHERS, speech), (ADDRESSED, OTHERS, HE_TURNED))
    narration = narration_of(book)
    assert narration.name(len(book.text)) == "Watson"
    assert narration.is_first_person(0, len(book.text))


def test_who_is_addressed_in_a_tale_of_others_does_not_tell_the_story() -> None:
    tale = [
        "He bought a picture, and they were all to help him with the hammer and the nails. "
        * 6,
        "“Bring me the rule, Tom,” he would shout. “I spoke to Tom of it. Come, Tom, hold it!”",
        "She held the candle for him, and it went out, and they looked for the nail. "
        * 6,
    ]
    book = story((HE_TURNED * 3, *tale), (*tale, HE_TURNED * 3), (HE_TURNED, *tale))
    narration = narration_of(book)
    assert narration.is_first_person(0, len(book.text))
    assert len(narration.called["Tom"]) == 6
    assert not narration.name(len(book.text))


def test_a_short_form_of_the_narrators_name_is_no_rival() -> None:
    short = ADDRESSED.replace("Watson", "Wat")
    speech = "“I spoke to Watson of it, and Wat heard.”"
    book = story((HE_TURNED, ADDRESSED, short, speech), (ADDRESSED, short, HE_TURNED))
    assert narration_of(book).name(len(book.text)) == "Watson"


def test_the_name_is_unknown_before_the_text_tells_it() -> None:
    book = story((HE_TURNED, HE_TURNED), (HE_TURNED, "Call me Ishmael. I went to sea."))
    narration = narration_of(book)
    assert not narration.name(book.text.index("Call me"))
    assert narration.name(len(book.text)) == "Ishmael"


@pytest.mark.parametrize(
    "chapters",
    [
        # EventLog in the third person: who is addressed there tells nothing.
        (
            (
                "Watson sat down.",
                ADDRESSED,
                ADDRESSED,
                "“I know Watson.” She left with him.",
            ),
        ),
        # "Sir" and "Ah" are no names.
        (
            (
                HE_TURNED,
                "“Sir, yes, sir! Ah, Sir, no, Sir, Ah, Ah! Sir.” I told the sir of it.",
            ),
        ),
        # Two are addressed alike.
        (
            (
                *(HE_TURNED, ADDRESSED, ADDRESSED),
                "“I saw Watson and Lestrade. Lestrade!” I left.",
                "“Well, Lestrade, Lestrade, no, Lestrade.”",
            ),
        ),
        # Letters of two people
        (
            (HE_TURNED, "My name is Franz Bauer."),
            (HE_TURNED, "My name is Christian Hauck."),
        ),
    ],
)
def test_a_doubtful_narrator_has_no_name(chapters: tuple[tuple[str, ...], ...]) -> None:
    book = story(*chapters)
    end = len(book.text)
    narration = narration_of(book)
    assert not (narration.is_first_person(0, end) and narration.name(end))


def test_a_setting_names_chapter_narrator_and_what_came_before() -> None:
    book = story((HE_TURNED, "My name is John Watson. I write it down."), (HE_TURNED,))
    second = book.chapters[1].start
    sentences = setting(
        book, second, len(book.text), "Holmes has gone to Cornwall. He rests there."
    )
    assert sentences == (
        " It is from the chapter “Chapter 2”. Who says “I” in it is John Watson. "
        "Just before it: Holmes has gone to Cornwall."
    )


@dataclass(frozen=True)
class Read:
    prompts: list[str]  # For the gists, in the order of the pages
    gists: list[str]


async def read(tmp_path: Path, **info: object) -> Read:
    """Read a book of one chapter with a model."""
    book = make_book(["# One", *(prose(60, seed=seed) for seed in range(20))])

    def gist(prompt: str) -> str:
        return " ".join(prompt.partition("\n---")[0].split()[-24:])

    model = FakeEngine(says=gist, parallel=4)
    model._info = replace(model._info, **info)  # type: ignore[arg-type]
    focus = GistFocus(wording=str(info.get("wording", "")))
    request = MemoryRequest(
        "fake", "f", PageSize(100, 200), ReadingMode.SINGLE_PASS, focus
    )
    with MemoryStore(tmp_path).open(book, request) as writer:
        async for _ in read_book(writer, model):
            pass
        gists = [entry.gist.text for entry in writer.memory.entries]
    prompts = [call.text for call in model.calls if call.kind == "complete"]
    assert len(prompts) == len(gists) > 4
    return Read(prompts, gists)


async def test_a_server_is_told_the_gist_of_the_page_before(tmp_path: Path) -> None:
    result = await read(tmp_path, is_remote=True)
    assert all(
        "It is from the chapter “Chapter 1”." in prompt for prompt in result.prompts
    )
    before = [re.search(r"Just before it: (.*)", prompt) for prompt in result.prompts]
    assert before[0] is None
    pairs = [
        (match[1], gist)
        for match, gist in zip(before[1:], result.gists, strict=False)
        if match
    ]
    assert pairs  # Not where the prompt shows the text before the page
    assert all(gist.startswith(sentence) for sentence, gist in pairs)


async def test_the_narrator_is_looked_for_off_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def narration(book: Book) -> Narration:
        threads.append(threading.current_thread())
        return narration_of(book)

    monkeypatch.setattr("gistread.memory.setting.narration_of", narration)
    await read(tmp_path)
    assert threads
    assert threading.current_thread() not in threads


async def test_a_model_on_this_machine_is_told_the_sentence_before(
    tmp_path: Path,
) -> None:
    result = await read(tmp_path)
    assert any("Just before it: " in prompt for prompt in result.prompts)


@pytest.mark.parametrize("info", [{"parameters": 1_500_000_000}, {"wording": TRAINED}])
async def test_a_small_model_is_told_nothing(
    tmp_path: Path, info: dict[str, object]
) -> None:
    result = await read(tmp_path, **info)
    prompts = "\n".join(result.prompts)
    assert "Just before it" not in prompts
    assert "It is from the chapter" not in prompts


def test_what_a_page_is_told_of_its_surroundings_does_not_part_memories() -> None:
    focus = GistFocus()
    template = focus.template(
        "single_pass_gist", where="It is from the chapter “One”.\n"
    )
    assert "“One”" in template.own_words
    assert focus.version("single_pass_gist") == "ea576037bcbd"
