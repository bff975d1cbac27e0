"""The whole book read for one question, with notes taken on the way."""

import itertools
from collections.abc import Sequence

import pytest

from gistread.engine.protocol import NO_USAGE, Completion
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.readers import notes
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, Noted, ReaderEvent, Stopped, StopReason
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "Ferrand stole it."


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "CHUNK_TOKENS", 200)


def part_of(prompt: str) -> str:
    """The text of the book in a prompt."""
    return prompt.split("\n---\n")[1]


def says(text: str) -> str:
    if "Notes so far" not in text:
        return ANSWER
    return note_on(text, FACTS[5:])


def note_on(prompt: str, facts: Sequence[str]) -> str:
    """A note on the first of these facts that a part tells."""
    fact = next((fact for fact in facts if fact in part_of(prompt)), "")
    return f"Here: {fact}" if fact else "Nothing new."


async def ask(
    fake: FakeEngine, memory: GistMemory | None = None, steering: Steering | None = None
) -> list[ReaderEvent]:
    events = notes.notes(
        Asking(
            QUESTION,
            memory or make_memory(),
            fake,
            steering or Steering(),
            ReaderOptions(),
        )
    )
    return [event async for event in events]


async def test_the_whole_text_is_read_in_order_with_notes() -> None:
    fake = FakeEngine(says=says)
    events = await ask(fake)
    read = " ".join(part_of(call.text) for call in fake.calls[:-1])
    places = [read.index(fact) for fact in FACTS]
    assert places == sorted(places)
    written = [event.text for event in events if isinstance(event, Noted)]
    assert written
    assert all(note in fake.calls[-1].text for note in written)
    assert isinstance(events[-1], Answered)
    assert events[-1].answer == ANSWER


async def test_the_answer_cites_notes_by_number_and_so_the_part_that_each_was_taken_from() -> (
    None
):
    memory = make_memory()

    def say(text: str) -> str:
        if "Notes so far" not in text:
            return "She found it missing. [1] Ferrand had stolen it. [2]"
        return note_on(text, (FACTS[5], FACTS[7]))

    fake = FakeEngine(says=say)
    *_, end = await ask(fake, memory)
    assert f"[1] Here: {FACTS[5]}\n[2] Here: {FACTS[7]}" in fake.calls[-1].text
    assert isinstance(end, Answered)
    assert end.answer == "She found it missing. [1] Ferrand had stolen it. [2]"
    for fact, (start, until) in zip((FACTS[5], FACTS[7]), end.cited, strict=True):
        assert fact in memory.book.text[start:until]


async def test_old_notes_are_dropped_with_a_notice_to_fit_the_window() -> None:
    numbers = itertools.count()

    def say(text: str) -> str:
        if "Notes so far" not in text:
            return ANSWER
        return f"Note {next(numbers)} " + "of the matter " * 15

    fake = FakeEngine(says=say, context_tokens=900)
    events = await ask(fake, make_memory(40, 40))
    assert any(isinstance(event, Noted) and "dropped" in event.text for event in events)
    assert max([await fake.measure(call.prompt) for call in fake.calls]) <= 900


async def test_stop_ends_the_reading_with_an_answer() -> None:
    fake = FakeEngine(says=says)
    events = await ask(fake, steering=Steering(stop=True))
    assert Stopped(StopReason.PERSON) in events
    assert len(fake.calls) == 1


async def test_every_item_of_a_list_is_noted_once_on_a_line_of_its_own() -> None:
    memory = make_memory()
    replies = iter(
        [
            Completion("- Port\n- Sherry\n- Ma", "length", NO_USAGE),
            Completion("1. Madeira\n2. Sherry", "end", NO_USAGE),
        ]
    )

    def say(text: str) -> str | Completion:
        if "Notes so far" not in text:
            return "Port, sherry and Madeira."
        return next(replies, "Nothing new.")

    fake = FakeEngine(says=say)
    events = await ask(fake, memory)
    assert [event.text for event in events if isinstance(event, Noted)] == [
        "Port",
        "Sherry",
        "Madeira",
    ]
    assert "[1] Port\n[2] Sherry\n[3] Madeira" in fake.calls[-1].text


async def test_a_thing_is_noted_beside_an_earlier_one_named_after_it() -> None:
    replies = iter(
        [
            "The king's daughter\nThe king rode home at dawn",
            "The king\nKing rode home at dawn",
        ]
    )

    def say(text: str) -> str:
        return next(replies, "Nothing new.") if "Notes so far" in text else ANSWER

    events = await ask(FakeEngine(says=say), make_memory())
    assert [event.text for event in events if isinstance(event, Noted)] == [
        "The king's daughter",
        "The king rode home at dawn",
        "The king",
    ]


@pytest.mark.parametrize(
    ("question", "is_told"),
    [("Wer hat den Schlüssel gestohlen?", True), (QUESTION, False)],
)
async def test_notes_are_in_the_language_of_the_book(
    question: str, is_told: bool
) -> None:
    fake = FakeEngine(says=says)
    asking = Asking(question, make_memory(), fake, Steering(), ReaderOptions())
    _ = [event async for event in notes.notes(asking)]
    assert ("in the language of this part" in fake.calls[0].text) == is_told


async def test_a_note_that_stays_cut_is_told() -> None:
    numbers = iter(range(1000))

    def say(text: str) -> str | Completion:
        if "Notes so far" not in text:
            return ANSWER
        return Completion(f"Guest {next(numbers)} came\nGues", "length", NO_USAGE)

    events = await ask(FakeEngine(says=say), make_memory(3, 3))
    noted = [event.text for event in events if isinstance(event, Noted)]
    assert noted[:4] == [*(f"Guest {number} came" for number in range(3)), notes.CUT]


async def test_a_note_is_traced_to_the_sentence_that_tells_it() -> None:
    memory = make_memory()

    def say(text: str) -> str:
        if "Notes so far" not in text:
            return "He did. [1]"
        if FACTS[7] in part_of(text):
            return "Ferrand stole the key for the ledger."
        return "Nothing new."

    *_, end = await ask(FakeEngine(says=say), memory)
    assert isinstance(end, Answered)
    ((start, until),) = end.cited
    assert FACTS[7] in memory.book.text[start:until]
    assert until - start < 700


async def test_title_page_and_imprint_are_in_no_part() -> None:
    text = " ".join(f"Then he saw lamp {number} burn." for number in range(40))
    book = make_book(["# Imprint", "Printed by Bale & Sons.", "# Chapter One", text])
    fake = FakeEngine(says=says)
    await ask(fake, unread_memory(book))
    assert not any("Bale" in call.text for call in fake.calls)
    assert any("lamp 39" in call.text for call in fake.calls)


async def test_each_prompt_begins_with_all_of_the_notes_before() -> None:
    fake = FakeEngine(says=says)
    await ask(fake)
    beginnings = [call.text.partition("\n\n---\n")[0] for call in fake.calls[:-1]]
    assert beginnings[0].endswith("Notes so far:\nnone")
    notes_so_far = [beginning.replace("\nnone", "") for beginning in beginnings]
    assert all(
        later.startswith(earlier) for earlier, later in itertools.pairwise(notes_so_far)
    )
    assert FACTS[5] in notes_so_far[-1]


async def test_a_part_with_more_to_note_is_evaluated_once() -> None:
    replies = iter(
        [
            Completion("Port\nSherry\nMa", "length", NO_USAGE),
            Completion("Madeira", "end", NO_USAGE),
        ]
    )

    def say(text: str) -> str | Completion:
        if "Notes so far" not in text:
            return "Port, sherry and Madeira."
        return next(replies, "Nothing new.")

    fake = FakeEngine(says=say)
    await ask(fake)
    first, second = (call.text for call in fake.calls[:2])
    shared = first.rindex("\nQuestion:")
    assert second.startswith(first[:shared])
    assert "Already noted of it:\n- Port\n- Sherry\n" in second[shared:]
