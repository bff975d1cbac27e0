"""The progress line: one redrawn line on a terminal, nothing elsewhere."""

import os
import sys
from pathlib import Path

import pexpect
import pyte

from gistread.book.model import Book, Chapter, Paragraph
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)


def memory(read: int = 0) -> GistMemory:
    text = "word " * 1000
    book = Book(text, "T", (Paragraph(0, len(text)),), (Chapter("T", 0, len(text)),))
    pages = [Page(n + 1, n * 500, n * 500 + 500, 100) for n in range(read)]
    return GistMemory(
        book,
        PageSize(50, 150),
        "m",
        [MemoryEntry(p, Gist("g", 1, GistSource.MODEL)) for p in pages],
    )


def test_index_on_a_terminal_shows_progress_and_leaves_its_summary(book: Path) -> None:
    screen = pyte.Screen(100, 10)
    terminal = pyte.ByteStream(screen)
    child = pexpect.spawn(
        sys.executable,
        [
            "-m",
            "tests.cli.fake_gistread",
            "index",
            str(book),
            "--min-words",
            "60",
            "--max-words",
            "200",
        ],
        env={**os.environ, "GISTREAD_TEST_PAUSE_S": "0.05", "TERM": "xterm-256color"},
        dimensions=(10, 100),
        timeout=60,
    )
    seen = set()
    while True:
        try:
            terminal.feed(child.read_nonblocking(4096, timeout=30))
        except pexpect.EOF:
            break
        seen |= {row.rstrip() for row in screen.display}
    child.close()
    assert child.exitstatus == 0
    assert any("section 3 of ~" in row and "left" in row for row in seen), seen
    rows = [row.rstrip() for row in screen.display if row.strip()]
    assert rows[0].startswith("Read ")
    assert len(rows) <= 2, "the progress line is gone"
