"""Every reader puts the pieces of a whole-story answer together.

Provided that its model tells them rightly.
"""

import json

import pytest

from gistread import open_book
from gistread.memory.facts import elements_in
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.readers import cost
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from gistread.words import count_words
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory
from tests.readers.whole_story import WholeStoryReader
from tests.replies import RECORDED

DATA = RECORDED.parents[1] / "data" / "books"
QUESTION = "How does the brass key come to be stolen, from start to finish?"
PIECES = {
    "A lodger called Ferrand lands at the lighthouse": ("A stranger named Ferrand",),
    "One stormy night the lamp fails": ("During the storm the lamp",),
    "By morning nothing hangs on the nail": ("Martha found the brass key",),
    "Downstairs a ledger lies open to anybody": ("The cellar door stood open",),
    "In the end Ferrand owns up to the theft": ("Ferrand confessed that he had",),
}
CAPABLE = WholeStoryReader(
    PIECES, {fact: f"- {fact} | {'; '.join(elements_in(fact))}\n" for fact in FACTS}
)


@pytest.mark.parametrize(
    ("name", "is_long"),
    [
        *(
            (name, False)
            for name in (
                "auto",
                "gistread",
                "readagent-p",
                "memwalker",
                "graphreader",
                "longagent",
            )
        ),
        *((name, True) for name in ("auto", "readagent-s", "notes")),
    ],
)
async def test_a_capable_model_answers_about_the_whole_story(
    name: str, is_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.readers.longagent.MAX_CHUNK_TOKENS", 300)
    monkeypatch.setattr("gistread.readers.notes.CHUNK_TOKENS", 300)
    if is_long:
        monkeypatch.setattr(cost, "_COMFORTABLE", 0.01)
    answered = await ask(name, QUESTION, make_memory(), CAPABLE)
    assert [piece for piece in PIECES if piece not in answered] == []


async def ask(
    name: str, question: str, memory: GistMemory, reader: WholeStoryReader
) -> str:
    engine = FakeEngine(says=reader.says, chooses=reader.chooses)
    events = METHODS[name].reader()(
        Asking(question, memory, engine, Steering(), ReaderOptions(max_pages=6))
    )
    answered = [event async for event in events][-1]
    assert isinstance(answered, Answered)
    assert answered.found
    assert (
        max([await engine.measure(call.prompt) for call in engine.calls])
        < engine.info.context_tokens
    )
    return answered.answer


# What the recorded reader noted of "The Cask of Amontillado", and words of the story that tell it.
RECORDED_PIECES = {
    "He lures the drunken Fortunato with talk of Amontillado": (
        "what passes for Amontillado",
        "supposed Amontillado",
    ),
    "He leads him down into the catacombs of the Montresors": (
        "damp ground of the catacombs",
        "damp catacombs",
    ),
    "He fetters him to the granite in a recess of a deep crypt": (
        "fettered him to the granite",
    ),
    "He walls up the niche, tier by tier": (
        "laid the first tier",
        "began walling up the niche",
    ),
    "At midnight he forces in the last stone": (
        "forced the last stone",
        "forced in the last stone",
    ),
}
_BEGINS = "to pause:\n\n"
_LAST_BEGINS = "It was now midnight"


def recorded_memory() -> GistMemory:
    """The story as the recorded reader paged it, with its gists."""
    book = open_book(DATA / "1063_The-Cask-of-Amontillado.txt")
    exchanges = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    gists = [
        (
            exchange["messages"][-1]["content"].partition(_BEGINS)[2][:20],
            exchange["reply"],
        )
        for exchange in exchanges
        if exchange["run"] == "index-cask"
        and "Shorten the text" in exchange["messages"][-1]["content"]
    ]
    begins = [
        0,
        *(book.text.index(first) for first, _ in gists[1:-1]),
        book.text.index(_LAST_BEGINS),
    ]
    memory = GistMemory(book, PageSize(50, 700), "recorded")
    for number, ((_, gist), start, end) in enumerate(
        zip(gists, begins, [*begins[1:], len(book.text)], strict=True), start=1
    ):
        page = Page(number, start, end, count_words(book.text[start:end]))
        memory.entries.append(
            MemoryEntry(page, Gist(gist, count_words(gist), GistSource.MODEL))
        )
    return memory


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded replies are not there")
@pytest.mark.parametrize(
    "name",
    [
        "auto",
        "gistread",
        "readagent-p",
        "readagent-s",
        "memwalker",
        "graphreader",
        "longagent",
        "notes",
    ],
)
async def test_every_reader_puts_the_recorded_statements_about_a_real_story_together(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.readers.longagent.MAX_CHUNK_TOKENS", 1500)
    monkeypatch.setattr("gistread.readers.notes.CHUNK_TOKENS", 1500)
    facts = {
        words[0]: f"- {statement} | Montresor; Fortunato\n"
        for statement, words in RECORDED_PIECES.items()
    }
    reader = WholeStoryReader(RECORDED_PIECES, facts)
    question = (
        "How does Montresor carry out his revenge on Fortunato, from start to finish?"
    )
    answered = await ask(name, question, recorded_memory(), reader)
    assert [piece for piece in RECORDED_PIECES if piece not in answered] == []
