"""`gistread import`: highlights of other programs, found in the book by their words."""

import json
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from gistread.store.user_data import MarkStore
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
KOREADER = {"title": "The Lamp", "entries": [{"text": WORDS, "note": "Why?", "page": 3}]}
READWISE = f'Highlight,Title,Author,Note\n"{WORDS}",The Lamp,Ada Ro,Why?\n'


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


def test_what_is_not_found_is_listed(run: Run, book: Path, tmp_path: Path) -> None:
    notes = tmp_path / "My Clippings.txt"
    notes.write_text(KINDLE)
    ran = run("import", book, notes)
    assert ran.out == "not found: These words are in no edition of this tale at all.\n"
    assert "1 highlight added, 1 not found in this text." in ran.err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "No clippings", "has no notes that gistread can read"),
        ("a.lua", "return { [", "is damaged"),
        ("a.json", "[1", "is damaged"),
        ("a.csv", "Words\nx\n", "the column Highlight is missing"),
        ("b.csv", "Highlight,Title\nx,Emma\n", "None of 1 note is about The Lamp"),
    ],
)
def test_other_files_are_refused(
    run: Run, book: Path, tmp_path: Path, name: str, text: str, message: str
) -> None:
    notes = tmp_path / name
    notes.write_text(text)
    ran = run("import", book, notes)
    assert ran.status == ExitStatus.USAGE
    assert message in ran.err


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


def test_a_highlight_begins_and_ends_with_whole_words(run: Run, book: Path, tmp_path: Path) -> None:
    notes = tmp_path / "readwise.csv"
    notes.write_text(READWISE.replace("The Storm stood", "no Storm stood"))
    run("import", book, notes)
    opened = open_book(book)
    for mark in MarkStore(default_paths()).marks(opened.sha256):
        around = opened.text[mark.start - 1 : mark.start + 1]
        assert not around.isalnum()
