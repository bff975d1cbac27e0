"""Finds the narrator of a first-person story, whom a page alone often does not name.

The narrator says "my name is …", or is addressed by speakers ("My dear Watson,") while the
narration itself hardly has the name. The rules for names are English.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import Lock

from gistread.book.model import Book, ParagraphKind
from gistread.memory.passages import Span

# Least share of "I" among the narration's words; in the first person it is 1% and more.
_LEAST_SHARE = 0.008
_LEAST_CALLS = 4  # Speakers address the narrator at least so often
# And so many times as often as anyone else whom the narration hardly names
_MORE_CALLS = 2
# Most mentions in the narration for each time that the narrator is addressed
_NAMED_SHARE = 0.34
_CALLED_SHARE = 0.3  # Least share of a name's mentions in speech that address somebody
_HEARD_CHARACTERS = 400  # The narrator says "I" in so many before or after an address
# In so many of the addresses; in a tale within the story it is a third.
_HEARD_SHARE = 0.5
# “…”, "…", ‘…’ or '…', also without the closing mark
_SPEECH = re.compile(
    r"“[^”]*”?|\"[^\"]*\"?|(?<!\w)‘(?:[^’]|’(?=\w))*’?|(?<!\w)'(?=\w)(?:[^']|'(?=\w))*'?"
)
_WORD = re.compile(r"[^\W\d_]+")
_I = re.compile(r"\bI\b")
_LOWER_CASE_WORD = re.compile(r"\b[a-z]+\b")
_CAPITALISED = re.compile(r"[A-Z][a-z]+")
_AFTER_A_WORD = re.compile(r"(?<=[a-z] )[A-Z][a-z]+|(?<=(?:Mr|Dr)\. )[A-Z][a-z]+")
# "My dear Watson,", "“Well, Watson?"
_CALLS = re.compile(
    r"(?:, |[“‘\"'](?:(?:O|Oh|Ah|Well|Now),? )?)(?:[Mm]y )?(?:dear |good |old |poor )?"
    r"(?:Mr\. |Miss |Mrs\. |Dr\. )?(?P<name>[A-Z][a-z]+)(?=[,.!?;—]|$)"
)
_NAME = r"[A-Z][a-z]+(?: (?:[A-Z]\. )?[A-Z][a-z]+)?"
# "My name is John H. Watson"
_PRESENTS = re.compile(
    r"\b(?:[Mm]y name (?:is|was)|[Cc]all me|I am called|I was (?:called|christened)) "
    rf"(?P<name>{_NAME})"
)


@dataclass(frozen=True)
class Narration:
    """Who tells a book, up to any offset of it."""

    words: Sequence[int]  # Offsets of words outside of speech
    first_person: Sequence[int]  # Offsets of "I" outside of speech
    # Offsets of capitalised words outside of speech, by word
    named: Mapping[str, Sequence[int]]
    chapters: Sequence[int]  # Starts of the chapters that "I" tells
    # Offsets where somebody is addressed in the speech of these chapters, by name
    called: Mapping[str, Sequence[int]]
    # Names after "my name is" outside of speech, with the offsets of their ends
    presented: Sequence[tuple[int, str]]

    def is_first_person(self, start: int, end: int) -> bool:
        """Whether "I" tells this part of the book."""
        words = _count(self.words, start, end)
        return _count(self.first_person, start, end) > _LEAST_SHARE * words

    def name(self, end: int) -> str:
        """The narrator's name, from the text before this offset; empty if unknown."""
        presented = {name for name_end, name in self.presented if name_end < end}
        if len(presented) == 1:
            return presented.pop()
        calls = Counter(
            {name: _count(starts, 0, end) for name, starts in self.called.items()}
        )
        # Those whom the narration hardly names
        candidates = [
            name
            for name, count in calls.most_common()
            if _count(self.named.get(name, ()), 0, end) <= _NAMED_SHARE * count
        ]
        if not candidates:
            return ""
        first, *others = candidates
        # "Syb" is no other than Sybylla.
        rivals = [name for name in others if not first.startswith(name)]
        most_calls_of_rival = max((calls[name] for name in rivals), default=0)
        if calls[first] < max(_LEAST_CALLS, _MORE_CALLS * most_calls_of_rival):
            return ""
        if self._is_called_again(first, end) and self._is_heard(first, end):
            return first
        return ""

    def _is_heard(self, name: str, end: int) -> bool:
        """Whether the narrator says "I" near most addresses: Tom in an uncle's tale does not."""
        calls = self._calls_before(end, name)
        heard = 0
        for start in calls:
            first, last = start - _HEARD_CHARACTERS, start + _HEARD_CHARACTERS
            if _count(self.first_person, first, last) > 0:
                heard += 1
        return heard >= _HEARD_SHARE * len(calls)

    def _is_called_again(self, name: str, end: int) -> bool:
        """Whether the name is addressed in more than one chapter, if there are several."""
        chapters_begun = bisect_left(self.chapters, end)
        if chapters_begun < 2:
            return True
        calls = self._calls_before(end, name)
        chapters = {bisect_right(self.chapters, start) for start in calls}
        return len(chapters) > 1

    def _calls_before(self, end: int, name: str) -> Sequence[int]:
        """Offsets before `end` where the name is addressed."""
        starts = self.called[name]
        return starts[: bisect_left(starts, end)]


# Several members of a team ask at once; the first computes it for all.
_computing = Lock()


def narration_of(book: Book) -> Narration:
    """Who tells this book. Call it in a thread: it takes 0.25 s a megabyte.

    The results for the last two books are cached.
    """
    paragraphs, chapters = len(book.paragraphs), len(book.chapters)
    identity = _BookIdentity(book.sha256, paragraphs, chapters, book)
    with _computing:
        return _narration(identity)


@dataclass(frozen=True)
class _BookIdentity:
    """A key for the text of a book and how it is divided."""

    sha256: str
    paragraphs: int
    chapters: int
    book: Book = field(compare=False)


@lru_cache(maxsize=2)
def _narration(identity: _BookIdentity) -> Narration:
    """Count the words of the narration, then the addresses in chapters that "I" tells."""
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
        (match.end(), match["name"]) for match in _matches(_PRESENTS, narrated, book)
    ]
    narration = Narration(words, first_person, named, (), {}, presented)
    chapters = [
        chapter
        for chapter in book.chapters
        if narration.is_first_person(chapter.start, chapter.end)
    ]
    speech_in_chapters = [
        (start, end)
        for start, end in speech
        if any(chapter.start <= start < chapter.end for chapter in chapters)
    ]
    return replace(
        narration,
        chapters=[chapter.start for chapter in chapters],
        called=_called(speech_in_chapters, book),
    )


def _new_offsets() -> "array[int]":
    """An empty array of offsets. It saves memory: a long novel has half a million words."""
    return array("I")


def _called(speech: Sequence[Span], book: Book) -> dict[str, list[int]]:
    """Offsets in speech where somebody is addressed, by name.

    "Sir" and "Mother" are no names, as they are also written in lower case. Nor is "Ah", which
    follows no word.
    """
    # Word by word: `findall` over a whole novel would hold up other threads.
    lower_case = {word[0] for word in _LOWER_CASE_WORD.finditer(book.text)}
    mentions = Counter(match[0] for match in _matches(_CAPITALISED, speech, book))
    after_a_word = {match[0] for match in _matches(_AFTER_A_WORD, speech, book)}
    called: dict[str, list[int]] = defaultdict(list)
    for call in _matches(_CALLS, speech, book):
        name = call["name"]
        if name in after_a_word and name.lower() not in lower_case:
            called[name].append(call.start("name"))
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
        speech_end = paragraph.start
        for match in _SPEECH.finditer(book.text, paragraph.start, paragraph.end):
            narrated.append((speech_end, match.start()))
            speech.append(match.span())
            speech_end = match.end()
        narrated.append((speech_end, paragraph.end))
    return speech, narrated


def _count(starts: Sequence[int], start: int, end: int) -> int:
    """How many of these ascending offsets are in a range."""
    return bisect_left(starts, end) - bisect_left(starts, start)
