"""No reader gets past the spoiler bound: a word that stands only behind it reaches no prompt.

The word stands everywhere it can: in the text, in the titles, and in every gist, summary and fact
that was made from text with it in.
"""

import random
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.book.series import join_books
from gistread.errors import PromptTooLongError
from gistread.memory.artifacts import ARTIFACTS
from gistread.memory.model import GistFocus, GistMemory, PageSize, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.spoilers import has_plot
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.presets import built_in_presets
from gistread.readers import graphreader
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, Proposed, ReaderEvent, Started
from gistread.readers.model_class import BASIC, LARGE
from gistread.readers.steering import Decision, Steering, Steps
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose
from tests.readers.all_readers import METHODS

SECRET = "Rosebud"
QUESTION = f"Who is {prose(1)} and what about the w1x3?"
PLACES = 50
USUAL = (0, 17, 34)


def test_an_english_text_that_speaks_of_nobody_has_no_plot() -> None:
    trees = (
        "The tree has evolved in the unrelated classes of plants, and most of the species grow "
        "in the tropics. "
    ) * 40
    people = trees.replace(
        "most of the species grow", "the trees he planted for her grew"
    )
    german = (
        "Der Baum ist in den Klassen der Pflanzen entstanden, und die Arten wachsen in den Tropen. "
        * 40
    )
    assert [
        has_plot(make_book([text] * 4)) for text in (trees, people, german, trees[:800])
    ] == [
        False,
        True,
        True,
        True,
    ]


def telling(prompt: str) -> str:
    """A gist, summary or fact that names the secret if the text in the prompt does."""
    # Behind notes, if it has any
    shown = prompt.removesuffix(prompt.rpartition("\n---\n")[2])
    text = shown.removesuffix("\n---\n").rpartition("\n---\n")[2] or prompt
    words = " ".join(text.split()[-30:-10])
    if SECRET in text:
        return f"- {words} {SECRET} | {SECRET}\n"
    return f"- {words} | {text.split()[-1]}\n"


def book_with_a_secret(chance: random.Random, *, volumes: int) -> tuple[Book, int]:
    """A book or series, and the offset where the secret first stands.

    Anywhere in the book but not in a heading.
    """
    made = []
    paragraphs = chance.randint(3, 5)
    told_in = (
        chance.randrange(volumes),
        chance.randrange(3),
        chance.randrange(1, paragraphs),
    )
    for volume in range(volumes):
        chapters = []
        for chapter in range(3):
            texts = [
                prose(chance.randint(30, 90), seed=100 * volume + 10 * chapter + n)
                for n in range(paragraphs)
            ]
            if (volume, chapter) >= told_in[:2]:
                first = told_in[2] if (volume, chapter) == told_in[:2] else 0
                for n in range(first, paragraphs):
                    words = texts[n].split()
                    words.insert(chance.randrange(len(words)), SECRET)
                    texts[n] = " ".join(words)
            chapters.append([f"# Chapter {chapter}", *texts])
        made.append(make_book(*chapters, title=f"{SECRET} {volume}"))
    book = (
        join_books(f"The Saga of {SECRET}", (SECRET,), made) if volumes > 1 else made[0]
    )
    body = min((volume.start for volume in book.volumes), default=0)
    return book, book.text.index(SECRET, body)


async def memory_of(
    book: Book, store: MemoryStore, focus: GistFocus, mode: ReadingMode
) -> GistMemory:
    engine = FakeEngine(says=telling)
    request = MemoryRequest("fake", "f", PageSize(60, 180), mode, focus)
    with store.open(book, request) as writer:
        async for _ in read_book(writer, engine):
            pass
        for artifact in ("summaries", "facts"):
            async for _ in ARTIFACTS[artifact].build(writer.memory, engine):
                pass
        return writer.memory


async def run_reader(
    name: str,
    memory: GistMemory,
    *,
    context_tokens: int,
    options: ReaderOptions,
    steps: Steps = Steps.ALONE,
) -> tuple[list[ReaderEvent], FakeEngine]:
    """The events, with a decision for each of the first look-ups that is proposed.

    The others are accepted.
    """
    engine = FakeEngine(
        says=telling, chooses=lambda _, offered: 0, context_tokens=context_tokens
    )
    end, after = len(memory.book.text), len(memory.entries) + 1
    steering = Steering(pinned=set(range(1, 40, 3)), here=end - 1, steps=steps)
    decisions = [Decision(refuses=True), Decision(pages=(after,))]
    events: list[ReaderEvent] = []
    try:
        async for event in METHODS[name].reader()(
            Asking(QUESTION, memory, engine, steering, options)
        ):
            events.append(event)
            if isinstance(event, Proposed):
                steering.decide(decisions.pop(0) if decisions else Decision())
    except PromptTooLongError:
        events = []
    return events, engine


@pytest.mark.parametrize(
    "place",
    [
        place if place in USUAL else pytest.param(place, marks=pytest.mark.slow)
        for place in range(PLACES)
    ],
)
async def test_no_reader_shows_what_stands_behind_the_bound(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphreader, "STEPS", 2)
    chance = random.Random(place)
    presets = list(built_in_presets().values())
    book, secret = book_with_a_secret(chance, volumes=1 + 2 * (place % 2))
    focus = GistFocus(
        presets[place % len(presets)], "what w1x3 does" if place % 3 else ""
    )
    mode = list(ReadingMode)[place // 2 % 2]
    memory = await memory_of(book, MemoryStore(tmp_path), focus, mode)
    _, engine = await run_reader(
        "gists", memory, context_tokens=8192, options=ReaderOptions()
    )
    assert SECRET in engine.calls[-1].text
    # First at the word itself, then back from it: nothing of a later bound may be left.
    for bound in (secret, chance.randrange(secret // 2, secret)):
        known = memory.upto(bound)
        for name in METHODS:
            options = ReaderOptions(
                max_pages=2, answer_tokens=24, model=LARGE if place % 4 else BASIC
            )
            window = chance.choice((400, 700, 8192))
            steps = Steps.ASK if place % 2 else Steps.ALONE
            events, engine = await run_reader(
                name, known, context_tokens=window, options=options, steps=steps
            )
            assert SECRET not in repr([events, engine.calls]), name
            check_what_is_said(events, known, bound, len(book.text))
        about = ReaderOptions(
            selection=(max(0, len(known.book.text) - 60), len(known.book.text))
        )
        events, engine = await run_reader(
            "auto", known, context_tokens=8192, options=about
        )
        assert SECRET not in repr([events, engine.calls])
        check_what_is_said(events, known, bound, len(book.text))


def check_what_is_said(
    events: list[ReaderEvent], known: GistMemory, bound: int, length: int
) -> None:
    """How much was looked at, as the events tell it, is so."""
    starts = [event for event in events if isinstance(event, Started)]
    answers = [event for event in events if isinstance(event, Answered)]
    for started in starts:
        assert started.bound_share == pytest.approx(bound / length)
        assert started.pages_read == len(known.entries)
    for answered in answers:
        assert max((end for _, end in answered.seen), default=0) <= bound
        assert (
            max((citation.end for citation in answered.citations), default=0) <= bound
        )
    check_share_shown(starts, answers, bound)


def check_share_shown(
    starts: list[Started], answers: list[Answered], bound: int
) -> None:
    """Only `dos` and `full` know it beforehand.

    No answer follows where the window is too small.
    """
    of_shares = [start for start in starts if start.share_shown is not None]
    for started, answered in zip(of_shares[-1:], answers[-1:], strict=False):
        seen = sum(end - start for start, end in answered.seen)
        assert started.share_shown == pytest.approx(min(1.0, seen / bound), abs=0.02)
