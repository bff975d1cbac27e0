"""Finds words of a prompt's own instructions in an answer, as weak models repeat them."""

from functools import cache

from gistread import prompts
from gistread.book.sentences import sentence_spans
from gistread.words import WORD, folded_words

_RUN = 8  # Words in a row that an answer has from its instruction and from nowhere else
_INSTRUCTIONS = (
    "opening_begun",
    "opening_books",
    "opening_part",
    "opening_parts",
    "opening_spread",
    "opening_whole",
    "reads_on",
    "task_answer",
    "task_brief",
    "task_cite",
    "task_fact",
    "task_language",
    "task_list",
    "task_meaning",
    "task_reason",
    "task_story",
    "way_out",
)


def repeats_instruction(text: str, wording: str = "") -> bool:
    """Whether a text repeats eight words of an instruction.

    >>> repeats_instruction("If this does not tell what is asked, say so.")
    True
    """
    words = folded_words(text)
    return any(run in _runs(wording) for run in _runs_of(words))


def without_leaks(answer: str, wording: str = "") -> str:
    """The answer without the sentences that repeat eight words of an instruction."""
    if not repeats_instruction(answer, wording):
        return answer
    words = list(WORD.finditer(answer.casefold()))
    runs = _runs_of([word[0] for word in words])
    leaks = [
        (words[at].start(), words[at + _RUN - 1].end())
        for at, run in enumerate(runs)
        if run in _runs(wording)
    ]
    kept = [
        answer[start:end].strip()
        for start, end in sentence_spans(answer)
        if not any(start < until and since < end for since, until in leaks)
    ]
    return " ".join(filter(None, kept))


@cache
def _runs(wording: str) -> frozenset[tuple[str, ...]]:
    texts = (prompts.load(name, wording).text for name in _INSTRUCTIONS)
    return frozenset(run for text in texts for run in _runs_of(folded_words(text)))


def _runs_of(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]
