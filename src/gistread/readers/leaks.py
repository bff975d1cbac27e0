"""Finds words of a prompt's own instructions in an answer, as weak models repeat them."""

from collections.abc import Iterator
from functools import cache

from gistread import prompts
from gistread.book.sentences import sentence_spans
from gistread.memory.passages import Passage, overlaps
from gistread.word_patterns import WORD, folded_words, runs_of

_RUN = 8  # An answer has this many words in a row only if it repeats an instruction
# How the names of prompts with instructions begin
_INSTRUCTIONS = ("opening_", "reads_on", "task_", "way_out")


def without_leaks(answer: str, wording: str = "") -> str:
    """The answer without the sentences that repeat eight words of an instruction.

    >>> without_leaks("If this does not tell what is asked, say so. It was Dunstan.")
    'It was Dunstan.'
    """
    leaks = list(_leaks(answer, wording))
    if not leaks:
        return answer
    clean = [
        answer[start:end].strip()
        for start, end in sentence_spans(answer)
        if not overlaps(leaks, (start, end))
    ]
    return " ".join(filter(None, clean))


def _leaks(answer: str, wording: str) -> Iterator[Passage]:
    """The places of an answer that repeat eight words of an instruction."""
    words = list(WORD.finditer(answer))
    folded = [word[0].casefold() for word in words]
    for index, run in enumerate(runs_of(folded, _RUN)):
        if run in _runs_of_instructions(wording):
            last = words[index + _RUN - 1]
            yield words[index].start(), last.end()


@cache
def _runs_of_instructions(wording: str) -> frozenset[tuple[str, ...]]:
    """All runs of eight words in the instructions of a wording."""
    runs: set[tuple[str, ...]] = set()
    for name in prompts.names(wording):
        if name.startswith(_INSTRUCTIONS):
            words = folded_words(prompts.load(name, wording).text)
            runs.update(runs_of(words, _RUN))
    return frozenset(runs)
