"""The screen, `index` and their model's process killed in a real terminal.

Losses, orphans, and how long users wait.
"""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from gistread.book.open import open_book
from gistread.paths import default_paths
from gistread.store.user_data import MarkStore, UserData
from tests.reliability.faults import FOLDERS, SIZE, Home, SavedPage
from tests.terminal import Terminal, terminal
from tests.tiny_gguf import write_tiny_gguf

_ORPHAN_S = 5.0
_TRY_AGAIN, _CHOOSER = "r try again", "Tab reads or answers"
# A bookmark, a question; kills
_SAVING, _SAVED_EVERY = (" B", "aWho counted the stairs?\r"), 4
_WHILE_READING = (
    # Share of kills after the first new page; the others may come while the model loads
    0.7
)
_PARAGRAPHS = 200
_ENOUGH_PAGES = (
    # Of about 100; then the book is read anew, so that there is always something to read
    40
)


def rows(folder: Path, kills: int) -> Iterator[tuple[str, ...]]:
    """For each victim: kills, what is lost, pages doubled, orphans, and the longest wait [s].

    Pages, marks and questions may be lost.
    """
    home = Home(folder, paragraphs=_PARAGRAPHS)
    model = write_tiny_gguf(folder / "tiny.gguf", brief=True)
    default_paths().config_file.write_text(
        f'model = "{model}"\nmin_words = 60\nmax_words = 200\n'
    )
    for victim in ("screen", "index", "worker"):
        home.forget()
        yield (
            f"SIGKILL of the {victim}",
            str(kills),
            *_Kills(home, model, victim).run(kills),
        )


class _Kills:
    def __init__(self, home: Home, model: Path, victim: str) -> None:
        self._home = home
        self._model = model
        self._victim = victim
        self._chance = random.Random(victim)
        self._pages: list[SavedPage] = []
        self._saved = 0
        self._lost = self._doubled = self._orphans = 0
        self._longest_s = 0.0

    def run(self, kills: int) -> tuple[str, ...]:
        for number in range(kills):
            self._kill(number)
            self._compare()
        return (
            str(self._lost),
            str(self._doubled),
            str(self._orphans),
            f"{self._longest_s:.1f}",
        )

    def _kill(self, number: int) -> None:
        folders = {name: os.environ[name] for name in FOLDERS}
        book = str(self._home.book)
        if self._victim == "index":
            words = ["index", book, *SIZE]
        else:
            words = [book, "--model", str(self._model)]
        with terminal(words, self._home.folder, **folders) as run:
            ready = "counted the stairs" if self._victim != "index" else "%"
            self._waited(run.wait_for(ready))
            if self._victim != "index" and number % _SAVED_EVERY < len(_SAVING):
                self._save(run, _SAVING[number % _SAVED_EVERY])
            if self._chance.random() < _WHILE_READING:
                self._wait_for_a_page(run)
            for _ in range(self._chance.randrange(30)):
                run.look()
            if self._victim == "worker":
                self._kill_worker(run)
            children = run.app.children(recursive=True)
            run.app.kill()
            _, alive = psutil.wait_procs(children, _ORPHAN_S)
            self._orphans += len(alive)
            for process in alive:
                process.kill()

    def _save(self, run: Terminal, keys: str) -> None:
        before, began = self._count_saved(), time.monotonic()
        run.press(keys)
        while self._count_saved() == before:
            run.look()
            assert time.monotonic() - began < 60, run.text
        self._saved += self._count_saved() - before

    def _kill_worker(self, run: Terminal) -> None:
        """Wait until another one has taken its place and saves pages."""
        while run.worker is None:
            run.look()
        run.worker.kill()
        began = time.monotonic()
        self._wait_for_a_page(run)
        self._waited(time.monotonic() - began)

    def _wait_for_a_page(self, run: Terminal) -> None:
        before, began = len(self._home.pages()), time.monotonic()
        while len(self._home.pages()) <= before:
            run.look()
            # It was killed while it loaded the model, which may have been too large
            if _TRY_AGAIN in run.text:
                if _CHOOSER in run.text:  # Opened for a question that waits for a model
                    run.press("\x1b")
                    run.wait_until_gone(_CHOOSER)
                run.press("r")
                run.wait_until_gone(_TRY_AGAIN)
            assert time.monotonic() - began < 60, run.text

    def _count_saved(self) -> int:
        book, paths = open_book(self._home.book).sha256, default_paths()
        return len(MarkStore(paths).marks(book)) + len(UserData(paths).questions(book))

    def _waited(self, seconds: float) -> None:
        self._longest_s = max(self._longest_s, seconds)

    def _compare(self) -> None:
        """What was saved before this kill, and is gone after it or stands twice."""
        pages = self._home.pages()
        self._lost += sum(page not in pages for page in self._pages) + max(
            0, self._saved - self._count_saved()
        )
        self._doubled += len(pages) - len({page.start for page in pages})
        self._pages = pages
        if len(pages) > _ENOUGH_PAGES:
            self._home.forget()
            self._pages = []
