"""The story so far, at once and without a model: sentences of the gists up to a place, and who is there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gistread.book.sentences import sentence_spans
from gistread.memory.extractive import choose
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.people.corrections import corrected
from gistread.people.joining import Kind, join
from gistread.people.mentions import find_names, is_covered
from gistread.readers.introductions import sentence_at
from gistread.readers.support import sentences_of
from gistread.user_data import NameCorrection

_BEFORE_WORDS = 110  # Of the story before the last chapter
_CHAPTER_WORDS = 70
_NEAR = 4_000  # Characters in front of the place whose people are on stage
_MOST_PEOPLE = 6
_FEW = 2  # Sentences, where none represents the others
_QUOTES = "“”\"‘'«„—–"  # What somebody says tells little by itself


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence, and the place of the book that it tells of."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Recap:
    before: tuple[Told, ...]  # The story before the chapter
    title: str  # Of the chapter
    chapter: tuple[Told, ...]  # The last chapter that was read
    people: tuple[str, ...]  # Those named near the place, the commonest first
    stopped: Passage | None  # The sentence at the place; None at the very beginning
    pages: int  # Gists that it is drawn from; 0: the chapter's own sentences


def recap(memory: GistMemory, corrections: Sequence[NameCorrection] = ()) -> Recap:
    """The story of a memory that ends where the person is (`GistMemory.upto`)."""
    book, end = memory.book, len(memory.book.text.rstrip())
    here = book.chapter_index(max(0, end - 1)) if book.chapters else 0
    entries = [(book.chapter_index(entry.page.start) if book.chapters else 0, entry) for entry in memory.entries]
    last = max((chapter for chapter, _ in entries), default=here)
    before = [_gist(entry.gist.text, entry.page.start) for chapter, entry in entries if chapter < last]
    now = [_gist(entry.gist.text, entry.page.start) for chapter, entry in entries if chapter == last]
    if not now:
        start = book.chapters[last].start if book.chapters else 0
        own = [Told(" ".join(book.text[a:b].split()), a) for a, b in sentences_of(memory, start, end)]
        now = [[told for told in own if told.text[0] not in _QUOTES] or own]
    return Recap(
        _chosen((told for gist in before for told in gist), _BEFORE_WORDS),
        book.chapters[last].title if book.chapters else "",
        _chosen((told for gist in now for told in gist), _CHAPTER_WORDS),
        _on_stage(memory, end, corrections),
        sentence_at(end - 1, memory) if end else None,
        len(memory.entries),
    )


def _gist(text: str, start: int) -> list[Told]:
    return [Told(" ".join(text[a:b].split()), start) for a, b in sentence_spans(text)]


def _chosen(told: Iterable[Told], words: int) -> tuple[Told, ...]:
    sentences = list(told)
    chosen = choose([one.text for one in sentences], words)
    return tuple(sentences[index] for index in chosen) or tuple(sentences[-_FEW:])


def _on_stage(memory: GistMemory, end: int, corrections: Sequence[NameCorrection]) -> tuple[str, ...]:
    if not is_covered(memory.book):
        return ()
    named = corrected(join(find_names(memory.book, max(0, end - _NEAR))), corrections)
    people = [one for one in named if one.kind is Kind.PERSON]
    return tuple(one.name for one in people[:_MOST_PEOPLE])
