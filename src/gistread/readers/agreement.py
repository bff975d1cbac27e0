"""Groups short answers that agree, comparing words without case, articles, punctuation and diacritics."""

from collections.abc import Sequence

from gistread.search.tokens import ARTICLES, folded
from gistread.words import PART


def words_of(answer: str) -> frozenset[str]:
    words = [folded(word) for word in PART.findall(answer.casefold())]
    return frozenset(word for word in words if word not in ARTICLES) or frozenset(words)


def agree(one: str, other: str) -> bool:
    """Whether all words of one answer are among the other's."""
    first, second = words_of(one), words_of(other)
    if not first or not second:
        return not first and not second
    return first <= second or second <= first


def group_answers(answers: Sequence[str]) -> list[list[int]]:
    """Positions of answers that agree, largest group first, then in order of appearance."""
    groups: list[list[int]] = []
    for position, answer in enumerate(answers):
        home = next((group for group in groups if all(agree(answer, answers[at]) for at in group)), None)
        if home is None:
            groups.append([position])
        else:
            home.append(position)
    return sorted(groups, key=lambda group: (-len(group), group[0]))
