"""Why a part of the book is wanted for a question: the words that both share."""

from collections import Counter
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
# A passage that is in several sections asks for those of which it covers so many characters.
_LEAST_PART = 1000
# The ranking counts words in so many characters before and after a part.
_AROUND = 1200
# Titles that tell nothing even without a name, unlike "captain"
_FORMS_OF_ADDRESS = frozenset(
    "mr mrs ms miss mister mistress sir madam mme mlle dr prof capt col lieut rev".split()
)
# Verbs that are on every page: a reason only if nothing else is shared
_LIGHT_VERBS = frozenset(
    "come came get got give gave go goes going gone went let make made put take took".split()
)


class Reasons:
    """Finds the words of a question in parts of a book, as they are written there.

    >>> Reasons("Who saw the white whales?", "A white whale rose.").of([(0, 19)])
    'because it has “white”, “whale”'
    """

    def __init__(self, question: str, text: str, language: str = "") -> None:
        """`question`: as the model is asked it. `language`: BCP 47; empty means English."""
        self._text = text
        self._terms = Terms(language)
        content = self._content(without_options(question), language)
        light = {word for word in content if word in _LIGHT_VERBS}
        # Stems of the question's words, of its light verbs, and of words related to the former
        self._of_question = frozenset(map(self._terms.stem, content - light))
        self._light = frozenset(map(self._terms.stem, light))
        related = related_stems(language)
        groups = [related.get(stem, frozenset()) for stem in self._of_question]
        self._related = frozenset().union(*groups) - self._of_question - self._light

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
        starts_of_titles: set[int] = set()
        for place, following in pairwise(places):
            is_adjacent = question[place.end : following.start] in (" ", ". ")
            precedes_name = is_adjacent and question[following.start].isupper()
            if precedes_name and place.word in titles():
                starts_of_titles.add(place.start)
        return {place.word for place in places if place.start not in starts_of_titles}

    def of(self, places: Iterable[Passage], otherwise: str = "") -> str:
        """Why these places are wanted; `otherwise` if they share nothing with the question."""
        parts = list(places)
        for stems in (self._of_question, self._related):
            shared = self._words_in(parts, stems)
            if shared:
                return f"because it has {shared}"
        # A telling word nearby is a better reason than a verb that is on every page.
        around = [(max(0, start - _AROUND), end + _AROUND) for start, end in parts]
        near = self._words_in(around, self._of_question)
        if near:
            return f"because near it stands {near}"
        light = self._words_in(parts, self._light)
        if light:
            return f"because it has {light}"
        return otherwise

    def in_words(self, text: str) -> str:
        """Why a summary is wanted; empty if it shares nothing with the question."""
        for stems in (self._of_question, self._related):
            shared = self._shared(text, stems)
            if shared:
                return f"because its summary has {shared}"
        return ""

    def _words_in(self, places: Iterable[Passage], stems: frozenset[str]) -> str:
        """The words with these stems in these places, as `_shared`."""
        texts = [self._text[start:end] for start, end in places]
        return self._shared("\n".join(texts), stems)

    def _shared(self, text: str, stems: frozenset[str]) -> str:
        """The first word of each stem, the most frequent stems last, since they tell the least.

        Empty if all are numbers, which tell nothing without a word.
        """
        if not stems:
            return ""
        words: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for start, end, word in self._terms.places(text):
            stem = self._terms.stem(word)
            if stem in stems and word not in _FORMS_OF_ADDRESS:
                words.setdefault(stem, text[start:end])
                counts[stem] += 1
        if all(word.isdecimal() for word in words.values()):
            return ""
        rare_first = sorted(words, key=lambda stem: counts[stem])
        return ", ".join(in_quotes(words[stem]) for stem in rare_first[:_MOST_WORDS])


def sections_wanted(
    places: Iterable[Passage], memory: GistMemory, reasons: Reasons, otherwise: str = ""
) -> list[WantedSection]:
    """The sections in which these places stand, in the order of the places.

    `otherwise`: the reason for those that share nothing with the question.
    """
    sections = Sections(memory)
    by_number: dict[int, list[Passage]] = {}
    for place in places:
        parts = list(_parts_of(place, sections))
        longest = max((end - start for _, (start, end) in parts), default=0)
        for number, (start, end) in parts:
            if end - start >= min(longest, _LEAST_PART):
                by_number.setdefault(number, []).append((start, end))
    wanted_sections: list[WantedSection] = []
    for number, wanted_parts in by_number.items():
        start, _ = min(wanted_parts)
        _, end = max(wanted_parts)
        reason = reasons.of(wanted_parts, otherwise)
        wanted_sections.append(WantedSection((number,), start, end, reason))
    return wanted_sections


def page_wanted(
    number: int, memory: GistMemory, reasons: Reasons, reason: str = ""
) -> WantedSection:
    """A page that the model wants. `reason`: its own reason, if it gave one."""
    page = memory.entry(number).page
    if not reason:
        reason = reasons.of([(page.start, page.end)])
    return WantedSection((number,), page.start, page.end, reason)


def main_section(place: Passage, sections: Sections) -> int:
    """Number of the section that has most of a place; 0 in a book without text."""
    main = 0
    longest = 0
    for number, (start, end) in _parts_of(place, sections):
        if end - start > longest:
            main = number
            longest = end - start
    return main


def _parts_of(place: Passage, sections: Sections) -> Iterable[tuple[int, Passage]]:
    """The part of a place in each section, with the number of the section."""
    start, end = place
    while start < end:
        section = sections.at(start)
        if section is None:
            return
        # What follows the last section counts as part of it.
        part_end = min(end, section.end) if section.end > start else end
        yield section.number, (start, part_end)
        start = part_end
