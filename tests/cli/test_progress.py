"""The progress line: one redrawn line on a terminal, nothing elsewhere."""

import io
import os
import sys
from pathlib import Path

import pexpect
import pyte
import pytest

from gistread.book.model import Book, Chapter, Paragraph
from gistread.cli.progress import ProgressLine, engine_line, reading_line
from gistread.engine.protocol import EngineState, Phase
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page, PageSize


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def memory(read: int = 0) -> GistMemory:
    text = "word " * 1000
    book = Book(text, "T", (Paragraph(0, len(text)),), (Chapter("T", 0, len(text)),))
    pages = [Page(n + 1, n * 500, n * 500 + 500, 100) for n in range(read)]
    return GistMemory(book, PageSize(50, 150), "m", [MemoryEntry(p, Gist("g", 1, GistSource.MODEL)) for p in pages])


def test_reading_shows_pages_speed_and_time_left() -> None:
    state = EngineState(Phase.DECODE, tokens_per_s=41.3)
    line = reading_line(memory(5), state, 360)
    assert line.endswith("page 6 of ~10 · 41 tok/s · 6 min left")
    assert line.startswith("━" * 12 + "─" * 12)
    assert reading_line(memory(), EngineState(Phase.IDLE), None).endswith("page 1 of ~10")


def test_the_progress_line_shows_first_what_reading_waits_for() -> None:
    waits = EngineState(Phase.IDLE, notice="no connection to gpu:80 (Connection refused); again in 4 s")
    assert reading_line(memory(5), waits, 360) == f"{waits.notice} · page 6 of ~10 · 6 min left"


def test_loading_and_prefill_show_their_progress() -> None:
    assert engine_line(EngineState(Phase.LOADING, fraction=0.4), "tiny") == "loading tiny 40%"
    assert engine_line(EngineState(Phase.PREFILL, fraction=0.6), "tiny") == "reading the prompt 60%"
    assert engine_line(EngineState(Phase.DECODE, tokens_per_s=20.0), "tiny") == "answering · 20 tok/s"


def test_no_progress_is_drawn_without_a_terminal() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        line.show("loading")
    assert stream.getvalue() == ""


def test_the_progress_is_one_line_and_cleared_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("gistread.cli.progress._REDRAWN_EVERY_S", 0.0)
    screen = pyte.Screen(40, 5)
    terminal = pyte.Stream(screen)
    stream = Terminal()
    with ProgressLine(stream) as line:
        for text in ("x" * 100, "\x1b[2Jloading\nmore", "short"):
            line.show(text)
        terminal.feed(stream.getvalue())
        assert [row.rstrip() for row in screen.display] == ["short", "", "", "", ""]
    terminal.feed(stream.getvalue())
    assert not any(row.strip() for row in screen.display)


def test_index_on_a_terminal_shows_progress_and_leaves_its_summary(book: Path) -> None:
    screen = pyte.Screen(100, 10)
    terminal = pyte.ByteStream(screen)
    child = pexpect.spawn(
        sys.executable,
        ["-m", "tests.cli.fake_gistread", "index", str(book), "--min-words", "60", "--max-words", "200"],
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
    assert any("page 3 of ~" in row and "left" in row for row in seen), seen
    rows = [row.rstrip() for row in screen.display if row.strip()]
    assert rows[0].startswith("Read ")
    assert len(rows) <= 2, "the progress line is gone"
