"""The memory of the screen over a long evening.

Reading along War and Peace, with searches and questions.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
from textual.pilot import Pilot

from gistread.config import Config
from gistread.engine.protocol import Priority, Prompt, Sampling, Usage
from gistread.system import return_freed_memory
from gistread.tui.screens.reading import ReadingScreen
from tests.benchmarks.texts import WAR_AND_PEACE
from tests.tui.scripted import SteppedEngine, app_on, opened, until

_SEARCHED = ("Pierre", "Natasha", "Kutuzov", "horse", "war")
_SEARCH_EVERY, _ASK_EVERY = 20, 50  # Screens
_FIRST_PART = 0.25  # Of the screens, until caches are full


class ForgetfulEngine(SteppedEngine):
    """Keeps no prompts, which would be what grows."""

    async def _take(
        self,
        kind: str,
        prompt: Prompt,
        options: tuple[str, ...],
        sampling: Sampling,
        priority: Priority,
    ) -> Usage:
        usage = await super()._take(kind, prompt, options, sampling, priority)
        self.calls.clear()
        self._seen.clear()
        return usage

    async def prepare(
        self, prompt: Prompt, priority: Priority = Priority.BACKGROUND
    ) -> Usage:
        usage = await super().prepare(prompt, priority)
        self._seen.clear()
        return usage


def rows(folder: Path, screens: int) -> Iterator[tuple[str, ...]]:
    """Screens, searches, questions, MiB after the first part and at the end, and the growth."""
    command = [
        sys.executable,
        "-m",
        "tests.reliability.evenings",
        str(folder),
        str(screens),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    first, last = map(float, done.stdout.split())
    searches, questions = screens // _SEARCH_EVERY, screens // _ASK_EVERY
    yield (
        str(screens),
        str(searches),
        str(questions),
        f"{first:.0f}",
        f"{last:.0f}",
        f"{last - first:.0f}",
    )


async def _read(folder: Path, screens: int) -> None:
    app = app_on(WAR_AND_PEACE, folder, ForgetfulEngine(), Config())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        for number in range(1, screens + 1):
            await pilot.press("space")
            if number % _SEARCH_EVERY == 0:
                await _type(
                    pilot, "slash", _SEARCHED[number // _SEARCH_EVERY % len(_SEARCHED)]
                )
                await pilot.press("n", "backspace", "escape")
            if number % _ASK_EVERY == 0:
                await _ask(pilot, screen, f"Who is number {number}?")
            if number in (round(_FIRST_PART * screens), screens):
                sys.stdout.write(f"{psutil.Process().memory_info().rss / 2**20}\n")
                sys.stdout.flush()


async def _ask(pilot: Pilot[None], screen: ReadingScreen, question: str) -> None:
    session = screen.session
    assert session is not None
    pane, before = screen.answers_pane, len(screen.answers_pane.exchanges)
    await _type(pilot, "a", question)
    await until(
        pilot,
        lambda: (
            len(pane.exchanges) > before
            and pane.exchanges[-1].answer
            and not session.answering
        ),
    )
    await pilot.press("escape")


async def _type(pilot: Pilot[None], key: str, text: str) -> None:
    await pilot.press(
        key,
        *({" ": "space", "?": "question_mark"}.get(letter, letter) for letter in text),
        "enter",
    )


if __name__ == "__main__":
    return_freed_memory()
    asyncio.run(_read(Path(sys.argv[1]), int(sys.argv[2])))
