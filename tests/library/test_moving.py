"""User data moves to another version of the text once; what cannot be placed is kept."""

import random
import re
from pathlib import Path

import pytest

from gistread.book.model import Book, Chapter, Paragraph
from gistread.book.open import open_book
from gistread.book.series import join_books
from gistread.library.moving import migrate_user_data
from gistread.marking import Color, MarkKind, new_mark, quote_at, with_changes
from gistread.sample import story_path
from gistread.store.model import AskingChoice, Citation, NameCorrection, SavedQuestion
from gistread.store.user_data import MarkStore, UserData
from tests.folders import paths_in

FILE = "f" * 64
PATH = Path("/books/story.epub")


def as_book(
    text: str, title: str = "Fourteen Inches", authors: tuple[str, ...] = ("A. Writer",)
) -> Book:
    return Book(
        text,
        title,
        (Paragraph(0, len(text)),),
        (Chapter(title, 0, len(text)),),
        authors,
    )


OLD = as_book(open_book(story_path()).text)
NEW = as_book(
    "A note of the editor.\n\n"
    + OLD.text.replace("—", " – ").replace("“", '"').replace("”", '"')
)


@pytest.fixture
def user_data(tmp_path: Path) -> UserData:
    return UserData(paths_in(tmp_path))


@pytest.fixture
def marks(tmp_path: Path) -> MarkStore:
    return MarkStore(paths_in(tmp_path))


@pytest.fixture
def kept(user_data: UserData, marks: MarkStore) -> list[str]:
    """Store marks, a position and a question of the old text; returns the words of the marks."""
    text = OLD.text
    user_data.record_opening(
        OLD.sha256,
        title=OLD.title,
        authors=OLD.authors,
        length=len(text),
        path=PATH,
        file=FILE,
    )
    user_data.set_position(OLD.sha256, 7000, quote_at(text, 7000))
    quote = text[3000:3050]
    user_data.correct_names(OLD.sha256, NameCorrection("merge", ("He",), "Him"))
    user_data.add_question(
        OLD.sha256,
        SavedQuestion("Who?", "He.", True, (Citation(2, 3000, 3050, quote),)),
    )
    spans = [
        match.span()
        for match in re.finditer(r"\b[A-Z][a-z]+ [a-z]+ [a-z]+ [\S\s]{40}\w+", text)
    ][::17]
    for start, end in spans:
        marks.put(
            OLD.sha256,
            new_mark(MarkKind.HIGHLIGHT, quote_at(text, start, end), color=Color.BLUE),
        )
    marks.put(OLD.sha256, new_mark(MarkKind.LETTER, quote_at(text, 5000), letter="q"))
    return [text[start:end] for start, end in spans]


def letters(text: str) -> str:
    return "".join(re.findall(r"\w+", text.casefold()))


def test_position_marks_and_citations_come_over_by_their_words(
    user_data: UserData, marks: MarkStore, kept: list[str]
) -> None:
    carried = migrate_user_data(
        NEW, user_data, marks, file=FILE, path=Path("/elsewhere/renamed.epub")
    )
    assert carried is not None
    assert (carried.marks, carried.lost, carried.questions) == (len(kept) + 1, 0, 1)
    came = [mark for mark in marks.marks(NEW.sha256) if mark.kind is MarkKind.HIGHLIGHT]
    assert [letters(NEW.text[mark.start : mark.end]) for mark in came] == [
        letters(words) for words in kept
    ]
    assert all(mark.place == quote_at(NEW.text, mark.start, mark.end) for mark in came)
    here = user_data.position(NEW.sha256)
    assert (
        letters(NEW.text[here : here + 200])[:80] == letters(OLD.text[7000:7200])[:80]
    )
    (question,) = user_data.questions(NEW.sha256)
    (citation,) = question.citations
    assert letters(NEW.text[citation.start : citation.end]) == letters(citation.quote)


@pytest.mark.parametrize(
    ("file", "path"),
    [(FILE, None), ("", PATH), ("e" * 64, PATH), ("", None), ("e" * 64, Path("/else"))],
)
def test_the_earlier_text_is_found_by_file_by_path_and_by_title_and_authors(
    user_data: UserData, marks: MarkStore, kept: list[str], file: str, path: Path | None
) -> None:
    carried = migrate_user_data(NEW, user_data, marks, file=file, path=path)
    assert carried is not None
    assert carried.marks == len(kept) + 1


def test_how_the_book_is_asked_comes_over_unless_the_new_text_has_a_choice(
    user_data: UserData, marks: MarkStore, kept: list[str]
) -> None:
    user_data.choose_asking(OLD.sha256, AskingChoice("notes", "ask"))
    migrate_user_data(NEW, user_data, marks, file=FILE, path=PATH)
    assert user_data.asking_choice(NEW.sha256) == AskingChoice("notes", "ask")
    user_data.choose_asking(NEW.sha256, AskingChoice("gistread"))
    migrate_user_data(NEW, user_data, marks, file=FILE, path=PATH)
    assert user_data.asking_choice(NEW.sha256) == AskingChoice("gistread")


def test_doing_it_again_adds_nothing_and_brings_nothing_back(
    user_data: UserData, marks: MarkStore, kept: list[str]
) -> None:
    migrate_user_data(NEW, user_data, marks, file=FILE, path=PATH)
    first, second, *_ = marks.marks(NEW.sha256)
    undone = user_data.undo_name_correction(NEW.sha256)
    assert undone is not None
    assert undone.other == "Him"
    marks.remove(NEW.sha256, first)
    marks.put(NEW.sha256, with_changes(second, note="mine"), second)
    user_data.set_position(NEW.sha256, 11)
    migrate_user_data(NEW, user_data, marks, file=FILE, path=PATH)
    after = marks.marks(NEW.sha256)
    assert len(after) == len(kept)
    assert first.id not in {mark.id for mark in after}
    assert "mine" in {mark.note for mark in after}
    assert len(user_data.questions(NEW.sha256)) == 1
    assert user_data.position(NEW.sha256) == 11
    assert not user_data.name_corrections(NEW.sha256)


def test_what_cannot_be_placed_is_kept_and_called_lost(
    user_data: UserData, marks: MarkStore, kept: list[str]
) -> None:
    half = as_book(OLD.text[: len(OLD.text) // 2])
    carried = migrate_user_data(half, user_data, marks, file=FILE, path=PATH)
    assert carried is not None
    assert carried.marks == len(kept) + 1
    assert 0.3 * len(kept) < carried.lost < 0.7 * len(kept)
    lost = [mark for mark in marks.marks(half.sha256) if mark.lost]
    assert [mark.place.exact for mark in lost] == [
        words for words in kept if words not in half.text
    ]
    # A later text with the words again places the marks again.
    user_data.record_opening(
        half.sha256, title="", authors=(), length=len(half.text), path=PATH, file=FILE
    )
    migrate_user_data(NEW, user_data, marks, file=FILE, path=PATH)
    assert not [mark for mark in marks.marks(NEW.sha256) if mark.lost]


def test_another_book_with_the_same_title_gets_nothing(
    user_data: UserData, marks: MarkStore, kept: list[str]
) -> None:
    words = OLD.text.split()
    random.Random(3).shuffle(words)
    other = as_book(" ".join(words))
    assert migrate_user_data(other, user_data, marks, file="e" * 64, path=PATH) is None
    assert marks.marks(other.sha256) == []
    assert user_data.position(other.sha256) == 0


def test_a_series_that_is_made_longer_keeps_place_marks_and_questions(
    user_data: UserData, marks: MarkStore
) -> None:
    second, third = (
        as_book(f"{title} begins here. " * 40, title)
        for title in ("Volume Two", "Volume Three")
    )
    before, after = (
        join_books("Saga", (), [OLD, second]),
        join_books("Saga", (), [OLD, third, second]),
    )
    path = Path("/books/saga.series")
    user_data.record_opening(
        before.sha256,
        title="Saga",
        authors=(),
        length=len(before.text),
        path=path,
        file="a" * 64,
    )
    here = before.volumes[1].start + 200
    user_data.set_position(before.sha256, 7000, quote_at(before.text, 7000))
    user_data.add_question(before.sha256, SavedQuestion("Who?", "He.", True))
    marks.put(
        before.sha256,
        new_mark(
            MarkKind.HIGHLIGHT, quote_at(before.text, here, here + 21), color=Color.BLUE
        ),
    )
    carried = migrate_user_data(after, user_data, marks, file="b" * 64, path=path)
    assert carried is not None
    assert (carried.marks, carried.lost, carried.questions) == (1, 0, 1)
    assert 7000 <= user_data.position(after.sha256) <= 7001
    (mark,) = marks.marks(after.sha256)
    assert after.volume_title(mark.place.start) == "Volume Two"
