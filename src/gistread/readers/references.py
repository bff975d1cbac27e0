"""The numbers by which an answer refers to its sources."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gistread.memory.passages import Passage
from gistread.readers.evidence import statement_spans
from gistread.readers.phrases import pattern

_LONGEST_RANGE = 4  # Numbers after the first of "[2-6]"
_STATEMENT_CHARACTERS = 600  # Before a reference, in which its statement is looked for


@dataclass(slots=True)
class References:
    """Renumbers the references of an answer as it is written: the first source becomes [1].

    Two statements that cite one passage get two numbers if different sentences tell them. False
    numbers go.

    >>> references = References({4: (0, 90), 7: (100, 180)})
    >>> references.add("He took it [4]. She knew [7, 9].")
    'He took it [1]. She knew [2].'
    >>> references.cited
    ((0, 90), (100, 180))
    """

    # The places that the prompt numbers; empty: the answer stays as it is
    _numbered: Mapping[int, Passage]
    # Finds the sentence of a place that tells a statement; by default the place counts as one
    _telling: Callable[[str, Passage], Passage] = lambda _, place: place
    # Sentences, with their places
    _sources: dict[Passage, Passage] = field(default_factory=dict)
    _held: str = ""
    _before: str = ""  # The end of the answer before what is held

    @property
    def cited(self) -> tuple[Passage, ...]:
        """The place of each reference, [1] first."""
        return tuple(self._sources.values())

    def add(self, piece: str) -> str:
        """The text that became final with this piece."""
        if not self._numbered:
            return piece
        self._held += piece
        begun = pattern("reference_begun").search(self._held)
        until = begun.start() if begun else len(self._held)
        final, self._held = self._held[:until], self._held[until:]
        renumbered = pattern("reference").sub(self._renumbered, final)
        self._before = (self._before + final)[-_STATEMENT_CHARACTERS:]
        return renumbered

    def rest(self) -> str:
        held, self._held = self._held, ""
        return held

    def _renumbered(self, reference: re.Match[str]) -> str:
        numbers: list[int] = []
        for first, last in re.findall(r"(\d+)(?:\s*[-–]\s*(\d+))?", reference[1]):
            until = min(int(last or first), int(first) + _LONGEST_RANGE)
            numbers += range(int(first), until + 1)
        known = [
            number for number in dict.fromkeys(numbers) if number in self._numbered
        ]
        statement = _last_statement(
            self._before + reference.string[: reference.start()]
        )
        marks = "".join(f"[{self._number_of(statement, number)}]" for number in known)
        if marks and reference[0][0].isspace():
            return f" {marks}"
        return marks

    def _number_of(self, statement: str, number: int) -> int:
        """The number of the sentence that tells the statement, in the order of the answer."""
        place = self._numbered[number]
        sentence = self._telling(statement, place)
        self._sources.setdefault(sentence, place)
        return list(self._sources).index(sentence) + 1


def _last_statement(text: str) -> str:
    plain = pattern("reference").sub("", text)
    spans = statement_spans(plain)
    if not spans:
        return plain
    return plain[slice(*spans[-1])]
