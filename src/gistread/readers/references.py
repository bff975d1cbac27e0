"""The numbers by which an answer refers to its sources."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gistread.memory.passages import Passage
from gistread.readers.evidence import statement_spans
from gistread.readers.phrases import pattern

_LONGEST_RANGE = 4  # Numbers after the first of "[2-6]"
_STATEMENT_CHARACTERS = 600  # A statement is looked for in so many before its reference


@dataclass(slots=True)
class References:
    """Renumbers the references of an answer as it is written: the first source becomes [1].

    Two statements that cite one passage get two numbers if different sentences tell them. Numbers
    that the prompt lacks are removed.

    >>> references = References({4: (0, 90), 7: (100, 180)})
    >>> references.add("He took it [4]. She knew [7, 9].")
    'He took it [1]. She knew [2].'
    >>> references.cited
    ((0, 90), (100, 180))
    """

    # The places of the prompt by their numbers; empty: the answer stays as it is
    _numbered: Mapping[int, Passage]
    # Finds the sentence of a place that tells a statement; by default the whole place
    _telling: Callable[[str, Passage], Passage] = lambda _, place: place
    # The place of each sentence that is cited, in the order of the answer
    _sources: dict[Passage, Passage] = field(default_factory=dict)
    _pending: str = ""  # The last characters, in which a reference may have begun
    _before: str = ""  # The end of the answer before the pending ones

    @property
    def cited(self) -> tuple[Passage, ...]:
        """The place of each reference, [1] first."""
        return tuple(self._sources.values())

    def add(self, piece: str) -> str:
        """The text that became final with this piece."""
        if not self._numbered:
            return piece
        text = self._pending + piece
        # A reference that is not whole yet waits for the next pieces.
        begun = pattern("reference_begun").search(text)
        final_end = begun.start() if begun else len(text)
        final, self._pending = text[:final_end], text[final_end:]
        renumbered = pattern("reference").sub(self._renumbered, final)
        self._before = (self._before + final)[-_STATEMENT_CHARACTERS:]
        return renumbered

    def rest(self) -> str:
        """The pending end of the answer, when no further piece comes."""
        pending, self._pending = self._pending, ""
        return pending

    def _renumbered(self, reference: re.Match[str]) -> str:
        """The reference with the numbers of the answer: "[1][2]" for "[4-5]"."""
        before = self._before + reference.string[: reference.start()]
        statement = _last_statement(before)
        marks = ""
        for number in _numbers_in(reference[1]):
            if number in self._numbered:
                marks += f"[{self._number_of(statement, number)}]"
        follows_space = reference[0][0].isspace()
        return f" {marks}" if marks and follows_space else marks

    def _number_of(self, statement: str, number: int) -> int:
        """The number of the sentence that tells the statement, in the order of the answer."""
        place = self._numbered[number]
        sentence = self._telling(statement, place)
        self._sources.setdefault(sentence, place)
        return list(self._sources).index(sentence) + 1


def _numbers_in(reference: str) -> list[int]:
    """The numbers of a reference, each once: 3, 7, 8 and 9 for "3, 7-9"."""
    numbers: dict[int, None] = {}
    # A number, and the last of a range
    for first, last in re.findall(r"(\d+)(?:\s*[-–]\s*(\d+))?", reference):
        range_start = int(first)
        range_end = int(last) if last else range_start
        range_end = min(range_end, range_start + _LONGEST_RANGE)
        numbers |= dict.fromkeys(range(range_start, range_end + 1))
    return list(numbers)


def _last_statement(text: str) -> str:
    """The last statement of a text, without references."""
    plain = pattern("reference").sub("", text)
    spans = statement_spans(plain)
    if not spans:
        return plain
    start, end = spans[-1]
    return plain[start:end]
