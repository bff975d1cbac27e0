"""Data classes of what is stored about books and questions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class VolumeText:
    sha256: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BookFile:
    path: Path
    digest: str  # SHA-256 of its bytes, in hexadecimal
    size: int  # In bytes
    modified_ns: int
    title: str
    authors: tuple[str, ...] = ()
    format: str = ""  # As `Book.source_format`
    language: str = ""
    sha256: str = ""  # Hash of the book's text; empty until first opened
    words: int = 0  # 0 until first opened; likewise `length`
    length: int = 0  # Characters in the text
    # The volumes of a series; empty until first opened
    volumes: tuple[VolumeText, ...] = ()
    at: float = 0.0  # When this was recorded, in seconds since the epoch


@dataclass(frozen=True, slots=True)
class OpenedBook:
    sha256: str
    title: str
    authors: tuple[str, ...]
    path: Path | None  # Last known path; None for standard input
    position: int  # Offset into the book's text
    length: int  # Characters in the book's text
    opened_at: float  # Seconds since the epoch
    file: str = ""  # SHA-256 of the file's bytes; empty if unknown
    chapter: str = ""  # Title of the chapter at the position; empty if unknown


@dataclass(frozen=True, slots=True)
class ReadingPlace:
    """The user's position in a book, and the parts they have read."""

    offset: int = 0
    # (start, end) of each part that was read, sorted
    read: tuple[tuple[int, int], ...] = ()
    behind: tuple[int, ...] = ()  # Positions before the last jumps, to go back to
    end: int = 0  # End of what was on screen at the position; 0: unknown

    @property
    def furthest(self) -> int:
        """End of the last part that was read, the screen at the position included."""
        return max([self.offset, self.end, *(end for _, end in self.read)])


def merged_ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sort ranges and join overlapping ones.

    >>> merged_ranges([(5, 9), (0, 4), (3, 5)])
    ((0, 9),)
    >>> merged_ranges([(-5, 3)])
    ((-5, 3),)
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged:
            last_start, last_end = merged[-1]
            if start <= last_end:
                merged[-1] = (last_start, max(end, last_end))
                continue
        if start < end:
            merged.append((start, end))
    return tuple(merged)


def merge_places(
    mine: ReadingPlace, known: ReadingPlace, base: ReadingPlace
) -> ReadingPlace:
    """Merge a change of `base` with the place stored meanwhile, by another gistread.

    All parts read stay read. The place is the one that moved; if both did, `mine`.
    """
    read = [*known.read, *mine.read]
    place = mine
    if known.offset != base.offset:
        if mine.offset == base.offset:
            place = known
        else:
            # The screen at the place that is given up
            read.append((known.offset, known.end))
    return replace(place, read=merged_ranges(read))


@dataclass(frozen=True, slots=True)
class BoundChoice:
    """Where the user lets answers stop.

    At an offset, nowhere (`whole`), or by default at the furthest place that was read.
    """

    whole: bool = False
    at: int | None = None
    # Whether the user has agreed once that answers may tell the end
    may_lift: bool = False


@dataclass(frozen=True, slots=True)
class AskingChoice:
    """How questions about a book are answered, as chosen for it. Empty: as in the settings."""

    reader: str = ""  # The method
    steps: Literal["", "alone", "ask"] = ""  # Who decides which sections are looked up
    max_pages: int | None = None  # Most sections looked up for a question


@dataclass(frozen=True, slots=True)
class ReadAlongChoice:
    """Which model was chosen for a book, and whether it reads along."""

    model: str  # Path, name or address; empty for none
    along: bool


@dataclass(frozen=True, slots=True)
class ReadingDay:
    """How much of a book was read on one day, by the calendar of this machine."""

    day: str  # ISO 8601, such as 2026-11-22
    words: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in the book that supports the answer."""

    page: int
    start: int
    end: int
    quote: str  # `book.text[start:end]`; empty if another version of the text lacks it
    # The answer that an unreliable model reads here, if it differs from the one given
    tells: str = ""


class AnswerMarkKind(StrEnum):
    NAME = "name"
    NUMBER = "number"
    QUOTATION = "quotation"
    # A statement of a weak model that shares too few words with the text
    STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class AnswerMark:
    """A doubt about `answer[start:end]`."""

    start: int
    end: int
    kind: AnswerMarkKind
    message: str  # For people, such as "not in the text"


@dataclass(frozen=True, slots=True)
class MarkedText:
    """An answer with the messages of its marks in brackets."""

    text: str
    words: tuple[tuple[int, int], ...]  # Start and end of each marked place
    messages: tuple[tuple[int, int], ...]


def with_messages(answer: str, marks: Sequence[AnswerMark]) -> MarkedText:
    """The answer with a message after each mark; neighbours with the same message get it once."""
    text = ""
    copied = 0  # Characters of the answer
    words: list[tuple[int, int]] = []
    messages: list[tuple[int, int]] = []
    for mark, following in zip_longest(marks, marks[1:]):
        text += answer[copied : mark.start]
        words.append((len(text), len(text) + mark.end - mark.start))
        text += answer[mark.start : mark.end]
        copied = mark.end
        if not following or not _shares_message(mark, following, answer):
            message = f"[{mark.message}]"
            text += f" {message}"
            messages.append((len(text) - len(message), len(text)))
    return MarkedText(text + answer[copied:], tuple(words), tuple(messages))


def _shares_message(mark: AnswerMark, following: AnswerMark, answer: str) -> bool:
    """Whether only white space is between two marks with the same message."""
    between = answer[mark.end : following.start]
    return mark.message == following.message and not between.strip()


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """A part of the book that was shown for an answer, or that the user left out."""

    start: int  # `book.text[start:end]`
    end: int
    reason: str = ""
    is_left_out: bool = False


@dataclass(frozen=True, slots=True)
class SteeringChoice:
    """What the user decided about the sections of an answer.

    Each section is given by its offset: its number changes as the model reads on.
    """

    pinned: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    only: bool = False  # Whether only what the user named was shown


# Begins an answer that quotes the nearest sentences, since none contains the answer
NO_PLAIN_SENTENCE = "No sentence says plainly"


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    question: str
    answer: str  # Empty if it was interrupted
    found: bool  # False if the book does not say
    citations: tuple[Citation, ...] = ()
    lookups: tuple[int, ...] = ()  # Page numbers the agent asked for, in that order
    reader: str = ""
    model: str = ""  # The model that answered
    memory: str = ""  # The model that had read the book; empty if none or unknown
    asked_at: float = 0.0  # Seconds since the epoch
    marks: tuple[AnswerMark, ...] = ()  # Doubts about the answer
    # The part of the book that was searched, in words; empty for all of it
    scope: str = ""
    upto: int | None = None  # The spoiler bound of the answer; None for the whole book
    # When the first question of its thread was asked; 0 for that question itself
    thread: float = 0.0
    # Pages pinned or looked up, to open again after an interruption
    pinned: tuple[int, ...] = ()
    # (start, end) of the selected text it is about
    passage: tuple[int, int] | None = None
    cost: str = ""  # Tokens and time of the answer, in words
    # Why the answer is cut off: `length` or `filter`; empty if it is whole
    cut: str = ""
    # When the question was first asked, if this is another answer to it; 0 otherwise
    beside: float = 0.0
    left_out: tuple[int, ...] = ()  # Sections that the user refused for the answer
    begun: str = ""  # The text so far of an answer that was interrupted
    # The parts of the book behind the answer, in the order in which the screen shows them
    steps: tuple[AnswerStep, ...] = ()
    # None for an older answer, which cannot be repeated
    steered: SteeringChoice | None = None

    @property
    def thread_id(self) -> float:
        """The `SavedThread.id` of its thread."""
        return self.thread or self.asked_at


@dataclass(frozen=True, slots=True)
class SavedThread:
    """A question and its follow-ups."""

    id: float  # When its first question was asked
    questions: tuple[SavedQuestion, ...]
    name: str  # As given, or the first question


NameVerb = Literal["merge", "hide"]


@dataclass(frozen=True, slots=True)
class NameCorrection:
    """A correction of the names of one person or place."""

    verb: NameVerb
    forms: tuple[str, ...]  # Its names in the book, the corrected one first
    other: str = ""  # For `merge` a name of the same person
    made_at: float = 0.0  # Seconds since the epoch
