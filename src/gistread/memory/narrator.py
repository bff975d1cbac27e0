"""Finds the narrator of a first-person story, whom a page alone often does not name.

The narrator is whom speakers address and the narration itself hardly names ("My dear Watson,"), or
who says "my name is …". The rules for names are English.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

from gistread.book.model import Book, ParagraphKind
from gistread.memory.passages import Span

# "I" among the narration's words: in the first person it is 1% and more
_LEAST_SHARE = 0.008
_LEAST_CALLS = 4  # Times that speakers address the narrator
_MORE_CALLS = 2  # Times as often as anyone else whom the narration hardly names
# Mentions outside of speech for each time that the narrator is addressed
_NAMED_SHARE = 0.34
_CALLED_SHARE = 0.3  # Least share of a name's mentions in speech that address somebody
_HEARD_CHARACTERS = 400  # On both sides of an address, in which the narrator says "I"
# Of the times that the narrator is addressed; in a tale within it, a third
_HEARD_SHARE = 0.5
_SPEECH = re.compile(
    r"“[^”]*”?|\"[^\"]*\"?|(?<!\w)‘(?:[^’]|’(?=\w))*’?|(?<!\w)'(?=\w)(?:[^']|'(?=\w))*'?"
)
_WORD = re.compile(r"[^\W\d_]+")
_I = re.compile(r"\bI\b")
_SMALL_WORD = re.compile(r"\b[a-z]+\b")
_CAPITALISED = re.compile(r"[A-Z][a-z]+")
_AFTER_A_WORD = re.compile(r"(?<=[a-z] )[A-Z][a-z]+|(?<=(?:Mr|Dr)\. )[A-Z][a-z]+")
_CALLS = re.compile(
    r"(?:, |[“‘\"'](?:(?:O|Oh|Ah|Well|Now),? )?)(?:[Mm]y )?(?:dear |good |old |poor )?"
    r"(?:Mr\. |Miss |Mrs\. |Dr\. )?([A-Z][a-z]+)(?=[,.!?;—]|$)"
)
_NAME = r"[A-Z][a-z]+(?: (?:[A-Z]\. )?[A-Z][a-z]+)?"
_PRESENTS = re.compile(
    rf"\b(?:[Mm]y name (?:is|was)|[Cc]all me|I am called|I was (?:called|christened)) ({_NAME})"
)


@dataclass(frozen=True)
class Narration:
    """Who tells a book, up to any offset of it."""

    words: Sequence[int]  # Offsets of words outside of speech
    first_person: Sequence[int]  # Offsets of "I" among them
    # Offsets of capitalised words among them, by word
    named: Mapping[str, Sequence[int]]
    chapters: Sequence[int]  # Where chapters begin that "I" tells
    called: Mapping[str, Sequence[int]]  # In these: who is addressed in speech
    presented: Sequence[tuple[int, str]]  # Names after "my name is" outside of speech

    def is_first_person(self, start: int, end: int) -> bool:
        """Whether "I" tells this part of the book."""
        words = _count(self.words, start, end)
        return _count(self.first_person, start, end) > _LEAST_SHARE * words

    def name(self, end: int) -> str:
        """The narrator's name, from the text before this offset; empty if unknown."""
        presented = {name for start, name in self.presented if start < end}
        if len(presented) == 1:
            return presented.pop()
        calls = Counter(
            {name: _count(starts, 0, end) for name, starts in self.called.items()}
        )
        candidates = [
            name
            for name, count in calls.most_common()
            if _count(self.named.get(name, ()), 0, end) <= _NAMED_SHARE * count
        ]
        if not candidates:
            return ""
        first, *others = candidates
        is_sure = calls[first] >= _LEAST_CALLS and self._is_called_again(first, end)
        # "Syb" is Sybylla
        rivals = [name for name in others if not first.startswith(name)]
        is_clear = all(calls[first] >= _MORE_CALLS * calls[name] for name in rivals)
        return first if is_sure and is_clear and self._is_heard(first, end) else ""

    def _is_heard(self, name: str, end: int) -> bool:
        """Whether "I" am there when they are addressed, unlike Tom in a tale of an uncle's."""
        calls = self.called[name][: bisect_left(self.called[name], end)]
        around = _HEARD_CHARACTERS
        heard = sum(
            _count(self.first_person, at - around, at + around) > 0 for at in calls
        )
        return heard >= _HEARD_SHARE * len(calls)

    def _is_called_again(self, name: str, end: int) -> bool:
        """Whether more than one chapter addresses them, of those before this offset."""
        begun = bisect_left(self.chapters, end)
        calls = self.called[name][: bisect_left(self.called[name], end)]
        return (
            begun < 2
            or len({bisect_right(self.chapters, start) for start in calls}) > 1
        )


# Several members of a team ask at once; the first computes it for all
_computing = Lock()


def narration_of(book: Book) -> Narration:
    """Who tells this book. Call it in a thread: it takes 0.25 s a megabyte.

    That of the last two books is kept.
    """
    identity = _BookIdentity(
        book.sha256, len(book.paragraphs), len(book.chapters), book
    )
    with _computing:
        return _narration(identity)


@dataclass(frozen=True)
class _BookIdentity:
    """The text of a book and how it is divided."""

    sha256: str
    paragraphs: int
    chapters: int
    book: Book = field(compare=False)


@lru_cache(maxsize=2)
def _narration(identity: _BookIdentity) -> Narration:
    book = identity.book
    speech, narrated = _speech_and_narration(book)
    words = _new_offsets()
    named: dict[str, array[int]] = defaultdict(_new_offsets)
    for word in _matches(_WORD, narrated, book):
        words.append(word.start())
        if word[0][0].isupper():
            named[word[0]].append(word.start())
    first_person = array("I", (match.start() for match in _matches(_I, narrated, book)))
    presented = [
        (match.end(), match[1]) for match in _matches(_PRESENTS, narrated, book)
    ]
    narration = Narration(words, first_person, named, (), {}, presented)
    chapters = [
        chapter
        for chapter in book.chapters
        if narration.is_first_person(chapter.start, chapter.end)
    ]
    spoken = [
        (start, end)
        for start, end in speech
        if any(chapter.start <= start < chapter.end for chapter in chapters)
    ]
    starts = [chapter.start for chapter in chapters]
    return Narration(
        words, first_person, named, starts, _called(spoken, book), presented
    )


def _new_offsets() -> "array[int]":
    """Offsets without an object for each: a long novel has half a million words."""
    return array("I")


def _called(spoken: Sequence[Span], book: Book) -> dict[str, list[int]]:
    """Offsets in speech where somebody is addressed, by name.

    "Sir" and "Mother" are no names: they are written small too. Nor is "Ah": it follows no word.
    """
    # Word by word: `findall` over a whole novel would hold up other threads.
    small = {word[0] for word in _SMALL_WORD.finditer(book.text)}
    mentions = Counter(match[0] for match in _matches(_CAPITALISED, spoken, book))
    after_a_word = {match[0] for match in _matches(_AFTER_A_WORD, spoken, book)}
    called: dict[str, list[int]] = defaultdict(list)
    for call in _matches(_CALLS, spoken, book):
        if call[1] in after_a_word and call[1].lower() not in small:
            called[call[1]].append(call.start(1))
    return {
        name: starts
        for name, starts in called.items()
        if len(starts) >= _CALLED_SHARE * mentions[name]
    }


def _matches(
    pattern: re.Pattern[str], places: Iterable[Span], book: Book
) -> Iterator[re.Match[str]]:
    for start, end in places:
        yield from pattern.finditer(book.text, start, end)


def _speech_and_narration(book: Book) -> tuple[list[Span], list[Span]]:
    """The parts of all prose that are direct speech, and the others."""
    speech: list[Span] = []
    narrated: list[Span] = []
    for paragraph in book.paragraphs:
        if paragraph.kind is ParagraphKind.HEADING:
            continue
        at = paragraph.start
        for match in _SPEECH.finditer(book.text, paragraph.start, paragraph.end):
            narrated.append((at, match.start()))
            speech.append((match.start(), match.end()))
            at = match.end()
        narrated.append((at, paragraph.end))
    return speech, narrated


def _count(starts: Sequence[int], start: int, end: int) -> int:
    return bisect_left(starts, end) - bisect_left(starts, start)
