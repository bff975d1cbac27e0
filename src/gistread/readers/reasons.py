"""Why a part of the book is wanted for a question: the words that it shares with it."""

from collections.abc import Iterable
from itertools import pairwise

from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.memory.sections import Sections
from gistread.people.mentions import titles
from gistread.readers.events import WantedSection
from gistread.readers.thread import without_options
from gistread.search.related import related_stems
from gistread.search.tokens import Terms, code_of, language_of, stop_words
from gistread.units import in_quotes

_MOST_WORDS = 4
# Characters of a section that a passage must cover to ask for that section, too
_LEAST_PART = 1000
# Characters before and after a part in which the ranking still counts words
_AROUND = 1200
# Titles that tell nothing even without a name, unlike "captain"
_FORMS_OF_ADDRESS = frozenset(
    "mr mrs ms miss mister mistress sir madam mme mlle dr prof capt col lieut rev".split()
)
# Verbs that stand on every page: a reason only where nothing else is shared
_LIGHT_VERBS = frozenset(
    "come came get got give gave go goes going gone went let make made put take took".split()
)


class Reasons:
    """The words of a question that parts of a book share, as they are written there.

    >>> Reasons("Who saw the white whales?", "A white whale rose.").of([(0, 19)])
    'because it has “white”, “whale”'
    """

    def __init__(self, question: str, text: str, language: str = "") -> None:
        """`question`: as the model is asked it. `language`: BCP 47; empty means English."""
        self._text = text
        self._terms = Terms(language)
        content = self._content(without_options(question), language)
        light = {word for word in content if word in _LIGHT_VERBS}
        self._of_question = frozenset(map(self._terms.stem, content - light))
        self._light = frozenset(map(self._terms.stem, light))
        related = related_stems(language)
        others = (related.get(stem, frozenset()) for stem in self._of_question)
        self._related = frozenset().union(*others) - self._of_question - self._light

    @classmethod
    def over(cls, question: str, memory: GistMemory) -> "Reasons":
        return cls(question, memory.book.text, memory.book.language)

    def _content(self, question: str, language: str) -> set[str]:
        """The words of a question without stop words and titles of names, such as "Captain Ahab".

        Stop words are those of the book's language, and those of the question's.
        """
        asked_in = language_of(question, code_of(language))
        left_out = self._terms.stop_words | stop_words().get(asked_in, frozenset())
        left_out |= _FORMS_OF_ADDRESS
        places = [
            place
            for place in self._terms.places(question)
            if place.word not in left_out
        ]
        before_names = {
            place.start
            for place, after in pairwise(places)
            if question[place.end : after.start] in (" ", ". ")
            and question[after.start].isupper()
        }
        return {
            place.word
            for place in places
            if place.word not in titles() or place.start not in before_names
        }

    def of(self, places: Iterable[Passage], otherwise: str = "") -> str:
        """Why these places are wanted; `otherwise` if they share nothing with the question."""
        parts = list(places)
        shared = self._words_in(parts, self._of_question) or self._words_in(
            parts, self._related
        )
        if shared:
            return f"because it has {shared}"
        around = [(max(0, start - _AROUND), end + _AROUND) for start, end in parts]
        near = self._words_in(around, self._of_question)
        if near:
            return f"because near it stands {near}"
        weak = self._words_in(parts, self._light)
        if weak:
            return f"because it has {weak}"
        return otherwise

    def in_words(self, text: str) -> str:
        """Why a summary is wanted; empty if it shares nothing with the question."""
        shared = self._shared(text, self._of_question) or self._shared(
            text, self._related
        )
        if not shared:
            return ""
        return f"because its summary has {shared}"

    def _words_in(self, places: Iterable[Passage], stems: frozenset[str]) -> str:
        return self._shared(
            "\n".join(self._text[start:end] for start, end in places), stems
        )

    def _shared(self, text: str, stems: frozenset[str]) -> str:
        """The first word of each stem, the most frequent stems last: they tell the least.

        Empty if all are numbers, which tell nothing without a word.
        """
        if not stems:
            return ""
        words: dict[str, str] = {}
        counts: dict[str, int] = {}
        for start, end, word in self._terms.places(text):
            stem = self._terms.stem(word)
            if stem in stems and word not in _FORMS_OF_ADDRESS:
                words.setdefault(stem, text[start:end])
                counts[stem] = counts.get(stem, 0) + 1
        if all(word.isdecimal() for word in words.values()):
            return ""
        rare_first = sorted(words, key=lambda stem: counts[stem])
        return ", ".join(in_quotes(words[stem]) for stem in rare_first[:_MOST_WORDS])


def sections_wanted(
    places: Iterable[Passage], memory: GistMemory, reasons: Reasons, otherwise: str = ""
) -> list[WantedSection]:
    """The sections in which these places stand, in the order of the places."""
    sections = Sections(memory)
    by_number: dict[int, list[Passage]] = {}
    for place in places:
        parts = list(_parts_of(place, sections))
        longest = max((end - start for _, (start, end) in parts), default=0)
        for number, part in parts:
            if part[1] - part[0] < min(longest, _LEAST_PART):
                continue
            by_number.setdefault(number, []).append(part)
    return [
        WantedSection(
            (number,), min(parts)[0], max(parts)[1], reasons.of(parts, otherwise)
        )
        for number, parts in by_number.items()
    ]


def page_wanted(
    number: int, memory: GistMemory, reasons: Reasons, given: str = ""
) -> WantedSection:
    """A page that the model wants; `given`: its own reason, if it gave one."""
    page = memory.entry(number).page
    place = page.start, page.end
    return WantedSection((number,), *place, given or reasons.of([place]))


def main_section(place: Passage, sections: Sections) -> int:
    """Number of the section that has most of a place; 0 in a book without text."""
    parts = sorted(_parts_of(place, sections), key=lambda part: part[1][0] - part[1][1])
    if not parts:
        return 0
    return parts[0][0]


def _parts_of(place: Passage, sections: Sections) -> Iterable[tuple[int, Passage]]:
    """A place, cut where sections end."""
    start, end = place
    while start < end:
        section = sections.at(start)
        if section is None:
            return
        until = min(end, section.end) if section.end > start else end
        yield section.number, (start, until)
        start = until
