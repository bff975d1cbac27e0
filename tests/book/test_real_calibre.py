"""Books that Calibre's own `ebook-convert` makes: read back, they have the words they came from."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from gistread.book.model import Book, ParagraphKind
from gistread.book.open import open_book
from gistread.word_patterns import WORD
from tests.book.data import epub_book, needs_epubs, needs_novels, novel

pytestmark = [
    pytest.mark.slow,
    needs_epubs,
    needs_novels,
    pytest.mark.skipif(not shutil.which("ebook-convert"), reason="needs Calibre"),
]


def _words(book: Book) -> Counter[str]:
    """Without the descriptions of pictures, which MOBI does not have; titles become capitals."""
    words = Counter[str]()
    for paragraph in book.paragraphs:
        if paragraph.kind is not ParagraphKind.IMAGE:
            words.update(
                WORD.findall(book.text[paragraph.start : paragraph.end].casefold())
            )
    return words


@pytest.mark.parametrize("suffix", [".mobi", ".azw3"])
@pytest.mark.parametrize("name", ["time-machine", "candide"])
def test_a_kindle_book_has_the_words_of_its_epub(
    name: str, suffix: str, tmp_path: Path
) -> None:
    source = novel(name) if name == "candide" else epub_book(name)
    made = tmp_path / f"book{suffix}"
    subprocess.run(["ebook-convert", source, made], check=True, capture_output=True)
    before, after = open_book(source), open_book(made)
    assert after.source_format == "mobi"
    assert after.title.startswith(before.title)  # Calibre adds the subtitle
    assert _words(after) == _words(before)
    assert [each.title for each in after.chapters] == [
        each.title for each in before.chapters
    ]
    assert len(after.links) >= len(before.links)
