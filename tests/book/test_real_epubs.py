"""Real EPUBs, sound and broken: read whole or refused in words."""

import re
import time
import zipfile
from html import unescape
from pathlib import Path

import pytest

from gistread.book import Kind, open_book
from gistread.errors import BookError
from tests.book.data import all_epubs, epub_book, needs_epubs
from tests.book.promises import assert_keeps_promises

pytestmark = needs_epubs

_WORD = re.compile(r"\w+")


@pytest.mark.parametrize("path", all_epubs(), ids=lambda path: path.stem)
def test_every_epub_is_read_or_refused_in_two_lines(path: Path) -> None:
    refused = None
    try:
        assert_keeps_promises(open_book(path))
    except BookError as error:
        refused = str(error)
    assert refused is None or 1 <= len(refused.splitlines()) <= 2


@pytest.mark.parametrize("name", ["frankenstein", "time-machine", "war-and-peace"])
def test_no_word_of_a_novel_is_lost(name: str) -> None:
    path = epub_book(name)
    book = open_book(path)
    read = set(_WORD.findall(book.text))
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            if not re.search(r"text/(?:chapter|letter|epilogue|preface|part|book)[^/]*\.xhtml$", entry):
                continue
            source = archive.read(entry).decode().replace("\u2060", "")
            body = unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<head>.*?</head>", "", source, flags=re.DOTALL)))
            lost = {word for word in _WORD.findall(body) if word not in read}
            # Markup may part a word, which this crude reading then sees in pieces.
            assert not {word for word in lost if len(word) > 2 and not any(word in other for other in read)}


def test_words_in_sequence_are_those_of_the_source() -> None:
    path = epub_book("frankenstein")
    text = " ".join(_WORD.findall(open_book(path).text))
    with zipfile.ZipFile(path) as archive:
        for number in range(1, 25):
            source = archive.read(f"epub/text/chapter-{number}.xhtml").decode().replace("\u2060", "")
            for inner in re.findall(r"<p>([^<]+)</p>", source):
                assert " ".join(_WORD.findall(unescape(inner))) in text


def test_frankenstein_has_its_letters_and_chapters() -> None:
    book = open_book(epub_book("frankenstein"))
    titles = [chapter.title for chapter in book.chapters]
    assert [title for title in titles if title.startswith("Letter")] == [
        f"Letter {n}" for n in ("I", "II", "III", "IV")
    ]
    assert len([title for title in titles if title.startswith("Chapter")]) == 24
    assert (book.title, book.authors, book.language) == ("Frankenstein", ("Mary Shelley",), "en-GB")


def test_the_chapters_of_war_and_peace_nest_in_parts_and_books() -> None:
    book = open_book(epub_book("war-and-peace"))
    assert max(chapter.level for chapter in book.chapters) == 4
    assert len([chapter for chapter in book.chapters if re.fullmatch("[IVXL]+", chapter.title)]) == 364
    assert len([p for p in book.paragraphs if p.kind is Kind.NOTE]) > 100


def test_war_and_peace_opens_within_a_second_and_a_half() -> None:
    times = []
    for _ in range(3):
        start = time.process_time()
        open_book(epub_book("war-and-peace"))
        times.append(time.process_time() - start)
    assert min(times) < 1.5
