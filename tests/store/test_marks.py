"""Stored marks survive concurrent writers, kills and failing disks."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.marking import Color, Mark, MarkKind, new_mark, quote_at, with_changes
from gistread.store.user_data import MarkStore
from tests.folders import paths_in

BOOK, OTHER = "a" * 64, "b" * 64
TEXT = (
    "In November Ada fell on the stair and broke her wrist, and that night the lamp went out. "
    * 40
)


def highlight(start: int = 12, note: str = "") -> Mark:
    return new_mark(
        MarkKind.HIGHLIGHT,
        quote_at(TEXT, start, start + 20),
        color=Color.GREEN,
        note=note,
    )


@pytest.fixture
def store(tmp_path: Path) -> MarkStore:
    return MarkStore(paths_in(tmp_path))


def test_every_kind_of_mark_is_stored_in_order_of_place(
    store: MarkStore, tmp_path: Path
) -> None:
    marks = [
        highlight(300, "雪 “quoted”\nin two lines"),
        new_mark(MarkKind.BOOKMARK, quote_at(TEXT, 200)),
        new_mark(MarkKind.LETTER, quote_at(TEXT, 100), letter="a"),
        new_mark(MarkKind.NOTE, quote_at(TEXT, 50, 60), note="Why?"),
    ]
    for mark in marks:
        assert store.put(BOOK, mark) == mark
    assert MarkStore(paths_in(tmp_path)).marks(BOOK) == marks[::-1]
    assert store.marks(OTHER) == []


def test_a_removed_mark_can_be_restored(store: MarkStore) -> None:
    mark = store.put(BOOK, highlight(note="keep me"))
    removed = store.remove(BOOK, mark)
    assert store.marks(BOOK) == []
    assert store.put_new(BOOK, [mark]) == []
    back = store.put(BOOK, removed)
    assert [replace(kept, changed_at=0) for kept in store.marks(BOOK)] == [
        replace(back, changed_at=0)
    ]
    assert back.note == "keep me"


def test_concurrent_notes_on_one_mark_are_both_kept(store: MarkStore) -> None:
    first = store.put(BOOK, highlight(note="base"))
    store.put(BOOK, with_changes(first, note="from the left"), first)
    store.put(BOOK, with_changes(first, note="from the right"), first)
    assert store.marks(BOOK)[0].note == "from the right\n\nfrom the left"
    seen = store.marks(BOOK)[0]
    store.put(BOOK, with_changes(seen, note="settled"), seen)
    assert store.marks(BOOK)[0].note == "settled"


def test_a_new_colour_keeps_a_note_written_meanwhile(store: MarkStore) -> None:
    first = store.put(BOOK, highlight())
    store.put(BOOK, with_changes(first, note="written elsewhere"), first)
    store.put(BOOK, with_changes(first, color=Color.RED), first)
    (mark,) = store.marks(BOOK)
    assert (mark.note, mark.color) == ("written elsewhere", Color.RED)


def test_restoring_a_mark_keeps_the_note_of_another_program(store: MarkStore) -> None:
    first = store.put(BOOK, highlight())
    store.put(BOOK, with_changes(first, note="written elsewhere"), first)
    store.put(BOOK, store.remove(BOOK, first))
    assert store.marks(BOOK)[0].note == "written elsewhere"


def test_marks_of_one_import_are_stored_together_or_not_at_all(
    store: MarkStore,
) -> None:
    def damaged() -> Iterator[Mark]:
        yield highlight(300)
        raise ValueError("the rest cannot be read")

    with pytest.raises(ValueError, match="cannot be read"):
        store.put_all(BOOK, damaged())
    assert store.marks(BOOK) == []
    marks = [highlight(12), highlight(300, note="Why?")]
    store.put_all(BOOK, marks)
    assert store.marks(BOOK) == marks
    store.put_all(BOOK, [replace(marks[0], note="Again.")])
    assert [mark.note for mark in store.marks(BOOK)] == ["Again.", "Why?"]
