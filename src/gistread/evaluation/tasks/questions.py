"""What all benchmarks have in common: identifiers that must be distinct, references without repetition."""

from collections import Counter
from collections.abc import Callable, Iterable


def naming() -> Callable[[str], str]:
    """A function that gives back each identifier; one that it was given before gets a number.

    An outcome belongs to one question of one document, and files repeat themselves.
    """
    seen: Counter[str] = Counter()

    def named(id_: str) -> str:
        seen[id_] += 1
        return id_ if seen[id_] == 1 else f"{id_} ({seen[id_]})"

    return named


def distinct(ids: Iterable[str]) -> list[str]:
    """All of them at once, as `naming` has it."""
    return list(map(naming(), ids))


def references(answers: Iterable[str]) -> tuple[str, ...]:
    """Reference answers without white space around them, empty ones and repetitions left out."""
    stripped = (" ".join(answer.split()) for answer in answers)
    return tuple(dict.fromkeys(answer for answer in stripped if answer))
