"""Two hundred notes of KOReader are found here, and as many marks of ours by a reader of CFIs.

No package index has KOReader: `koreader_notes` writes what it stores. `cfi_resolver` follows the
description of EPUB CFI. Neither uses gistread. The same was tried once with foliate-js 1.0.1, the
engine of Foliate, which found 200 of 200 marks: 182 whole, one with the number of a page inside,
17 over two files by their part in the first.
"""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.marking import MarkKind, new_mark, quote_at
from gistread.paths import default_paths
from gistread.store.user_data import MarkStore
from tests.book.cfi_resolver import Resolver
from tests.book.data import all_epubs, needs_epubs
from tests.book.koreader_notes import Highlight, as_metadata, random_highlights
from tests.book.test_epub_cfi import letters
from tests.cli.conftest import Run

pytestmark = [pytest.mark.slow, needs_epubs]

_BOOKS = (
    "mary-shelley_frankenstein",
    "h-g-wells_the-time-machine",
    "leo-tolstoy_war-and-peace_louise-maude_aylmer-maude",
    "childrens-literature",
    "kusamakura-japanese-vertical-writing",
)
_EACH = 40
_NEEDED = 198  # Of 200
_AROUND = 8  # Letters on each side that show the right one of several places
_WORD = re.compile(r"\w+")
_FRAGMENT = "FragmentSelector"


def _paths() -> list[Path]:
    paths = [path for path in all_epubs() if path.stem in _BOOKS]
    assert len(paths) == len(_BOOKS)
    return paths


def test_highlights_of_koreader_are_found_at_their_places(
    run: Run, tmp_path: Path
) -> None:
    wrong: list[str] = []
    for seed, path in enumerate(_paths()):
        highlights = random_highlights(path, _EACH, seed)
        book = open_book(path)
        notes = tmp_path / "metadata.epub.lua"
        notes.write_text(as_metadata(book.title, highlights))
        run("import", path, notes)
        places = [
            (mark.start, mark.end)
            for mark in MarkStore(default_paths()).marks(book.sha256)
        ]
        wrong += [
            f"{path.stem}: {highlight.start} {highlight.text}"
            for highlight in highlights
            if not any(_is_place(highlight, book, *place) for place in places)
        ]
    assert len(wrong) <= len(_BOOKS) * _EACH - _NEEDED, "\n".join(wrong)


def _is_place(highlight: Highlight, book: Book, start: int, end: int) -> bool:
    """Whether the words of a highlight stand here, between those around it."""
    before = letters(highlight.before)[-_AROUND:]
    after = letters(highlight.after)[:_AROUND]
    around = 8 * _AROUND
    return (
        letters(book.text[start:end]) == letters(highlight.text)
        and letters(book.text[max(0, start - around) : start]).endswith(before)
        and letters(book.text[end : end + around]).startswith(after)
    )


def test_marks_made_here_are_found_by_their_cfis(run: Run) -> None:
    """Of a mark that goes on in the next file of the book, its words in the first."""
    resolvable, over_files = 0, 0
    wrong: list[str] = []
    for seed, path in enumerate(_paths()):
        book = open_book(path)
        _mark_some(book, seed)
        resolver = Resolver(path)
        exported = json.loads(run("export", path, "--format", "annotations").out)
        for annotation in exported["items"]:
            selectors = {
                each["type"]: each for each in annotation["target"]["selector"]
            }
            words = _letters(selectors["TextQuoteSelector"]["exact"])
            resolved = _resolved(resolver, selectors)
            is_beginning = 0 < len(resolved) < len(words) and words.startswith(resolved)
            over_files += is_beginning
            resolvable += resolved == words or is_beginning
            if resolved != words and not is_beginning:
                wrong.append(f"{path.stem}: {selectors}")
    assert resolvable >= _NEEDED, "\n".join(wrong)
    assert 0 < over_files < _EACH


def _resolved(resolver: Resolver, selectors: dict[str, Any]) -> str:
    """The letters to which the CFI of a mark leads; none if it has no CFI."""
    if _FRAGMENT not in selectors:
        return ""
    return _letters(resolver.words(selectors[_FRAGMENT]["value"]))


def _letters(text: str) -> str:
    """Without digits, since the file may have the number of a page among the words."""
    return "".join(letter for letter in letters(text) if not letter.isdigit())


def _mark_some(book: Book, seed: int) -> None:
    """Highlights from word to word, some of them over the border of two chapters."""
    chance = random.Random(seed)
    words = [word.span() for word in _WORD.finditer(book.text)]
    borders = [chapter.start for chapter in book.chapters[1:]]
    spans: set[tuple[int, int]] = set()
    while len(spans) < _EACH:
        first = chance.randrange(len(words))
        if len(spans) < 4 and borders:
            border = chance.choice(borders)
            first = max(0, sum(start < border for start, _ in words) - 3)
        last = min(len(words) - 1, first + chance.choice((0, 1, 3, 10, 40)))
        spans.add((words[first][0], words[last][1]))
    marks = [
        new_mark(MarkKind.HIGHLIGHT, quote_at(book.text, *span))
        for span in sorted(spans)
    ]
    MarkStore(default_paths()).put_new(book.sha256, marks)
