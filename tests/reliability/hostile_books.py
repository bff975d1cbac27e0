"""Books made to hurt: what became of them, within 10 s of processor time and 500 MB each."""

from collections.abc import Iterator

from tests.fuzzing.hostile import HostileCases
from tests.fuzzing.run import Tally, run
from tests.fuzzing.seeds import formats


def rows(files: int) -> Iterator[tuple[str, ...]]:
    """For each format: files, opened, refused in words, and over a limit, crashed or raised."""
    for name in formats():
        tally = Tally()
        failed = len(list(run(HostileCases(name, 1), 0, files, tally)))
        yield name, str(files), str(tally.read), str(tally.refused), str(failed)
