"""Copies position, marks and questions to another version of a book's text, in which their words are found again.

Quoted text is found exactly, by letters alone, or as the most similar run of words. Copying is safe to repeat.
"""

import unicodedata
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, takewhile
from pathlib import Path

from gistread.book.model import Book
from gistread.marking import TextQuote, quote_at
from gistread.store.model import Citation, OpenedBook
from gistread.store.user_data import MarkStore, UserData
from gistread.words import PART

_SAME_WORK = 0.5  # Share of the quotes that must be found before a text of the same title counts as the same work
_DISTINCTIVE_LETTERS = 24  # A quotation with this many letters hardly recurs by chance
_MIN_MATCH = 0.5  # Minimum share of matching words, in the quotation or around it
_LONG_WORDS = 400  # Longer quotations are found by their two ends
_END_WORDS = 60
_SEED_LETTERS, _SEED_WORDS, _SEEDS, _OCCURRENCES = 10, 6, 48, 24
_SLACK_WORDS = 24  # Words by which a passage may have grown or moved


@dataclass(frozen=True)
class SearchableText:
    raw: str

    @cached_property
    def words(self) -> "_Words":
        return _Words.of(self.raw)


def find_quote(place: TextQuote, text: SearchableText, length: int) -> tuple[int, int] | None:
    """The range of the quotation in `text`, or None. `length`: size of the text it came from, to settle ties."""
    near = round(place.start * len(text.raw) / length) if length else place.start
    found = _occurrence(text.raw, place.exact, place.prefix, place.suffix, near) if place.exact else None
    return found or _by_letters(place, text, near) or _by_similarity(place, text, near)


def _by_letters(place: TextQuote, text: SearchableText, near: int) -> tuple[int, int] | None:
    words = text.words
    exact, prefix, suffix = ("".join(_normal_words(part)) for part in (place.exact, place.prefix, place.suffix))
    if not exact:
        return None
    found = _occurrence(words.letters, exact, prefix, suffix, words.position_of(near))
    if found is None:
        return None
    start, end = words.offset_of(found[0]), words.offset_of(found[1] - 1) + 1
    before, after = _edge(place.exact), _edge(place.exact[::-1])
    while before and start and _is_mark(text.raw[start - 1]):
        start, before = start - 1, before - 1
    while after and end < len(text.raw) and _is_mark(text.raw[end]):
        end, after = end + 1, after - 1
    return start, end


def _occurrence(text: str, exact: str, prefix: str, suffix: str, near: int) -> tuple[int, int] | None:
    best: tuple[float, int, int] | None = None
    at = text.find(exact)
    while at >= 0:
        end = at + len(exact)
        agreed = _agreement(text[max(0, at - len(prefix)) : at][::-1], prefix[::-1])
        agreed += _agreement(text[end : end + len(suffix)], suffix)
        share = agreed / max(1, len(prefix) + len(suffix))
        if best is None or (share, -abs(at - near)) > best[:2]:
            best = (share, -abs(at - near), at)
        at = text.find(exact, at + 1)
    if best is None or (best[0] < _MIN_MATCH and sum(map(str.isalnum, exact)) < _DISTINCTIVE_LETTERS):
        return None
    return best[2], best[2] + len(exact)


def _agreement(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _edge(text: str) -> int:
    found = PART.search(text)
    return found.start() if found else len(text)


def _is_mark(character: str) -> bool:
    return not character.isalnum() and not character.isspace()


def _by_similarity(place: TextQuote, text: SearchableText, near: int) -> tuple[int, int] | None:
    exact = _normal_words(place.exact)
    if len(exact) <= _LONG_WORDS:
        return _most_similar(_normal_words(place.prefix), exact, _normal_words(place.suffix), text, near)
    head = _most_similar(_normal_words(place.prefix), exact[:_END_WORDS], [], text, near)
    tail_near = near + place.end - place.start
    tail = _most_similar([], exact[-_END_WORDS:], _normal_words(place.suffix), text, tail_near)
    if head and tail and 0 < tail[1] - head[0] <= 2 * (place.end - place.start):
        return head[0], tail[1]
    return head or tail


def _most_similar(
    prefix: list[str], exact: list[str], suffix: list[str], text: SearchableText, near: int
) -> tuple[int, int] | None:
    sought = [*prefix, *exact, *suffix]
    words = text.words
    shift = _likely_shift(sought, len(prefix), words, near)
    if shift is None or not exact:
        return None
    low = max(0, shift - _SLACK_WORDS - len(sought) // 2)
    window = words.normal[low : shift + len(sought) + _SLACK_WORDS + len(sought) // 2]
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
    if matched < _MIN_MATCH and not (len(exact) <= _SEED_WORDS and before and after and around > _MIN_MATCH):
        return None
    if len(inside) < _SEED_WORDS and around < _MIN_MATCH:
        return None
    # If words at an edge changed, the edge lies at the words around it.
    start = inside[0][1] - (inside[0][0] - first) if inside else before[-1][1] + 1
    end = inside[-1][1] + (last - inside[-1][0]) if inside else after[0][1]
    start = max(start, before[-1][1] + 1 if before else 0)
    end = min(end, after[0][1] if after else len(words.normal))
    if not start < end <= start + 2 * len(exact) + _SEED_WORDS:
        return None
    return words.starts[start], words.ends[end - 1]


def _likely_shift(sought: list[str], first: int, words: "_Words", near: int) -> int | None:
    runs = [found for at in range(len(sought)) if (found := _run(sought, at))]
    step = max(1, len(runs) // _SEEDS)
    votes: Counter[int] = Counter()
    for at, run in runs[::step]:
        position = words.letters.find(run)
        for _ in range(_OCCURRENCES):
            if position < 0:
                break
            shift = words.word_at(position) - at
            votes.update({shift // _SLACK_WORDS: 2, shift // _SLACK_WORDS - 1: 1, shift // _SLACK_WORDS + 1: 1})
            position = words.letters.find(run, position + 1)
    if not votes:
        return None
    here = (words.word_at(words.position_of(near)) - first) // _SLACK_WORDS
    best = max(votes, key=lambda bucket: (votes[bucket], -abs(bucket - here)))
    return max(0, best * _SLACK_WORDS)


def _run(sought: list[str], at: int) -> tuple[int, str] | None:
    for count in range(2, _SEED_WORDS + 1):
        if at + count > len(sought):
            return None
        joined = "".join(sought[at : at + count])
        if len(joined) >= _SEED_LETTERS or count == _SEED_WORDS:
            return at, joined
    return None


@dataclass(frozen=True)
class _Words:
    normal: list[str]
    starts: list[int]
    ends: list[int]
    positions: list[int]  # Where each word starts in `letters`, and the end of the last
    letters: str

    @classmethod
    def of(cls, raw: str) -> "_Words":
        matches = list(PART.finditer(raw))
        starts, ends = [match.start() for match in matches], [match.end() for match in matches]
        normal = [_normal(match[0]) for match in matches]
        return cls(normal, starts, ends, list(accumulate(map(len, normal), initial=0)), "".join(normal))

    def word_at(self, position: int) -> int:
        return min(bisect_right(self.positions, position) - 1, max(0, len(self.normal) - 1))

    def position_of(self, offset: int) -> int:
        return self.positions[max(0, bisect_right(self.starts, offset) - 1)]

    def offset_of(self, position: int) -> int:
        word = self.word_at(position)
        return min(self.starts[word] + position - self.positions[word], self.ends[word] - 1)


def _normal_words(text: str) -> list[str]:
    return [_normal(word) for word in PART.findall(text)]


def _normal(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


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
