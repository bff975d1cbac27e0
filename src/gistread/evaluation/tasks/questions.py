"""What the questions of all benchmarks have in common: identifiers that are distinct, references without repetition."""

from collections import Counter
from collections.abc import Iterable


def distinct(ids: Iterable[str]) -> list[str]:
    """The same identifiers; one that came before gets a number, so that an outcome belongs to one question."""
    seen: Counter[str] = Counter()
    named = []
    for each in ids:
        seen[each] += 1
        named.append(each if seen[each] == 1 else f"{each} ({seen[each]})")
    return named


def references(answers: Iterable[str]) -> tuple[str, ...]:
    """Reference answers without white space around them, empty ones and repetitions left out."""
    stripped = (" ".join(answer.split()) for answer in answers)
    return tuple(dict.fromkeys(answer for answer in stripped if answer))
