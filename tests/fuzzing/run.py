"""Opens mutated files in worker processes with limits of time and memory, and collects what failed.

A worker is forked from a process that has everything imported, opens a few hundred files and ends.
One that dies or falls silent fails the file it was at, and another goes on behind it.
"""

import os
import resource
import select
import signal
import time
import traceback
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

import psutil

from gistread.book.formats.pdf import book as pdf_format
from gistread.book.formats.pdf import worker as pdf_worker
from gistread.book.formats.pdf.pages import Font, PdfDocument
from gistread.book.formats.pdf.process import add_record
from gistread.book.model import Book
from gistread.book.open import open_bytes
from gistread.errors import BookError, GistreadError
from tests.book.promises import assert_keeps_promises
from tests.fuzzing.mutate import mutated
from tests.fuzzing.seeds import seeds, suffix

HANG_S = 5.0
MEMORY_BYTES = 500 * 1024 * 1024
_PATIENCE = 12
"""Times that, by the clock on the wall."""
_CASES_OF_A_WORKER = 400
_TOOK = "took"
"""How the outcome of a file begins that took too much memory."""


@dataclass(frozen=True)
class Failure:
    index: int
    what: str
    """Of the last lines of a traceback, or how the process ended."""


@dataclass
class Tally:
    """What became of the files."""

    read: int = 0
    refused: int = 0
    slowest_s: float = 0.0


class Cases:
    """The mutated files of a format: the same index gives the same file."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self._seed = seed
        self._files = seeds(name)
        # What a format imports is imported once, before any worker is forked.
        with suppress(BookError):
            open_bytes(self._files[0], suffix(name, self._files[0]))

    @property
    def hang_s(self) -> float:
        """Time of the processor that a file may take."""
        return HANG_S

    @property
    def memory_bytes(self) -> int:
        return MEMORY_BYTES

    def file(self, index: int) -> bytes:
        random = Random(f"{self.name}:{self._seed}:{index}")
        return mutated(random.choice(self._files), random, self._files)

    def suffix(self, index: int) -> str:
        """What a file's name would end in."""
        return suffix(self.name, self.file(index))

    def open(self, index: int) -> Book:
        """Raises BookError, and whatever is wrong."""
        data = self.file(index)
        return open_bytes(data, suffix(self.name, data))

    def check(self, index: int) -> None:
        """Open a file and hold what was read to what is promised.

        Raises GistreadError when it is refused.
        """
        assert_keeps_promises(self.open(index))


def run(
    cases: Cases, first: int, count: int, tally: Tally, *, contained: bool = False
) -> Iterator[Failure]:
    """Open `count` files from `first` on.

    `contained`: a PDF in a process of its own, as the program does it.
    """
    index = first
    while index < first + count:
        last = min(index + _CASES_OF_A_WORKER, first + count)
        index, failures = _worker(cases, index, last, tally, contained)
        for failure in failures:
            ended = failure.what.startswith(("process", _TOOK))
            if cases.name == "pdf" and not contained and ended:
                # PDFium may die, hang or take much memory in a process of its own, with limits.
                yield from run(cases, failure.index, 1, tally, contained=True)
            else:
                yield failure


def _worker(
    cases: Cases, first: int, last: int, tally: Tally, contained: bool
) -> tuple[int, list[Failure]]:
    """The index to go on with, and what failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            _open_all(cases, first, last, writing, contained)
        finally:
            os._exit(0)
    os.close(writing)
    watch = _Watch(cases, child, first, tally)
    watch.follow(reading)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if watch.index < last and not watch.took_too_much:
        watch.blame(watch.killed_for or _end_of(status))
    return watch.index, watch.failures


class _Watch:
    """Counts the outcomes of a worker, and kills it if it hangs or takes too much memory."""

    def __init__(self, cases: Cases, child: int, first: int, tally: Tally) -> None:
        self.index = first
        """Of the file that the worker is at."""
        self.failures: list[Failure] = []
        self.killed_for = ""
        self._cases = cases
        self._child = child
        self._tally = tally
        self._began = time.monotonic()
        self._worked_s = 0.0

    @property
    def took_too_much(self) -> bool:
        return self.killed_for.startswith(_TOOK)

    def follow(self, pipe: int) -> None:
        """Read outcomes from the pipe until the worker ends or is killed."""
        rest = b""
        while not self.killed_for:
            ready, _, _ = select.select([pipe], [], [], self._cases.hang_s / 4)
            if not ready:
                self._kill_if_hung()
                continue
            block = os.read(pipe, 65536)
            if not block:
                return
            *outcomes, rest = (rest + block).split(b"\x1e")
            for outcome in outcomes:
                self._count(outcome.decode())
                if self.killed_for:
                    break

    def blame(self, what: str) -> None:
        """Count a failure of the file that the worker is at."""
        self.failures.append(Failure(self.index, what))
        self.index += 1

    def _count(self, outcome: str) -> None:
        now = time.monotonic()
        self._tally.slowest_s = max(self._tally.slowest_s, now - self._began)
        self._began = now
        self._worked_s = _worked_s(self._child)
        match outcome:
            case "read":
                self._tally.read += 1
                self.index += 1
            case "refused":
                self._tally.refused += 1
                self.index += 1
            case _:
                self.blame(outcome)
        # The next file of this process would be blamed for it
        if outcome.startswith(_TOOK):
            self._kill(outcome)

    def _kill_if_hung(self) -> None:
        """A busy machine is no hang, and a contained PDF waits for a process with its own limit."""
        waited_s = time.monotonic() - self._began
        works_long = _worked_s(self._child) - self._worked_s > self._cases.hang_s
        if works_long or waited_s > self._cases.hang_s * _PATIENCE:
            self._kill(f"process hung for {waited_s:.1f} s")

    def _kill(self, reason: str) -> None:
        self.killed_for = reason
        os.kill(self._child, signal.SIGKILL)


def _end_of(status: int) -> str:
    """How a process with this status of `waitpid` ended."""
    if os.WIFSIGNALED(status):
        return f"process ended by signal {os.WTERMSIG(status)}"
    return "process ended early"


def _worked_s(process: int) -> float:
    """Processor time that a process has taken."""
    try:
        times = psutil.Process(process).cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system


def _open_all(cases: Cases, first: int, last: int, pipe: int, contained: bool) -> None:
    before = _peak_bytes()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    # What is imported already takes much of the address space: numpy alone, and torch more.
    limit_bytes = psutil.Process().memory_info().vms + 3 * MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, hard))
    if not contained:
        pdf_format.read_document = _read_here  # type: ignore[assignment,attr-defined]
    for index in range(first, last):
        os.write(
            pipe, _outcome(cases, index, before).encode(errors="replace") + b"\x1e"
        )


def _outcome(cases: Cases, index: int, before: int) -> str:
    try:
        cases.check(index)
        outcome = "read"
    except GistreadError as error:
        lines = str(error).splitlines()
        categories = {
            unicodedata.category(character) for line in lines for character in line
        }
        harmless = categories.isdisjoint(("Cc", "Cf", "Cs"))
        if len(lines) <= 2 and harmless:
            outcome = "refused"
        else:
            outcome = f"its message is not fit to be shown: {lines!r}"
    except BaseException:
        outcome = traceback.format_exc(limit=-4)
    used = _peak_bytes() - before
    return f"{_TOOK} {used >> 20} MB" if used > cases.memory_bytes else outcome


def _peak_bytes() -> int:
    """The most memory of this process, or of one that it started."""
    return 1024 * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def _read_here(stream: object, cancelled: object) -> PdfDocument:
    """A PDF in this process, forty times as fast."""
    document = PdfDocument()
    fonts: list[Font] = []
    for record in pdf_worker.read(stream, 0):  # type: ignore[arg-type]
        add_record(document, fonts, record)
    return document
