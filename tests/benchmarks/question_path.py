"""Which files of gistread run from the key that asks to an answer with its citation.

`python3 -m tests.benchmarks.question_path` lists them in the order in which they first run, each
with its functions. A fake model answers; what the screen draws meanwhile counts.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import gistread
from tests.tui.books import small_book
from tests.tui.scripted import SteppedEngine, app_on, read_whole, until, until_shown

_SOURCE = Path(gistread.__file__).parent
_SIZE = (130, 44)
QUESTION = "Who trimmed the lamp?"
ANSWER = "Ada Brennan trimmed it at dusk and again at midnight."


class CallRecorder:
    """The functions of gistread that are called while it is on, by file, each once and in order."""

    def __init__(self) -> None:
        self.functions: dict[str, list[str]] = {}
        self.on = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """In this thread and those that start meanwhile."""
        threading.setprofile(self._hear)
        sys.setprofile(self._hear)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _hear(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if (
            not self.on
            or event != "call"
            or not code.co_filename.startswith(str(_SOURCE))
        ):
            return
        file = Path(code.co_filename).relative_to(_SOURCE).as_posix()
        functions = self.functions.setdefault(file, [])
        if code.co_qualname not in functions:
            functions.append(code.co_qualname)


async def record_question(home: Path) -> dict[str, list[str]]:
    """Ask a question of a book that the model has read. Returns functions by file."""
    recorder = CallRecorder()
    with recorder.installed():
        app = app_on(small_book(), home, SteppedEngine(says=lambda _: ANSWER))
        async with app.run_test(size=_SIZE) as pilot:
            screen = await read_whole(pilot)
            recorder.on = True
            await pilot.press("a", *QUESTION.replace(" ", "_"))
            await pilot.press("enter")
            await until(pilot, lambda: screen.answers_pane.exchanges[-1].answer)
            await until(pilot, lambda: not screen.session.answering)
            await until_shown(pilot, "[1]", "“She trimmed it")
            recorder.on = False
    return recorder.functions


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        functions = asyncio.run(record_question(Path(home)))
    for file, names in functions.items():
        print(f"{file}: {', '.join(names)}")
    outside = sum(not file.startswith("tui/") for file in functions)
    print(f"{len(functions)} files, {outside} of them outside tui/")


if __name__ == "__main__":
    main()
