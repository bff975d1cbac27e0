"""Measures the user's reading speed by language: the median of recent samples."""

from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path

from gistread.errors import StorageError
from gistread.journal import Journal, Record, check_version, read_records

DEFAULT_WPM = 230.0  # Silent reading of English prose (Brysbaert 2019: 238 to 260)
SLOWEST, FASTEST = 60.0, 800.0  # Words per minute. Slower is a pause, faster is skimming.
_LAST = 40  # Number of recent samples that count
_ENOUGH_WORDS = 1500  # Minimum for an estimate
_VERSION = 1
_COMPACT_AT = 400
_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class SpeedSample:
    words: float
    seconds: float

    @property
    def words_per_minute(self) -> float:
        return 60 * self.words / self.seconds if self.seconds > 0 else float("inf")

    @property
    def is_credible(self) -> bool:
        return SLOWEST <= self.words_per_minute <= FASTEST


def estimate_speed(samples: list[SpeedSample]) -> float:
    """Words per minute: the median of recent samples, weighted by words; `DEFAULT_WPM` if there are too few."""
    last = sorted((one for one in samples[-_LAST:] if one.is_credible), key=lambda one: one.words_per_minute)
    total = sum(one.words for one in last)
    if total < _ENOUGH_WORDS:
        return DEFAULT_WPM
    passed = accumulate(one.words for one in last)
    return next(one.words_per_minute for one, words in zip(last, passed, strict=True) if 2 * words >= total)


class ReadingSpeedFile:
    """Samples of one user, in a file that may not exist yet."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def samples(self, language: str) -> list[SpeedSample]:
        """In chronological order. Raises StorageError."""
        records, _ = read_records(self._file)
        return [
            SpeedSample(float(record["words"]), float(record["seconds"]))
            for record in _known(records, self._file)
            if record["language"] == _primary(language)
        ]

    def words_per_minute(self, language: str) -> float:
        """The user's speed; `DEFAULT_WPM` if the file cannot be read."""
        try:
            return estimate_speed(self.samples(language))
        except StorageError:
            return DEFAULT_WPM

    def add(self, language: str, samples: list[SpeedSample]) -> None:
        """Raises StorageError."""
        header = {"kind": "pace", "version": _VERSION, "language": _primary(language)}
        new = [header | asdict(one) for one in samples]
        with Journal(self._file, wait_s=_WAIT_S) as journal:
            known = _known(journal.records, self._file)
            if len(known) + len(new) > _COMPACT_AT:
                journal.rewrite([*_last_of_each(known), *new])
            else:
                journal.append(*new)


def _known(records: list[Record], file: Path) -> list[Record]:
    """Raises StorageError if a later version wrote the file."""
    check_version(records, "pace", _VERSION, file, "measure your reading speed")
    fields = {"language", "words", "seconds"}
    return [record for record in records if record.get("kind") == "pace" and fields <= record.keys()]


def _last_of_each(records: list[Record]) -> list[Record]:
    by_language: dict[str, list[Record]] = {}
    for record in records:
        by_language.setdefault(record["language"], []).append(record)
    return [record for those in by_language.values() for record in those[-_LAST:]]


def _primary(language: str) -> str:
    """`en` of `en-GB`."""
    return language.partition("-")[0].lower()
