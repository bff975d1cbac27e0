"""`gistread import`: highlights of other programs, found in the book by their words."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.marking import Color, Mark, MarkKind, TextQuote, new_mark, quote_at
from gistread.paths import default_paths
from gistread.store.user_data import MarkStore, UserData
from tests.book.make_epub import epub, page
from tests.cli.conftest import Run

WORDS = "The Storm stood before the door for the 3. time and counted the stairs"
KINDLE = f"""\ufeffThe Lamp: A Novel (Ada Ro)
- Your Highlight on page 5 | location 64-66 | Added on Monday, 4 March 2024 10:10:10

{WORDS}
==========
The Lamp: A Novel (Ada Ro)
- Your Note on page 5 | location 66 | Added on Monday, 4 March 2024 10:10:11

Why?
==========
The Lamp: A Novel (Ada Ro)
- Your Highlight on page 9 | location 90-91 | Added on Monday, 4 March 2024 10:10:12

These words are in no edition of this tale at all.
==========
Another Book (Somebody)
- Your Highlight on page 9 | location 64-66 | Added on Monday, 4 March 2024 10:10:12

Quite other words.
==========
"""
LUA = f"""-- we can read Lua syntax here!
return {{
    ["annotations"] = {{
        [1] = {{
            ["color"] = "red",
            ["datetime"] = "2024-03-04 10:10:10",
            ["drawer"] = "lighten",
            ["note"] = "Why?",
            ["text"] = "{WORDS}",
        }},
        [2] = {{ ["text"] = "in Chapter 1", ["page"] = "/body/p[1]" }},
    }},
    ["doc_props"] = {{ ["title"] = "The Lamp" }},
    ["percent_finished"] = 0.25,
}}
"""
MADE_AT = int(datetime(2024, 3, 4, 10, 10, 10).timestamp())
ENTRY = {"text": WORDS, "note": "Why?", "page": 3, "time": MADE_AT, "color": "olive"}
KOREADER = {"title": "The Lamp", "entries": [ENTRY]}
READWISE = f"""Highlight,Title,Author,Note,Color,Highlighted at
"{WORDS}",The Lamp,Ada Ro,Why?,blue,2024-03-04 10:10:10
"""
BOM = "\ufeff"


@pytest.mark.parametrize(
    ("name", "text", "lost"),
    [
        ("My Clippings.txt", KINDLE, 1),
        ("metadata.epub.lua", LUA, 0),
        ("notes.json", json.dumps(KOREADER), 0),
        ("readwise.csv", READWISE, 0),
    ],
)
def test_highlights_are_found_by_their_words_once(
    run: Run, book: Path, tmp_path: Path, name: str, text: str, lost: int
) -> None:
    notes = tmp_path / name
    notes.write_text(text)
    document = run("import", book, notes, "--json").json
    assert (document["added"], document["known"], len(document["lost"])) == (1, 0, lost)
    opened = open_book(book)
    (mark,) = MarkStore(default_paths()).marks(opened.sha256)
    assert opened.text[mark.start : mark.end] == WORDS
    assert mark.note == "Why?"
    again = run("import", book, notes, "--json").json
    assert (again["added"], again["known"]) == (0, 1)


def _marks(book: Book) -> list[Mark]:
    """A mark of each kind."""

    def place(words: str) -> TextQuote:
        start = book.text.index(words)
        return quote_at(book.text, start, start + len(words))

    highlighted, annotated, lettered, kept = (
        place(f"burned {number} hours") for number in (5, 7, 8, 9)
    )
    marks = [
        new_mark(MarkKind.HIGHLIGHT, highlighted, color=Color.RED, note="How long?"),
        new_mark(MarkKind.NOTE, annotated, note="Longer."),
        new_mark(MarkKind.LETTER, lettered, letter="a"),
        new_mark(MarkKind.BOOKMARK, kept),
    ]
    return [replace(mark, made_at=MADE_AT, changed_at=MADE_AT) for mark in marks]


def _record(book: Book, path: Path) -> None:
    UserData(default_paths()).record_opening(
        book.sha256, title=book.title, authors=(), length=len(book.text), path=path
    )


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("same_text", [False, True])
def test_exported_marks_are_imported_as_they_were(
    run: Run, book: Path, tmp_path: Path, same_text: bool, together: bool
) -> None:
    opened = open_book(book)
    _record(opened, book)
    store = MarkStore(default_paths())
    store.put_new(opened.sha256, _marks(opened))
    marks = store.marks(opened.sha256)
    exported = tmp_path / "exported.json"
    exported.write_text(
        json.dumps(run("export", "--all" if together else book, "--json").json)
    )
    for mark in marks:
        store.remove(opened.sha256, mark)
    if not same_text:
        book.write_text(f"The Lamp\n\nA new preface.\n\n{book.read_text()}")
        opened = open_book(book)
    assert run("import", book, exported, "--json").json["added"] == len(marks)
    imported = store.marks(opened.sha256)
    unmoved = [
        replace(mark, place=before.place, changed_at=MADE_AT)
        for mark, before in zip(imported, marks, strict=True)
    ]
    assert unmoved == marks
    assert [mark.place.exact for mark in imported] == [
        mark.place.exact for mark in marks
    ]


def test_an_exported_note_comes_to_the_known_mark(
    run: Run, book: Path, tmp_path: Path
) -> None:
    opened = open_book(book)
    store = MarkStore(default_paths())
    (first, *others) = store.put_new(opened.sha256, _marks(opened))
    exported = tmp_path / "exported.json"
    run("export", book, "--output", exported)
    again = run("import", book, exported, "--json").json
    assert (again["added"], again["annotated"], again["known"]) == (
        0,
        0,
        1 + len(others),
    )
    store.put(opened.sha256, replace(first, note="Why?"))
    assert run("import", book, exported, "--json").json["annotated"] == 1
    assert store.marks(opened.sha256)[0].note == "Why?\n\nHow long?"


def _lamp(tmp_path: Path) -> Path:
    """An EPUB of one document that repeats its words: `Line 7 burned.` is its eighth paragraph."""
    path = tmp_path / "lamp.epub"
    lines = "".join(f"<p>Line {number} burned.</p>" for number in range(90))
    path.write_bytes(epub({"a.xhtml": page(lines)}))
    return path


_POINTED_LUA = """return {
    ["annotations"] = {
        [1] = {
            ["drawer"] = "lighten",
            ["page"] = "/body/DocFragment[1]/body/p[43]/text().8",
            ["pos0"] = "/body/DocFragment[1]/body/p[43]/text().8",
            ["pos1"] = "/body/DocFragment[1]/body/p[43]/text().14",
            ["text"] = "burned",
        },
        [2] = { ["text"] = "in Line", ["page"] = "/body/DocFragment[1]/body/p[61]/text().0" },
        [3] = { ["text"] = "in Line", ["page"] = "17" },
    },
}"""
# As Calibre 6 writes them; its paths begin at the document, not at its root
_CALIBRE_HIGHLIGHT = {
    "type": "highlight",
    "highlighted_text": "burned",
    "notes": "Why?",
    "spine_index": 0,
    "spine_name": "a.xhtml",
    "start_cfi": "/2/4/86/1:8",
    "end_cfi": "/2/4/86/1:14",
    "style": {"kind": "color", "type": "builtin", "which": "green"},
    "timestamp": "2024-03-04T10:10:10.000Z",
    "uuid": "a1",
}
_CALIBRE_BOOKMARK = {
    "type": "bookmark",
    "title": "Here",
    "pos": "epubcfi(/2/2/4/122/1:0)",
    "pos_type": "epubcfi",
    "timestamp": "2024-03-04T10:10:10.000Z",
}
_CALIBRE_REMOVED = {"type": "highlight", "removed": True, "uuid": "a2"}


def test_koreader_says_which_of_the_same_words_it_means(
    run: Run, tmp_path: Path
) -> None:
    lamp, notes = _lamp(tmp_path), tmp_path / "metadata.epub.lua"
    notes.write_text(_POINTED_LUA)
    document = run("import", lamp, notes, "--json").json
    assert (document["added"], document["lost"], document["bookmarks"]) == (2, [], 1)
    book = open_book(lamp)
    burned, bookmark = MarkStore(default_paths()).marks(book.sha256)
    assert burned.start == book.text.index("Line 42 burned") + len("Line 42 ")
    assert (bookmark.kind, bookmark.start) == (
        MarkKind.BOOKMARK,
        book.text.index("Line 60 "),
    )
    again = run("import", lamp, notes, "--json").json
    assert (again["added"], again["known"], again["bookmarks"]) == (0, 2, 1)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("calibre_highlights", "highlights"),
        ("calibre_annotation_collection", "annotations"),
    ],
)
@pytest.mark.parametrize("suffix", [".json", None])
def test_notes_of_calibre_are_found_at_their_places(
    run: Run, tmp_path: Path, kind: str, field: str, suffix: str | None
) -> None:
    lamp, notes = _lamp(tmp_path), tmp_path / f"notes{suffix or f'.{kind}'}"
    twice = [_CALIBRE_BOOKMARK, {**_CALIBRE_BOOKMARK, "title": "Here too"}]
    entries = [_CALIBRE_HIGHLIGHT, *twice, _CALIBRE_REMOVED]
    notes.write_text(json.dumps({"version": 1, "type": kind, field: entries}))
    document = run("import", lamp, notes, "--json").json
    assert (document["added"], document["lost"], document["bookmarks"]) == (2, [], 0)
    assert document["known"] == 1
    book = open_book(lamp)
    burned, bookmark = MarkStore(default_paths()).marks(book.sha256)
    assert burned.start == book.text.index("Line 42 burned") + len("Line 42 ")
    assert (burned.note, burned.color) == ("Why?", Color.GREEN)
    assert burned.made_at == datetime(2024, 3, 4, 10, 10, 10, tzinfo=UTC).timestamp()
    assert (bookmark.kind, bookmark.start) == (
        MarkKind.BOOKMARK,
        book.text.index("Line 60 "),
    )


def test_a_letter_that_marks_another_place_is_left_out_and_listed(
    run: Run, book: Path, tmp_path: Path
) -> None:
    opened = open_book(book)
    store = MarkStore(default_paths())
    letter = _marks(opened)[2]
    store.put(opened.sha256, replace(letter, note="Imported."))
    exported = tmp_path / "exported.json"
    run("export", book, "--output", exported)
    moved = replace(letter, place=quote_at(opened.text, 0), note="Mine.")
    store.put(opened.sha256, moved)
    document = run("import", book, exported, "--json").json
    assert (document["added"], document["annotated"], document["known"]) == (0, 0, 0)
    assert document["letters"] == [{"letter": "a", "text": letter.place.exact}]
    (kept,) = store.marks(opened.sha256)
    assert (kept.start, kept.note) == (0, "Mine.")
    ran = run("import", book, exported)
    assert ran.out == f"left out: mark a at {letter.place.exact}\n"
    assert "1 letter mark left out (letter in use)." in ran.err


def test_a_second_letter_at_one_place_is_imported(
    run: Run, book: Path, tmp_path: Path
) -> None:
    opened = open_book(book)
    store = MarkStore(default_paths())
    place = _marks(opened)[2].place
    for letter in ("a", "b"):
        store.put(opened.sha256, new_mark(MarkKind.LETTER, place, letter=letter))
    exported = tmp_path / "exported.json"
    run("export", book, "--output", exported)
    (_, second) = store.marks(opened.sha256)
    store.remove(opened.sha256, second)
    assert run("import", book, exported, "--json").json["added"] == 1
    assert {mark.letter for mark in store.marks(opened.sha256)} == {"a", "b"}


def test_what_is_not_found_is_listed(run: Run, book: Path, tmp_path: Path) -> None:
    notes = tmp_path / "My Clippings.txt"
    notes.write_text(KINDLE)
    ran = run("import", book, notes)
    assert ran.out == "not found: These words are in no edition of this tale at all.\n"
    assert "1 highlight added, 1 not found in this text." in ran.err


def test_notes_of_a_book_that_was_never_opened_are_exported_with_all(
    run: Run, book: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "readwise.csv"
    notes.write_text(READWISE)
    run("import", book, notes)
    (exported,) = run("export", "--all", "--json").json["books"]
    assert [mark["note"] for mark in exported["marks"]] == ["Why?"]
    (listed,) = run("books", "--json").json["books"]
    assert (listed["sha256"], listed["progress"]) == (open_book(book).sha256, 0)


@pytest.mark.parametrize(
    ("name", "text", "message", "status"),
    [
        (
            "a.txt",
            "No clippings",
            "has no notes that gistread can read",
            ExitStatus.BOOK,
        ),
        ("a.lua", "return { [", "is damaged", ExitStatus.BOOK),
        ("a.json", "[1", "is damaged", ExitStatus.BOOK),
        ("b.json", '{"marks": [{"id": 1}], "book": {}}', "is damaged", ExitStatus.BOOK),
        ("a.csv", "Words\nx\n", "the column Highlight is missing", ExitStatus.BOOK),
        (
            "b.csv",
            "Highlight,Title\nx,Emma\n",
            "None of 1 note is about The Lamp",
            ExitStatus.FAILED,
        ),
    ],
)
def test_other_files_are_refused(
    run: Run,
    book: Path,
    tmp_path: Path,
    name: str,
    text: str,
    message: str,
    status: ExitStatus,
) -> None:
    notes = tmp_path / name
    notes.write_text(text)
    ran = run("import", book, notes)
    assert ran.status == status
    assert message in ran.err


def test_a_missing_file_is_refused(run: Run, book: Path, tmp_path: Path) -> None:
    ran = run("import", book, tmp_path / "none.csv")
    assert ran.status == ExitStatus.BOOK
    assert "cannot be read: No such file" in ran.err


def imported(run: Run, book: Path, notes: Path, text: str) -> Mark:
    """The only mark of the book after the import of this text."""
    notes.write_text(text)
    run("import", book, notes)
    (mark,) = MarkStore(default_paths()).marks(open_book(book).sha256)
    return mark


@pytest.mark.parametrize(
    ("name", "text", "color"),
    [
        ("My Clippings.txt", KINDLE, Color.YELLOW),
        ("metadata.epub.lua", LUA, Color.RED),
        ("notes.json", json.dumps(KOREADER), Color.GREEN),
        ("readwise.csv", READWISE, Color.BLUE),
    ],
)
def test_dates_and_colours_are_kept(
    run: Run, book: Path, tmp_path: Path, name: str, text: str, color: Color
) -> None:
    mark = imported(run, book, tmp_path / name, text)
    made = datetime.fromtimestamp(mark.made_at)
    assert made == datetime(2024, 3, 4, 10, 10, 10)
    assert mark.changed_at == mark.made_at
    assert mark.color == color


def test_bookmarks_and_notes_without_words_are_counted_and_listed(
    run: Run, book: Path, tmp_path: Path
) -> None:
    heading = (
        "The Lamp (Ada Ro)\n- Your {} on page 7 | location 700 | Added on 1 May 2024\n"
    )
    notes = tmp_path / "My Clippings.txt"
    notes.write_text(
        f"{heading.format('Bookmark')}\n\n==========\n"
        f"{heading.format('Note')}\nA thought of mine.\n==========\n{KINDLE.lstrip(BOM)}"
    )
    ran = run("import", book, notes)
    assert "not found: A thought of mine." in ran.out
    assert "1 bookmark without words left out" in ran.err
    assert run("import", book, notes, "--json").json["bookmarks"] == 1


def test_a_note_added_later_comes_to_the_known_highlight(
    run: Run, book: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "readwise.csv"
    notes.write_text(READWISE.replace("Why?", ""))
    run("import", book, notes)
    notes.write_text(READWISE)
    document = run("import", book, notes, "--json").json
    assert (document["added"], document["annotated"], document["known"]) == (0, 1, 0)
    (mark,) = MarkStore(default_paths()).marks(open_book(book).sha256)
    assert mark.note == "Why?"
    assert run("import", book, notes, "--json").json["known"] == 1


def test_a_highlight_begins_and_ends_with_whole_words(
    run: Run, book: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "readwise.csv"
    notes.write_text(READWISE.replace("The Storm stood", "no Storm stood"))
    run("import", book, notes)
    opened = open_book(book)
    for mark in MarkStore(default_paths()).marks(opened.sha256):
        around = opened.text[mark.start - 1 : mark.start + 1]
        assert not around.isalnum()


def test_every_note_on_the_same_words_is_kept(
    run: Run, book: Path, tmp_path: Path
) -> None:
    """A Kindle writes an entry for each, Readwise a row."""
    title = "The Lamp: A Novel (Ada Ro)"
    heading = f"{title}\n- Your Note on page 5 | location 66 | Added on 1 May 2024\n"
    clippings = tmp_path / "My Clippings.txt"
    clippings.write_text(KINDLE + f"\n{heading}\nSecond thoughts.\n==========\n")
    run("import", book, clippings)
    (mark,) = MarkStore(default_paths()).marks(open_book(book).sha256)
    assert mark.note == "Why?\n\nSecond thoughts."
    rows = tmp_path / "readwise.csv"
    rows.write_text(READWISE.replace("Why?", "thoughts"))
    assert run("import", book, rows, "--json").json["annotated"] == 1
    (mark,) = MarkStore(default_paths()).marks(open_book(book).sha256)
    assert mark.note == "Why?\n\nSecond thoughts.\n\nthoughts"
    assert run("import", book, clippings, "--json").json["annotated"] == 0
