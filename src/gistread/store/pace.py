"""How fast the user reads each language, and how fast each model works, by measurement."""

from collections.abc import Iterable
from dataclasses import dataclass

from gistread.errors import StorageError
from gistread.store.database import Database

DEFAULT_WPM = 230.0  # Silent reading of English prose (Brysbaert 2019: 238 to 260)
# Words per minute. Slower is a pause, faster is skimming.
SLOWEST, FASTEST = 60.0, 800.0
_LAST = 40  # Number of recent samples that count
_ENOUGH_WORDS = 1500  # Minimum for an estimate
_DECAY = 0.8  # About the last five additions count


@dataclass(frozen=True, slots=True)
class Pace:
    """Words of a book that the user read or a model worked through, and the seconds it took."""

    words: float = 0.0
    seconds: float = 0.0

    @property
    def words_per_s(self) -> float | None:
        """None before anything has been measured."""
        if self.seconds <= 0 or self.words <= 0:
            return None
        return self.words / self.seconds

    @property
    def words_per_minute(self) -> float:
        """0 before anything has been measured."""
        return 60 * (self.words_per_s or 0.0)

    @property
    def is_credible(self) -> bool:
        """Whether a user may read at this speed."""
        return SLOWEST <= self.words_per_minute <= FASTEST


def estimate_speed(samples: list[Pace]) -> float:
    """Words per minute: the median of recent samples, weighted by words.

    `DEFAULT_WPM` if there are too few.
    """
    credible = [sample for sample in samples[-_LAST:] if sample.is_credible]
    total_words = sum(sample.words for sample in credible)
    if total_words < _ENOUGH_WORDS:
        return DEFAULT_WPM
    words = 0.0
    for sample in sorted(credible, key=lambda sample: sample.words_per_minute):
        words += sample.words
        if words >= total_words / 2:
            return sample.words_per_minute
    return DEFAULT_WPM  # Never reached: all words together are more than half.


class ReadingSpeed(Database):
    """Samples of the user's reading, by language."""

    def samples(self, language: str) -> list[Pace]:
        """In chronological order. Raises StorageError."""
        query = (
            "SELECT words, seconds FROM reading_speed WHERE language = ? ORDER BY id"
        )
        return [Pace(*row) for row in self.rows(query, _primary(language))]

    def words_per_minute(self, language: str) -> float:
        """The user's speed; `DEFAULT_WPM` if it cannot be read."""
        try:
            return estimate_speed(self.samples(language))
        except StorageError:
            return DEFAULT_WPM

    def add(self, language: str, samples: Iterable[Pace]) -> None:
        """Add samples; all but the last few of the language are dropped.

        Raises StorageError.
        """
        primary = _primary(language)
        rows = [(primary, sample.words, sample.seconds) for sample in samples]
        insert = "INSERT INTO reading_speed (language, words, seconds) VALUES (?, ?, ?)"
        last = (
            "SELECT id FROM reading_speed WHERE language = ? ORDER BY id DESC LIMIT ?"
        )
        drop = f"DELETE FROM reading_speed WHERE language = ? AND id NOT IN ({last})"
        with self.writing() as connection:
            connection.executemany(insert, rows)
            connection.execute(drop, (primary, primary, _LAST))


UNKNOWN_PACE = Pace()
# Weight in words of the pace learned in other books: that of a page
_LEARNED_WORDS = 400


class ModelPaces(Database):
    """How fast each model does each kind of work on this machine.

    `work` is a name, such as a reading mode.
    """

    def pace(self, model: str, work: str) -> Pace | None:
        """As learned in other books, with the weight of one page; None before that.

        Raises StorageError.
        """
        query = "SELECT words, seconds FROM model_pace WHERE model = ? AND work = ?"
        for words, seconds in self.rows(query, model, work):
            return Pace(_LEARNED_WORDS, seconds * _LEARNED_WORDS / words)
        return None

    def add(self, model: str, work: str, words: float, seconds: float) -> None:
        """Add measured work; each addition reduces the earlier ones by `_DECAY`.

        Raises StorageError.
        """
        query = (
            "INSERT INTO model_pace (model, work, words, seconds) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (model, work) DO UPDATE SET"
            f" words = {_DECAY} * words + excluded.words,"
            f" seconds = {_DECAY} * seconds + excluded.seconds"
        )
        with self.writing() as connection:
            connection.execute(query, (model, work, words, seconds))


def _primary(language: str) -> str:
    """`en` of `en-GB`."""
    return language.partition("-")[0].lower()
