"""Copies position, marks and questions to another version of a book's text, in which their words are found again.

A quotation is found exactly, or as the most similar run of words. Copying is safe to repeat.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise, takewhile
from pathlib import Path
from unicodedata import normalize

from gistread.book.model import Book
from gistread.marking import TextQuote, quote_at
from gistread.store.model import Citation, OpenedBook
from gistread.store.user_data import MarkStore, UserData
from gistread.words import HYPHENATED

_SAME_WORK = 0.5  # Share of the quotes that must be found before a text of the same title counts as the same work
_DISTINCTIVE_LETTERS = 24  # A quotation with this many letters hardly recurs by chance
_MIN_MATCH = 0.5  # Minimum share of matching words, in the quotation or around it
_LONG_WORDS = 400  # Longer quotations are found by their two ends
_END_WORDS = 60
_FEW_WORDS = 6
_USUAL = 100  # A pair of words with more places than this does not tell where a quotation is
_SLACK_WORDS = 24  # Words by which a passage may have grown or moved


@dataclass(frozen=True)
class SearchableText:
    raw: str

    @cached_property
    def words(self) -> list[str]:
        return _words_of(self.raw)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Start and end of each word."""
        return [match.span() for match in HYPHENATED.finditer(self.raw)]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The numbers at which each word stands."""
        places: defaultdict[str, list[int]] = defaultdict(list)
        for number, word in enumerate(self.words):
            places[word].append(number)
        return places


def find_quote(place: TextQuote, text: SearchableText, length: int) -> tuple[int, int] | None:
    """The range of the quotation in `text`, or None. `length`: size of the text it came from, to settle ties."""
    near = round(place.start * len(text.raw) / length) if length else place.start
    if place.exact and (found := _occurrence(place, text.raw, near)):
        return found
    prefix, exact, suffix = map(_words_of, (place.prefix, place.exact, place.suffix))
    if len(exact) <= _LONG_WORDS:
        return _most_similar(prefix, exact, suffix, text, near)
    head = _most_similar(prefix, exact[:_END_WORDS], [], text, near)
    tail = _most_similar([], exact[-_END_WORDS:], suffix, text, near + place.end - place.start)
    if head and tail and 0 < tail[1] - head[0] <= 2 * (place.end - place.start):
        return head[0], tail[1]
    return head or tail


def _occurrence(place: TextQuote, text: str, near: int) -> tuple[int, int] | None:
    """The words of the quotation where most of the text around them agrees; of equal places the nearest."""
    best: tuple[float, int, int] | None = None
    at = text.find(place.exact)
    while at >= 0:
        end = at + len(place.exact)
        agreed = _agreement(text[max(0, at - len(place.prefix)) : at][::-1], place.prefix[::-1])
        agreed += _agreement(text[end : end + len(place.suffix)], place.suffix)
        share = agreed / max(1, len(place.prefix) + len(place.suffix))
        best = max(best or (-1.0, 0, 0), (share, -abs(at - near), at))
        at = text.find(place.exact, at + 1)
    if best is None or (best[0] < _MIN_MATCH and sum(map(str.isalnum, place.exact)) < _DISTINCTIVE_LETTERS):
        return None
    return best[2], best[2] + len(place.exact)


def _agreement(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _most_similar(
    prefix: list[str], exact: list[str], suffix: list[str], text: SearchableText, near: int
) -> tuple[int, int] | None:
    sought = [*prefix, *exact, *suffix]
    begins = _likely_beginning(sought, len(prefix), text, near)
    if begins is None or not exact:
        return None
    low = max(0, begins - _SLACK_WORDS - len(sought) // 2)
    window = text.words[low : begins + len(sought) + _SLACK_WORDS + len(sought) // 2]
    pairs = [
        (block.a + step, low + block.b + step)
        for block in SequenceMatcher(None, sought, window, autojunk=False).get_matching_blocks()
        for step in range(block.size)
    ]
    first, last = len(prefix), len(prefix) + len(exact)
    inside = [pair for pair in pairs if first <= pair[0] < last]
    before = [pair for pair in pairs if pair[0] < first]
    after = [pair for pair in pairs if pair[0] >= last]
    around = (len(before) + len(after)) / max(1, len(prefix) + len(suffix))
    matched = len(inside) / len(exact)
    if matched < _MIN_MATCH and not (len(exact) <= _FEW_WORDS and before and after and around > _MIN_MATCH):
        return None
    if len(inside) < _FEW_WORDS and around < _MIN_MATCH:
        return None
    # If words at an edge changed, the edge lies at the words around it.
    start = inside[0][1] - (inside[0][0] - first) if inside else before[-1][1] + 1
    end = inside[-1][1] + (last - inside[-1][0]) if inside else after[0][1]
    start = max(start, before[-1][1] + 1 if before else 0)
    end = min(end, after[0][1] if after else len(text.words))
    if not start < end <= start + 2 * len(exact) + _FEW_WORDS:
        return None
    return text.spans[start][0], text.spans[end - 1][1]


def _likely_beginning(sought: list[str], first: int, text: SearchableText, near: int) -> int | None:
    """The number of the word at which most of these words begin, by pairs of them. Of equals, the one near `near`."""
    votes: defaultdict[int, float] = defaultdict(float)
    words = ["", *text.words, ""]
    for at, (one, other) in enumerate(pairwise(sought)):
        after, before = text.places.get(one, []), text.places.get(other, [])
        if len(after) <= len(before):
            found = [number for number in after if words[number + 2] == other]
        else:
            found = [number - 1 for number in before if words[number] == one]
        for number in found if len(found) <= _USUAL else ():
            bucket = (number - at) // _SLACK_WORDS
            for each, weight in ((bucket - 1, 1), (bucket, 2), (bucket + 1, 1)):
                votes[each] += weight / len(found)
    if not votes:
        return None
    here = (bisect_right(text.spans, (near, len(text.raw))) - 1 - first) // _SLACK_WORDS
    return max(0, max(votes, key=lambda bucket: (votes[bucket], -abs(bucket - here))) * _SLACK_WORDS)


def _words_of(text: str) -> list[str]:
    """Words for comparison: "To-day" is "today"."""
    return ["".join(filter(str.isalnum, normalize("NFKC", word).casefold())) for word in HYPHENATED.findall(text)]


@dataclass(frozen=True, slots=True)
class MigratedData:
    title: str
    marks: int
    lost: int
    questions: int


def migrate_user_data(
    book: Book, user_data: UserData, marks: MarkStore, *, file: str, path: Path | None
) -> MigratedData | None:
    """Copy the data of an earlier version, before storing this one; None if there is none. Raises StorageError."""
    for old in earlier_versions(user_data, book, file=file, path=path):
        if (carried := _migrate_from(book, old, user_data, marks, certain=bool(file) and old.file == file)) is not None:
            return carried
    return None


def earlier_versions(user_data: UserData, book: Book, *, file: str, path: Path | None) -> list[OpenedBook]:
    """Other texts of probably the same book: by file, then path, then title and authors."""
    absolute = path.absolute() if path else None
    name = (_plain(book.title), sorted(map(_plain, book.authors)))

    def similarity(other: OpenedBook) -> int:
        if file and other.file == file:
            return 3
        if absolute and other.path == absolute:
            return 2
        return int(bool(book.authors) and (_plain(other.title), sorted(map(_plain, other.authors))) == name)

    others = [other for other in user_data.all_texts() if other.sha256 != book.sha256 and similarity(other)]
    return sorted(others, key=similarity, reverse=True)


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _migrate_from(
    book: Book, old: OpenedBook, user_data: UserData, store: MarkStore, *, certain: bool
) -> MigratedData | None:
    """None if the texts are not of one work, or nothing is stored. Raises StorageError."""
    text = SearchableText(book.text)
    marks = []
    for mark in store.marks(old.sha256):
        span = find_quote(mark.place, text, old.length)
        marks.append(replace(mark, place=quote_at(text.raw, *span) if span else mark.place, lost=span is None))
    place = user_data.position_quote(old.sha256)
    here = find_quote(place, text, old.length) if place else None
    found = sum(not mark.lost for mark in marks) + (here is not None)
    sought = len(marks) + (place is not None)
    if not certain and found < max(1, _SAME_WORK * sought):
        return None
    questions = [
        replace(
            question,
            citations=tuple(_migrate_citation(one, text, old.length) for one in question.citations),
            upto=None,  # unknown in the new text; a bounded follow-up does not see such an answer
            passage=None,
        )
        for question in user_data.questions(old.sha256)
    ]
    new = store.put_new(book.sha256, marks) if marks else []
    asked = user_data.add_questions(book.sha256, questions) if questions else 0
    user_data.correct_names(book.sha256, *user_data.name_corrections(old.sha256))
    if old.position and not user_data.position(book.sha256):
        offset = here[0] if here else min(_proportional(old.position, text, old.length), len(book.text))
        user_data.set_position(book.sha256, offset, quote_at(book.text, offset))
    return MigratedData(old.title, len(new), sum(mark.lost for mark in new), asked)


def _migrate_citation(citation: Citation, text: SearchableText, length: int) -> Citation:
    found = find_quote(TextQuote(citation.start, citation.end, citation.quote, "", ""), text, length)
    if found is None:
        near = _proportional(citation.start, text, length)
        found = near, near
    return replace(citation, start=found[0], end=found[1])


def _proportional(offset: int, text: SearchableText, length: int) -> int:
    return round(offset * len(text.raw) / length) if length else 0
