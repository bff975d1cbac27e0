"""Which short answers say the same: what members of a team, or several paths, are found to agree on.

Compared without case, articles, punctuation and diacritics, and by their words: "the Wall Street Journal" is "The Wall
Street Journal, New York", but Ferrand is not Martha. Knows no model.
"""

import re
from collections.abc import Sequence

from gistread.search.tokens import ARTICLES, folded

_WORD = re.compile(r"\w+")


def words_of(answer: str) -> frozenset[str]:
    """What of an answer counts."""
    words = [folded(word) for word in _WORD.findall(answer.casefold())]
    return frozenset(word for word in words if word not in ARTICLES) or frozenset(words)


def agree(one: str, other: str) -> bool:
    """Whether two answers say the same: all words of the shorter one are among the other's."""
    first, second = words_of(one), words_of(other)
    if not first or not second:
        return not first and not second
    return first <= second or second <= first


def clusters(answers: Sequence[str]) -> list[list[int]]:
    """Positions of answers that agree, the largest group first, of equals the one that was there first."""
    groups: list[list[int]] = []
    for position, answer in enumerate(answers):
        home = next((group for group in groups if all(agree(answer, answers[at]) for at in group)), None)
        if home is None:
            groups.append([position])
        else:
            home.append(position)
    return sorted(groups, key=lambda group: (-len(group), group[0]))
