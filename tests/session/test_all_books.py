"""A question about the whole library.

The books named, the answer from their passages, and no text behind a bound.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.config import Config
from gistread.engine.llama.library import installed_version
from gistread.errors import GistreadError, UsageError
from gistread.library.indexing import update_index
from gistread.library.shelf import open_shelf
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.memory.model import Gist, GistSource, MemoryEntry, Page, PageSize
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.paths import Paths
from gistread.readers.events import Answered
from gistread.readers.model_class import SMALL
from gistread.session.library import BooksNamed, LibraryQuestion, NamedBook
from gistread.session.models import ModelChecks
from tests.fake_engine import FakeEngine
from tests.folders import paths_in
from tests.library.conftest import Books

INN = "The stranger had bandages round his head. He took a room. "
FARM = "The farmer had a bandage in a drawer. She went to the sea with him. "


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return paths_in(tmp_path / "home")


@pytest.fixture
def books(tmp_path: Path) -> Books:
    return Books(tmp_path / "home")


Add = Callable[..., Path]


@pytest.fixture
def add(books: Books, tmp_path: Path) -> Add:
    """Add a book that was read to its end, or up to a share."""

    def write(title: str, text: str, share: float = 1.0) -> Path:
        path = tmp_path / f"{title}.txt"
        path.write_text(f"{title}\n\n\n{text}\n")
        books.open(path, round(share * len(open_book(path).text)))
        return path

    return write


@dataclass(frozen=True, slots=True)
class Outcome:
    question: LibraryQuestion
    named: list[tuple[NamedBook, ...]]
    answered: Answered


async def ask(
    paths: Paths, question: str, engine: FakeEngine, *, unread: bool = False
) -> Outcome:
    library_question = LibraryQuestion(
        question, open_shelf(paths), Config(), unread=unread
    )

    async def load() -> FakeEngine:
        return engine

    all_events = [
        event async for event in library_question.stream(load, ModelChecks(paths))
    ]
    assert isinstance(all_events[-1], Answered)
    named = [event.books for event in all_events if isinstance(event, BooksNamed)]
    return Outcome(library_question, named, all_events[-1])


def titles(named: tuple[NamedBook, ...]) -> list[str]:
    return [book.book.entry.title for book in named]


async def test_the_answer_is_from_the_likeliest_books_and_its_sources_name_them(
    paths: Paths, add: Add
) -> None:
    add("The Inn", f"It was cold. {INN}\n\nNobody came. " * 3)
    add("The Farm", FARM * 3)
    add("The Sea", "They sailed on. " * 9)
    update_index(paths)
    engine = FakeEngine(says=lambda prompt: "It is The Inn.")
    outcome = await ask(
        paths, "Which book has a man with bandages round his head?", engine
    )
    assert titles(outcome.named[0])[0] == "The Inn"
    assert "The Sea" not in titles(outcome.named[0])
    assert outcome.named[0][0].reason == "1 passage, “head”, “round”"
    prompt = engine.calls[-1].text
    assert "The Inn\n\n" in prompt
    assert INN.strip() in prompt
    assert outcome.answered.citations
    for citation in outcome.answered.citations:
        book, (start, end) = outcome.question.source(citation)
        assert (outcome.question._shelf.text_of(book) or "")[
            start:end
        ] == citation.quote
    assert "bandages round his head" in outcome.answered.citations[0].quote, (
        "not the title that the answer names"
    )


async def test_that_no_book_is_meant_stands_if_a_capable_model_says_so(
    paths: Paths, add: Add
) -> None:
    add("The Inn", f"It was cold. {INN}\n\nNobody came. " * 3)
    add("The Farm", FARM * 3)
    update_index(paths)
    reply = "None of these books mentions a submarine."
    engine = FakeEngine(says=lambda prompt: reply, chooses=lambda prompt, options: "0")
    question = "Which book has a man with bandages in a submarine?"
    outcome = await ask(paths, question, engine)
    assert len(outcome.named) == 1
    assert engine.calls[0].options[-1] == "0"
    assert outcome.answered.answer == reply
    assert not outcome.answered.found
    assert not outcome.answered.citations


async def test_which_book_it_is_is_answered_by_the_words_if_a_small_model_finds_nothing(
    paths: Paths, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.session.library.class_of", lambda *_: SMALL)
    add("The Inn", f"It was cold. {INN}\n\nNobody came. " * 3)
    add("The Farm", FARM * 3)
    update_index(paths)
    engine = FakeEngine(says=lambda prompt: "The book does not say.")
    question = "Which book has a man with bandages round his head?"
    outcome = await ask(paths, question, engine)
    assert outcome.answered.found
    assert outcome.answered.answer == "By its words, the question is about The Inn:"
    assert (
        outcome.question.source(outcome.answered.citations[0])[0].entry.title
        == "The Inn"
    )
    assert "bandages round his head" in outcome.answered.citations[0].quote

    outcome = await ask(paths, "Who is bandaged?", engine)
    assert not outcome.answered.found, "it does not ask for a book"


async def test_which_book_it_is_is_not_guessed_by_a_model_that_failed_its_check(
    paths: Paths, add: Add
) -> None:
    """Asked which book has a man with bandages round his head, the starter said "Tomorrow." """
    add("The Inn", f"It was cold. {INN}\n\nNobody came. " * 3)
    update_index(paths)
    CheckResults(paths, installed_version()).save(
        "fake-1", None, CheckResult(answers=False, abstains=True, line="guesses")
    )
    engine = FakeEngine(says=lambda prompt: "It was cold.")
    for question in (
        "Which of my books has a man with bandages?",
        "Which one has a man with bandages?",
    ):
        outcome = await ask(paths, question, engine)
        assert outcome.answered.answer == "By its words, the question is about The Inn:"
        assert "bandages round his head" in outcome.answered.citations[0].quote
        assert (
            outcome.question.source(outcome.answered.citations[0])[0].entry.title
            == "The Inn"
        )
    outcome = await ask(paths, "Who has bandages?", engine)
    assert outcome.answered.answer.startswith("It was cold.")


def test_no_heading_is_quoted_where_a_sentence_has_a_word_of_the_question(
    paths: Paths, add: Add
) -> None:
    chapter = (
        "CHAPTER {}. The Man With Bandages Round His Head\n\nIt was cold. He had bandages. "
        "Nobody came.\n\n"
    )
    add(
        "The Inn",
        "\n" + "".join(chapter.format(number) for number in ("I", "II", "III")),
    )
    update_index(paths)
    # The first chapter begins above its heading
    _, *others = open_shelf(paths).search("bandages round head").hits
    assert [hit.text for hit in others] == ["He had bandages."] * 2


async def test_the_model_chooses_among_the_likeliest_unless_it_failed_its_check(
    paths: Paths, add: Add
) -> None:
    add("The Inn", INN * 9)
    add("The Yard", "The dog had bandages round its head. " * 4)
    update_index(paths)
    engine = FakeEngine(chooses=lambda prompt, options: 1)
    named = (await ask(paths, "bandages round a head", engine)).named
    assert titles(named[1]) == titles(named[0])[::-1]
    assert [call.options for call in engine.calls if call.options] == [("1", "2", "0")]
    unreliable = CheckResult(answers=False, abstains=True, line="guesses")
    CheckResults(paths, installed_version()).save("fake-1", None, unreliable)
    engine = FakeEngine(chooses=lambda prompt, options: 1)
    named = (await ask(paths, "bandages round a head", engine)).named
    assert len(named) == 1
    assert not [call for call in engine.calls if call.options]


async def test_gists_before_the_bound_speak_for_their_book(
    paths: Paths, books: Books, add: Add
) -> None:
    add("The Inn", "A masked man came in. " * 9)
    path = add("The Yard", "A man hid his face in white cloth. " * 60)
    book, page = open_book(path), Page(1, 0, 1000, 200)
    request = MemoryRequest("fake", "fake-1", PageSize(100, 200))
    with MemoryStore(paths.memories).open(book, request) as memory:
        memory.add(
            MemoryEntry(
                page, Gist("A masked stranger wears bandages.", 5, GistSource.MODEL)
            )
        )
    update_index(paths)

    def first() -> str:
        text = "A masked stranger man with bandages"
        library_question = LibraryQuestion(text, open_shelf(paths), Config())
        return titles(tuple(library_question.candidates()[0]))[0]

    assert first() == "The Yard"
    books.user_data.set_position(book.sha256, 900)
    assert first() == "The Inn", "the gist tells what is behind the bound"


async def test_books_not_begun_are_asked_only_if_wanted(paths: Paths, add: Add) -> None:
    add("The Inn", INN * 5, 0)
    update_index(paths)
    library_question = LibraryQuestion("bandages?", open_shelf(paths), Config())
    assert (library_question.books, library_question.left_out) == ([], 1)
    outcome = await ask(paths, "bandages?", FakeEngine(), unread=True)
    assert titles(outcome.named[0]) == ["The Inn"]
    with pytest.raises(GistreadError, match="None of 1 book has words"):
        await ask(paths, "zebras?", FakeEngine(), unread=True)
    with pytest.raises(UsageError, match="empty"):
        LibraryQuestion(" ", open_shelf(paths), Config())


@pytest.mark.parametrize(
    ("count", "places"),
    [
        pytest.param(3, 4, id="some"),
        pytest.param(20, 50, id="all", marks=pytest.mark.slow),
    ],
)
async def test_no_sentence_behind_a_bound_reaches_a_hit_a_prompt_or_an_answer(
    paths: Paths, books: Books, add: Add, count: int, places: int
) -> None:
    """Each sentence names its book and number; the words of the question stand in all of them."""
    dice = random.Random(5)
    for number in range(count):
        add(f"Book {number}", numbered_sentences(number, dice))
    update_index(paths)
    texts = {
        book.indexed.sha256: open_shelf(paths).text_of(book) or ""
        for book in open_shelf(paths).books
    }
    assert len(texts) == count
    for _ in range(places):
        known = set()
        for sha256, text in texts.items():
            bound = dice.randrange(2000, len(text) - 2000)
            books.user_data.set_position(sha256, bound)
            known.update(names_of_sentences(text[:bound]))
        hits = open_shelf(paths).search("lantern by the sea", 10_000)
        engine = FakeEngine(
            says=lambda prompt: " ".join(prompt.split()[-90:-30]),
            chooses=lambda _, options: len(options) - 1,
        )
        outcome = await ask(paths, "Who saw the lantern by the sea?", engine)
        shown = repr([(hit.before, hit.text, hit.after) for hit in hits.hits])
        shown += repr(
            [outcome.named, outcome.answered, [call.text for call in engine.calls]]
        )
        assert len(names_of_sentences(shown)) > count
        assert names_of_sentences(shown) <= known
        assert len(hits.beyond) == count


def numbered_sentences(book: int, dice: random.Random) -> str:
    """Chapters of some hundred sentences; each is named by its book and number."""
    sentences = [
        f"He saw lantern b{book}s{number}e when she was by the sea."
        for number in range(dice.randrange(200, 400))
    ]
    paragraphs = [
        " ".join(sentences[at : at + 7]) for at in range(0, len(sentences), 7)
    ]
    chapters = [
        "\n\n".join(paragraphs[at : at + 9]) for at in range(0, len(paragraphs), 9)
    ]
    return "\n\n\n".join(f"Chapter {n}\n\n{text}" for n, text in enumerate(chapters, 1))


def names_of_sentences(text: str) -> set[str]:
    return set(re.findall(r"b\d+s\d+e", text))
