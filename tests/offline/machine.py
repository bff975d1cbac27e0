"""A home to run gistread in, with a tiny model and books that link to other hosts."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.terminal import Terminal, environment
from tests.tiny_gguf import write_tiny_gguf

TRAP = Path(__file__).parent / "trap"
ELSEWHERE = "http://gistread.invalid"
"""By its ending a name that nobody can ever have."""
SIZE = ("--min-words", "60", "--max-words", "200")
_LINE = (
    "The keeper stood before the door and counted the stairs, one by one, as the sea went on "
    "below. "
)

PAGE = f"""<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "{ELSEWHERE}/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>The Keeper</title>
<base href="{ELSEWHERE}/book/"/>
<link rel="stylesheet" href="{ELSEWHERE}/style.css"/><link rel="preconnect" href="{ELSEWHERE}"/>
<script src="{ELSEWHERE}/count.js"></script><style>@import url("{ELSEWHERE}/more.css");</style>
<meta http-equiv="refresh" content="1; url={ELSEWHERE}/next"/></head><body>
<h1>The Keeper</h1><p>{_LINE * 4}</p><p><img src="{ELSEWHERE}/keeper.png" alt="the keeper"/></p>
<p>{_LINE * 4}<a href="{ELSEWHERE}/note">a note</a></p><iframe src="{ELSEWHERE}/frame"></iframe>
<object data="{ELSEWHERE}/thing.svg"></object><video src="{ELSEWHERE}/film.mp4"></video>
<h1>The Sea</h1><p>{_LINE * 8}</p></body></html>
"""


@dataclass(frozen=True)
class Machine:
    """Everything lies below `home`."""

    home: Path
    page: Path
    """A book as a web page."""
    text: Path
    model: Path

    @property
    def python(self) -> Path:
        """A Python with the trap in its environment.

        Gistread's children ignore PYTHONPATH as they start.
        """
        folder = self.home / "environment"
        if not folder.exists():
            venv.create(folder, symlinks=True)
            packages = next(folder.glob("lib/python*/site-packages"))
            shutil.copy(TRAP / "sitecustomize.py", packages)
            (packages / "others.pth").write_text(
                "\n".join(path for path in sys.path if Path(path).is_dir())
            )
        return folder / "bin" / "python"

    @property
    def trap_file(self) -> Path:
        """The file to which the trap writes what it sees."""
        return self.home / "trapped.txt"

    def variables(self, *, trapped: bool) -> dict[str, str]:
        path = os.environ.get("PYTHONPATH", "")
        trap = {
            "PYTHONPATH": f"{TRAP}{os.pathsep}{path}",
            "GISTREAD_TRAP": str(self.trap_file),
        }
        return environment(self.home, HOME=str(self.home), **(trap if trapped else {}))

    def run(
        self,
        *words: str | Path,
        before: tuple[str, ...] = (),
        trapped: bool = False,
        seconds: float = 240,
    ) -> "subprocess.CompletedProcess[str]":
        """`gistread WORDS`, to its end."""
        return subprocess.run(
            [
                *before,
                self.python if trapped else sys.executable,
                "-m",
                "gistread",
                *map(str, words),
            ],
            env=self.variables(trapped=trapped),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def wait_for_answer(
        self, run: Terminal, question: str, seconds: float = 200
    ) -> None:
        """Look at the screen until the question is kept with its answer."""
        end = time.monotonic() + seconds
        while not self._is_answered(question):
            assert time.monotonic() < end, run.text
            run.look(0.2)

    def _is_answered(self, question: str) -> bool:
        with contextlib.closing(
            sqlite3.connect(self.home / "xdg_data_home" / "gistread" / "gistread.db")
        ) as database:
            return bool(
                database.execute(
                    "SELECT 1 FROM questions WHERE question = ?", (question,)
                ).fetchone()
            )

    def lines(self, kind: str) -> list[str]:
        """Lines of this kind that the trap wrote, from all processes."""
        reports = (
            self.trap_file.read_text().splitlines() if self.trap_file.exists() else []
        )
        return [line for line in reports if line.startswith(f"{kind} ")]

    def everything(self) -> list[tuple[str | Path, ...]]:
        """The commands of a day, each to be run after the one before."""
        model = ("--model", self.model)
        return [
            ("models", "list"),
            ("models", "use", self.model),
            ("doctor", *model),
            ("index", self.page, *SIZE, *model),
            ("index", self.text, *SIZE),
            ("ask", self.page, "Who counted the stairs?", "--max-pages", "1"),
            ("ask", self.text, "Who counted?", "--reader", "gistread", "--json"),
            ("pages", self.page),
            ("search", self.page, "stairs"),
            ("search", self.text, "--ranked", "counting"),
            ("export", self.page, "--format", "json"),
            ("books", "--add", self.home),
            ("paths",),
            ("keys",),
        ]


def machine(home: Path) -> Machine:
    page, text = home / "keeper.html", home / "keeper.txt"
    page.write_text(PAGE)
    text.write_text(
        "\n\n".join(f"Chapter {number}\n\n{_LINE * 4}" for number in (1, 2)) + "\n"
    )
    (home / "models").mkdir()
    model = write_tiny_gguf(home / "models" / "tiny.gguf")
    return Machine(home, page, text, model)


@cache
def without_network() -> tuple[str, ...]:
    """What runs a command where there is no network at all; empty where that is not permitted."""
    for words in (("unshare", "--net"), ("unshare", "--map-root-user", "--net")):
        if (
            shutil.which(words[0])
            and subprocess.run([*words, "true"], capture_output=True).returncode == 0
        ):
            return words
    return ()
