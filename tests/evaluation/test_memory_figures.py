"""What is kept of the memories of a run, and what is said of them."""

from pathlib import Path

from gistread.engine.protocol import Usage
from gistread.evaluation.memory_figures import TextFigures, figures_of, read, save, summary
from gistread.evaluation.model import Document
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page, PageSize
from tests.memory.books import make_book, prose

FIGURES = TextFigures("a", 1000, 4, 150, 1, 1500, 300, 12.5)


def test_figures_of_a_memory_count_its_pages() -> None:
    book = make_book([prose(100), prose(50, seed=1)])
    half = book.paragraphs[1].start
    entries = [
        MemoryEntry(Page(1, 0, half, 100), Gist("x", 20, GistSource.MODEL), Usage(200, 10, 30, 1.5)),
        MemoryEntry(Page(2, half, len(book.text), 50), Gist("y", 10, GistSource.EXTRACTIVE), Usage(100, 0, 20, 0.5)),
    ]
    memory = GistMemory(book, PageSize(50, 100), "m", entries)
    assert figures_of(Document("d", book, ()), memory) == TextFigures("d", 150, 2, 30, 1, 300, 50, 2.0)


def test_a_text_is_stored_once_and_an_incomplete_line_is_ignored(tmp_path: Path) -> None:
    save(tmp_path, FIGURES)
    save(tmp_path, FIGURES)
    file = tmp_path / "texts.jsonl"
    assert file.read_bytes().count(b"\n") == 1
    with file.open("ab") as torn:
        torn.write(b'{"document": "b", "wor')
    other = TextFigures("c", 500, 1, 50, 0, 700, 90, 3.0)
    save(tmp_path, other)
    assert read(tmp_path) == [FIGURES, other]


def test_the_summary_is_one_line() -> None:
    line = summary([FIGURES, TextFigures("c", 500, 1, 50, 0, 750, 90, 3.5)])
    assert line == (
        "Memories: 2 texts of 750 words on average, 5 pages of 300; compression rate 86.7; 20% of the gists "
        "extractive; 1.50 tokens prefilled per word, 16 s."
    )
    assert summary([]) == ""
