"""What a reader says while it answers, and what the person may say to it.

A reader is an async generator of these events, the last of them `Answered` (design D7). Screens, the command
line and evaluation are consumers of the same stream.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from gistread.engine.protocol import Usage


class OpenedBy(StrEnum):
    AGENT = "agent"
    PERSON = "person"


class StopReason(StrEnum):
    ENOUGH = "enough"
    """The model said so."""
    LIMIT = "limit"
    """As many look-ups as were allowed."""
    WINDOW = "window"
    """The next page would not fit the model's window."""
    PERSON = "person"
    NOTHING_LEFT = "nothing left"
    """Every page that can be read has been read."""


@dataclass(frozen=True, slots=True)
class SegmentLevel:
    """What stands for pages `first` to `last` before the model."""

    first: int
    last: int
    level: int
    """0: the gist of a page; else the summary of so many levels of neighbours (`memory/tree.py`)."""
    made: bool = True
    """False: sentences stand in for a summary that no model has made yet."""
    line: bool = False
    """No more than one line of it."""


@dataclass(frozen=True, slots=True)
class Started:
    """The question is being worked on, over this much of the book."""

    reader: str
    pages_read: int
    """Pages in the memory when the question was asked."""
    pages_total: int
    """Pages of the book, an estimate while it is still being read."""
    complete: bool
    told: tuple[SegmentLevel, ...] = ()
    """How the memory is told when it outgrows the window: of every page that was read, in the order of the book. Empty
    where each is told by its own gist."""
    share_shown: float | None = None
    """Of a reader that is shown the book's own text: how much of it, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the reader needs beside the gists is being made; it is kept for the next question."""

    what: str
    """Such as `summaries`."""
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Shown:
    """These places of the book's own text, `book.text[start:end]` each, stand before the model for the answer."""

    places: tuple[tuple[int, int], ...]
    """In the order of the book."""


@dataclass(frozen=True, slots=True)
class TreeBranch:
    """A stretch of the book that a reader can go down to."""

    level: int
    """0: a page; else neighbours that have a summary together."""
    first: int
    """Number of its first page."""
    last: int
    summary: str


@dataclass(frozen=True, slots=True)
class Branched:
    """The reader stands before these parts of where it is and chooses among them."""

    parts: tuple[TreeBranch, ...]


@dataclass(frozen=True, slots=True)
class Walked:
    """The reader goes down to a part of the book: a page (level 0), or neighbours that have a summary together."""

    level: int
    first: int
    """Number of its first page."""
    last: int


@dataclass(frozen=True, slots=True)
class TurnedBack:
    """The reader leaves the part where it is, and goes up again: nothing in it tells."""

    level: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Planned:
    """How the reader means to find out, and the key elements at which its paths begin, the first path's first."""

    plan: str
    starts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Visited:
    """A path has come to a key element."""

    path: int
    """From 1."""
    element: str
    facts: int
    """How many are read of it."""
    pages: tuple[int, ...]
    """Those that the facts come from."""


@dataclass(frozen=True, slots=True)
class PathEnded:
    """A path goes no further; its notebook is full."""

    path: int


@dataclass(frozen=True, slots=True)
class TeamFormed:
    """The book is given to members, a part `book.text[start:end]` to each, the first member's first."""

    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class MembersAsked:
    """The leader puts a question to all members."""

    round: int
    """From 1."""
    question: str


@dataclass(frozen=True, slots=True)
class Reported:
    """A member has read its part, `book.text[start:end]`."""

    member: int
    """From 1."""
    answer: str
    """Empty: its part does not tell."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Shared:
    """Two members who differ have read both their parts: the answer of one is dropped."""

    members: tuple[int, int]
    kept: int
    """The one of them whose answer stays."""
    answer: str
    """That answer."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """These members, or paths, would give the same answer."""

    answer: str
    by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartRead:
    """A part of the book, `book.text[start:end]`, has been read for the question."""

    number: int
    """From 1."""
    total: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The agent asks for a page."""

    page: int
    step: int
    """From 1."""
    reason: str
    path: int = 0
    """Of a reader on several paths: which one asks, from 1."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A page now stands in the memory in place of its gist."""

    page: int
    by: OpenedBy


@dataclass(frozen=True, slots=True)
class Unfit:
    """A page that was asked for does not fit the window, or the budget, beside what is open."""

    page: int
    shown: float = 0.0
    """How much of its beginning stands before the model all the same, from 0 to 1. 0: it stays closed."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What the reader wrote down on its way, after `book.text[start:end]`."""

    text: str
    start: int
    end: int
    path: int = 0
    """Of a reader on several paths: in whose notebook it stands, from 1."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """No more look-ups; the answer comes next."""

    reason: StopReason


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The engine was lost and asked again: answer text so far is void."""

    reason: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in the book that the answer rests on; `quote` stands at `book.text[start:end]` (D9)."""

    page: int
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Answered:
    answer: str
    found: bool
    """False: the book, as far as it was read, does not say."""
    citations: tuple[Citation, ...]
    lookups: tuple[int, ...]
    """Pages the agent asked for, in that order."""
    expanded: tuple[int, ...]
    """Every page that stood open for the answer, the person's included, in the order of the book."""
    compression_rate: float
    usage: Usage
    choice: int | None = None
    """Of a question with options: index of the one that the model chose. None: there were no options, or there was
    nothing of the book to choose by."""
    seen: tuple[tuple[int, int], ...] = ()
    """Start and end in the book's text of what stood before the model for the answer; in order, touching ones as one.

    Pages that stood open, passages, the page at which a walk ended. Gists and summaries count for nothing. Of readers
    that answer from notes made for this question: the text that the notes in that prompt were made from, which are
    parts of the book (`longagent`, `notes`) or pages read in full (`graphreader`)."""
    context_tokens: int = 0
    """Of text, gists, summaries and notes in the prompt of the answer."""


ReaderEvent = (
    Started
    | Prepared
    | Shown
    | Branched
    | Walked
    | TurnedBack
    | Planned
    | Visited
    | PathEnded
    | TeamFormed
    | MembersAsked
    | Reported
    | Shared
    | Agreed
    | PartRead
    | LookedUp
    | Expanded
    | Unfit
    | Noted
    | Stopped
    | AnswerDelta
    | Restarted
    | Answered
)


@dataclass(slots=True)
class Steering:
    """The person beside the agent: changed at any time, seen by the reader between two events."""

    pinned: set[int] = field(default_factory=set)
    """Pages to expand."""
    refused: set[int] = field(default_factory=set)
    """Pages the agent may not open; an open one is closed again."""
    stop: bool = False
    """Answer now, with what is open."""
    here: int | None = None
    """Offset in the book where they read when they ask: what is near is told in more detail."""
