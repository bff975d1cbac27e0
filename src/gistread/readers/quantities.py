"""Finds the passages that can answer a question for a number: an age, a time, a sum, a count.

A passage without a number of that kind does not tell how old somebody is, however near it is to the
words of the question. English, as the other phrases of readers.
"""

from dataclasses import dataclass

from gistread.readers.phrases import pattern


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is asked for, by its name in `phrases.toml`."""

    name: str

    def is_asked_in(self, question: str) -> bool:
        return bool(pattern(f"asks_for_quantity_{self.name}").search(question))

    def is_told_in(self, passage: str) -> bool:
        return bool(pattern(f"tells_quantity_{self.name}").search(passage))


# The first one that a question asks for counts: "how many years" is a time.
_QUANTITIES = tuple(map(Quantity, ("age", "time_span", "sum", "count")))


def quantity_asked_for(question: str) -> Quantity | None:
    """The quantity that a question asks for, if any.

    >>> quantity_asked_for("How long was he in prison?").is_told_in("After eighteen years, …")
    True
    >>> quantity_asked_for("Who was in prison?") is None
    True
    """
    return next((quantity for quantity in _QUANTITIES if quantity.is_asked_in(question)), None)
