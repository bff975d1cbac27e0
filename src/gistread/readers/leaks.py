"""Finds words of a prompt's own instructions in an answer, as weak models repeat them."""

from functools import cache

from gistread import prompts
from gistread.book.sentences import sentence_spans
from gistread.word_patterns import WORD, folded_words

_RUN = 8  # Words in a row that an answer has from its instruction and from nowhere else
_INSTRUCTIONS = ("opening_", "reads_on", "task_", "way_out")  # Beginnings of prompts' names


def without_leaks(answer: str, wording: str = "") -> str:
    """The answer without the sentences that repeat eight words of an instruction.

    >>> without_leaks("If this does not tell what is asked, say so. It was Dunstan.")
    'It was Dunstan.'
    """
    words = list(WORD.finditer(answer))
    leaks = [
        (words[at].start(), words[at + _RUN - 1].end())
        for at, run in enumerate(_runs_of([word[0].casefold() for word in words]))
        if run in _runs(wording)
    ]
    if not leaks:
        return answer
    kept = [
        answer[start:end].strip()
        for start, end in sentence_spans(answer)
        if not any(start < until and since < end for since, until in leaks)
    ]
    return " ".join(filter(None, kept))


@cache
def _runs(wording: str) -> frozenset[tuple[str, ...]]:
    names = (name for name in prompts.names(wording) if name.startswith(_INSTRUCTIONS))
    texts = (prompts.load(name, wording).text for name in names)
    return frozenset(run for text in texts for run in _runs_of(folded_words(text)))


def _runs_of(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]
