"""The baselines: what stands before the model, and nothing else."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

import pytest

from gistread.errors import PromptTooLongError
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page, PageSize
from gistread.memory.passages import GAP, PASSAGE_WORDS, join, render, split_into_chunks
from gistread.memory.passages import split_into_passages as cut_book
from gistread.readers.book_text import fit_beginning
from gistread.readers.events import Answered, Expanded, OpenedBy, ReaderEvent, Started, Stopped, StopReason, Unfit
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from tests.fake_embedder import FakeEmbedder
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "Ferrand stole the key to find the ledger that would hang him."
OVER_TEXT = ("dos", "full", "closed-book")


def engine(**changes: int) -> FakeEngine:
    return FakeEngine(says=lambda _: ANSWER, **changes)


async def ask(
    name: str,
    fake: FakeEngine,
    memory: GistMemory | None = None,
    *,
    steering: Steering | None = None,
    options: ReaderOptions | None = None,
    question: str = QUESTION,
) -> list[ReaderEvent]:
    reader = METHODS[name].reader()
    options = options or ReaderOptions(embedder=FakeEmbedder())
    events = reader(question, memory or make_memory(), fake, steering or Steering(), options)
    return [event async for event in events]


def answered(events: Sequence[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


@pytest.mark.parametrize("name", METHODS)
async def test_every_reader_begins_with_started_and_ends_with_answered(name: str) -> None:
    events = await ask(name, engine())
    assert isinstance(events[0], Started)
    assert events[0].reader == ("readagent-s" if name == "auto" else name)
    assert sum(isinstance(event, Stopped) for event in events) == 1
    assert (answered(events).answer == ANSWER) is answered(events).found
    assert answered(events).usage.prefilled > 0


@pytest.mark.parametrize("name", METHODS)
async def test_a_question_longer_than_the_window_fails_before_any_request(name: str) -> None:
    fake = engine(context_tokens=600)
    with pytest.raises(PromptTooLongError):
        await ask(name, fake, question="Who? " * 700)
    assert fake.calls == []


@pytest.mark.parametrize("name", METHODS)
async def test_with_an_empty_memory_only_readers_of_the_text_answer(name: str) -> None:
    fake = engine()
    events = await ask(name, fake, make_memory(0, 8))
    assert (answered(events).answer == ANSWER) is not METHODS[name].needs_memory
    assert bool(fake.calls) is not METHODS[name].needs_memory


@pytest.mark.parametrize("name", [*OVER_TEXT, "bm25"])
async def test_no_prompt_is_longer_than_the_window(name: str) -> None:
    for context_tokens in (400, 500, 900):
        fake = engine(context_tokens=context_tokens)
        options = ReaderOptions(answer_tokens=64)
        await ask(name, fake, make_memory(40, 40), options=options)
        assert await fake.measure(fake.calls[-1].prompt) + 64 <= context_tokens


async def test_bm25_shows_whole_pages_and_no_gist() -> None:
    fake = engine()
    events = await ask("bm25", fake, options=ReaderOptions(max_pages=3))
    assert len(answered(events).lookups) == 3
    text = fake.calls[-1].text
    assert all((FACTS[number - 1] in text) is (number in answered(events).lookups) for number in range(1, 9))
    assert "(gist" not in text
    assert [event.page for event in events if isinstance(event, Expanded)] == list(answered(events).lookups)


async def test_bm25_opens_pinned_pages_and_skips_refused_ones() -> None:
    nearest = answered(await ask("bm25", engine(), options=ReaderOptions(max_pages=1))).lookups[0]
    fake = engine()
    steering = Steering(pinned={1}, refused={nearest})
    events = await ask("bm25", fake, steering=steering, options=ReaderOptions(max_pages=1))
    assert Expanded(1, OpenedBy.PERSON) in events
    assert FACTS[0] in fake.calls[-1].text
    assert FACTS[nearest - 1] not in fake.calls[-1].text


async def test_dos_shows_passages_in_the_order_of_the_book_within_the_budget() -> None:
    fake = engine()
    await ask("dos", fake, options=ReaderOptions(budget_tokens=450))
    text = fake.calls[-1].text
    places = [text.index(fact) for fact in FACTS if fact in text]
    assert FACTS[7] in text
    assert places == sorted(places)
    assert GAP in text
    assert 300 < await fake.count(text.partition("\n---")[0]) <= 450


async def test_dos_fills_its_budget_when_nothing_shares_a_word_with_the_question() -> None:
    fake = engine()
    await ask("dos", fake, make_memory(40, 40), question="Xyzzy?", options=ReaderOptions(budget_tokens=200))
    assert FACTS[0] in fake.calls[-1].text


async def test_full_shows_a_short_book_whole_and_reports_the_share_of_a_long_one() -> None:
    memory = make_memory()
    fake = engine()
    events = await ask("full", fake, memory)
    assert isinstance(events[0], Started)
    assert events[0].share_shown == 1.0
    assert Stopped(StopReason.NOTHING_LEFT) in events
    assert all(fact in fake.calls[-1].text for fact in FACTS)
    fake = engine(context_tokens=700)
    events = await ask("full", fake, memory)
    assert isinstance(events[0], Started)
    assert events[0].share_shown is not None
    assert 0 < events[0].share_shown < 1
    assert Stopped(StopReason.WINDOW) in events
    assert FACTS[0] in fake.calls[-1].text
    assert FACTS[7] not in fake.calls[-1].text


async def test_closed_book_shows_no_word_of_the_book() -> None:
    fake = engine()
    memory = make_memory()
    await ask("closed-book", fake, memory)
    text = fake.calls[-1].text
    assert QUESTION in text
    assert not any(fact in text for fact in FACTS)
    assert memory.book.title not in text
    fake = FakeEngine(says=lambda _: "I do not know.")
    assert not answered(await ask("closed-book", fake)).found


async def test_gists_open_only_pinned_pages() -> None:
    fake = engine()
    events = await ask("gists", fake)
    assert answered(events).expanded == ()
    assert [call.kind for call in fake.calls] == ["complete"]
    fake = engine()
    events = await ask("gists", fake, steering=Steering(pinned={8}))
    assert FACTS[7] in fake.calls[-1].text
    assert answered(events).expanded == (8,)


@pytest.mark.parametrize("name", ["bm25", "dos", "full"])
async def test_citations_are_verbatim_and_on_their_page(name: str) -> None:
    memory = make_memory()
    citations = answered(await ask(name, engine(), memory)).citations
    assert FACTS[7] in [citation.quote for citation in citations]
    assert all(memory.book.text[c.start : c.end] == c.quote for c in citations)
    assert all(memory.entry(c.page).page.start <= c.start < memory.entry(c.page).page.end for c in citations)


async def test_a_place_outside_all_pages_is_on_page_0() -> None:
    citations = answered(await ask("full", engine(), make_memory(2, 8))).citations
    assert {citation.page for citation in citations} == {0}


async def test_nothing_past_the_spoiler_bound_reaches_the_model() -> None:
    memory = make_memory()
    bound = memory.entry(5).page.start
    for name in METHODS:
        fake = engine()
        await ask(name, fake, memory.upto(bound))
        assert not any(fact in call.text for fact in FACTS[4:] for call in fake.calls), name


async def test_the_compression_rate_counts_the_text_shown() -> None:
    assert answered(await ask("full", engine())).compression_rate == pytest.approx(0.0, abs=3.0)
    assert answered(await ask("closed-book", engine())).compression_rate == 100.0


def test_passages_leave_nothing_out_and_do_not_overlap() -> None:
    long = " ".join(f"Sentence {n} is about the ferry and the river and the oars." for n in range(60))
    book = make_book(["Short one.", long, "Short two.", "Short three."], ["Another chapter begins here.", long])
    cut = cut_book(book)
    assert "".join("".join(book.text[start:end].split()) for start, end in cut) == "".join(book.text.split())
    assert all(before[1] <= after[0] for before, after in pairwise(cut))
    assert all(len(book.text[start:end].split()) <= PASSAGE_WORDS for start, end in cut)
    assert join(cut, book) == [(cut[0][0], cut[-1][1])]
    assert render([cut[1], cut[3]], book).count(GAP) == 3


async def test_chunks_of_a_text_without_spaces_keep_the_limit() -> None:
    fake = FakeEngine(count=len)
    book = make_book(["Short one.", "x" * 5000, "Short two."])
    parts = await split_into_chunks(book, 700, fake.count)
    assert "".join("".join(book.text[start:end].split()) for start, end in parts) == "".join(book.text.split())
    assert all(before[1] <= after[0] for before, after in pairwise(parts))
    assert max(end - start for start, end in parts) <= 700
    assert await split_into_chunks(book, 700, fake.count, first=3) == parts[:3]
    assert await split_into_chunks(book, 700, fake.count, first=99) == parts


async def test_the_beginning_of_a_place_ends_with_a_sentence_or_a_word() -> None:
    book = make_book(["The sea was calm. The lamp burned on. " + "Then " * 40, "x" * 900])
    text = book.text

    def within(characters: int) -> Callable[[str], Awaitable[bool]]:
        async def fits(shown: str) -> bool:
            return len(shown) <= characters

        return fits

    async def begins(start: int, characters: int) -> str | None:
        found = await fit_beginning((start, len(text)), book, within(characters))
        return text[found[0] : found[1]] if found else None

    assert await begins(0, 60) == "The sea was calm. The lamp burned on."
    assert await begins(0, 22) == "The sea was calm."
    assert await begins(0, 20) == "The sea was"
    assert await begins(text.index("xxx"), 100) == "x" * (100 - 2 * len("\n\n" + GAP))
    assert await begins(0, 3) is None


@pytest.mark.parametrize("name", ["bm25", "dense"])
async def test_the_beginning_of_a_page_beyond_the_budget_is_shown_and_reported(name: str) -> None:
    memory = make_memory()
    fake = engine()
    options = ReaderOptions(max_pages=3, budget_tokens=60, embedder=FakeEmbedder())
    events = await ask(name, fake, memory, options=options)
    (cut,) = [event for event in events if isinstance(event, Unfit)]
    page = memory.entry(cut.page).page
    assert 0.0 < cut.shown < 1.0
    assert not [event for event in events if isinstance(event, Expanded)]
    end = answered(events)
    assert (end.lookups, end.expanded) == ((cut.page,), ())
    ((start, until),) = end.seen
    assert (start, until < page.end) == (page.start, True)
    assert memory.book.text[start:until].strip() in fake.calls[-1].text
    assert 0 < end.context_tokens <= 60
    assert Stopped(StopReason.WINDOW) in events


async def test_a_pinned_page_beyond_the_budget_is_not_reported_as_open() -> None:
    for name in ("bm25", "gistread"):
        options = ReaderOptions(budget_tokens=60)
        events = await ask(name, engine(), steering=Steering(pinned={2}), options=options)
        assert [event.page for event in events if isinstance(event, Unfit)] == [2]
        assert Expanded(2, OpenedBy.PERSON) not in events


@pytest.mark.parametrize("name", METHODS)
async def test_a_book_of_one_endless_sentence_is_answered(name: str) -> None:
    book = make_book(["and on " * 12_000])
    memory = GistMemory(book, PageSize(100, 500), "fake")
    for start in range(0, len(book.text), 3500):
        end = min(start + 3500, len(book.text))
        page = Page(len(memory.entries) + 1, start, end, 500)
        memory.entries.append(MemoryEntry(page, Gist("On and on and on.", 5, GistSource.MODEL)))
    options = ReaderOptions(max_pages=2, budget_tokens=400, embedder=FakeEmbedder())
    end = answered(await ask(name, engine(context_tokens=1800), memory, options=options))
    assert end.answer
    assert end.context_tokens <= 400
