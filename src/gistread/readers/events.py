"""The events of a reader's stream, the last of them `Answered`; `--events` prints them."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from gistread.engine.protocol import NO_USAGE, Finish, Usage
from gistread.store.model import AnswerMark, Citation


class OpenedBy(StrEnum):
    AGENT = "agent"
    PERSON = "person"


class StopReason(StrEnum):
    ENOUGH = "enough"  # The model decided to stop
    LIMIT = "limit"  # The look-ups are used up
    WINDOW = "window"  # No further page fits the model's window
    PERSON = "person"
    NOTHING_LEFT = "nothing left"  # Every page available has been read


@dataclass(frozen=True, slots=True)
class SegmentLevel:
    """How pages `first` to `last` are shown to the model."""

    first: int
    last: int
    # 0 for the gist of a page, else the level of the summary in the tree (`memory/tree.py`)
    level: int
    made: bool = True  # False while sentences replace the summary


@dataclass(frozen=True, slots=True)
class ReaderEvent:
    """The base class of all events below."""


ReaderEvents: TypeAlias = AsyncGenerator[ReaderEvent, None]


@dataclass(frozen=True, slots=True)
class Started(ReaderEvent):
    """Work on the question has begun, over this much of the book."""

    reader: str
    pages_read: int  # Pages in the memory at that time
    pages_total: int  # Pages of the book; an estimate while it is being read
    complete: bool
    # The level of detail of every page read, if not all gists fit the window; else empty.
    told: tuple[SegmentLevel, ...] = ()
    # For readers of the book's own text, the share of it shown, from 0 to 1
    share_shown: float | None = None
    # Whether passages of all parts are shown because there are no gists
    is_spread: bool = False
    choice: str = ""  # Which method the reader `auto` chose and why, for people
    # Share of the book before the spoiler bound; the other fields are about that part
    bound_share: float = 1.0


@dataclass(frozen=True, slots=True)
class Prepared(ReaderEvent):
    """An artifact that the reader uses is being built, and stored for the next question."""

    what: str  # Its name, such as `summaries`
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Shown(ReaderEvent):
    """The passages of the book that the prompt of the answer shows."""

    places: tuple[tuple[int, int], ...]  # Start and end in the book's text, in order
    # Why each is shown, if known; empty for the whole text
    reasons: tuple[str, ...] = ()
    nearest: tuple[int, ...] = ()  # Their indexes, the most important first, if known


@dataclass(frozen=True, slots=True)
class Walked(ReaderEvent):
    """The reader descends to a node: a page (level 0) or a summary of several."""

    level: int
    first: int  # Number of its first page
    last: int


@dataclass(frozen=True, slots=True)
class TurnedBack(ReaderEvent):
    """The reader goes back up: the node does not have the whole answer."""

    level: int
    first: int
    last: int
    told: bool = False  # Whether it told a part of the answer


@dataclass(frozen=True, slots=True)
class Planned(ReaderEvent):
    """The reader's plan, and the key elements where its paths begin, in their order."""

    plan: str
    starts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Visited(ReaderEvent):
    """A path reached a key element."""

    path: int  # From 1
    element: str
    facts: int  # Number of its facts that are read
    pages: tuple[int, ...]  # Pages of these facts


@dataclass(frozen=True, slots=True)
class PathEnded(ReaderEvent):
    path: int


@dataclass(frozen=True, slots=True)
class TeamFormed(ReaderEvent):
    """The chunks of the book, one for each member in order: start and end in its text."""

    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class MembersAsked(ReaderEvent):
    """The leader asks all members."""

    round: int  # From 1
    question: str


@dataclass(frozen=True, slots=True)
class Reported(ReaderEvent):
    """A member has read its chunk, `book.text[start:end]`."""

    member: int  # From 1
    answer: str  # Empty if the chunk has no answer
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Shared(ReaderEvent):
    """The chunks of two members whose reports contradict each other were read together."""

    members: tuple[int, int]
    kept: int  # The first member whose chunk the answer is from
    answer: str  # It replaces both reports


@dataclass(frozen=True, slots=True)
class Agreed(ReaderEvent):
    """These members or paths give the same answer."""

    answer: str
    by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartRead(ReaderEvent):
    """A chunk of the book, `book.text[start:end]`, has been read for the question."""

    number: int  # From 1
    total: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WantedSection:
    """A part of the book that a reader wants to show and the user decides on; usually a section."""

    # Its numbers; after the last page read, estimated ones (`sections.py`)
    pages: tuple[int, ...]
    start: int  # The wanted text is `book.text[start:end]`
    end: int
    reason: str = ""  # The model's, or the words of the question that it has


@dataclass(frozen=True, slots=True)
class Proposed(ReaderEvent):
    """The reader wants to open these pages, or to answer if there are none.

    See `Steering.review`.
    """

    pages: tuple[int, ...]
    step: int  # From 1
    last_page: int  # The last one that may be opened
    reason: str = ""
    path: int = 0  # The path that asks, from 1; 0 for readers without paths
    # The pages with their places and reasons, the most important first
    sections: tuple[WantedSection, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused(ReaderEvent):
    """The user refused these pages, or an answer if there are none."""

    pages: tuple[int, ...]
    instead: tuple[int, ...] = ()  # Pages that the user chose
    path: int = 0


@dataclass(frozen=True, slots=True)
class LookedUp(ReaderEvent):
    """The reader asks for a page."""

    page: int
    step: int  # From 1
    reason: str
    path: int = 0  # The path that asks, from 1; 0 for readers without paths


@dataclass(frozen=True, slots=True)
class Expanded(ReaderEvent):
    """A page is now shown: in full, or by passages of it (`gistread`)."""

    page: int
    by: OpenedBy


@dataclass(frozen=True, slots=True)
class Unfit(ReaderEvent):
    """A requested page does not fit the window or the budget."""

    page: int
    shown: float = 0.0  # Share of its beginning that is shown all the same, from 0 to 1


@dataclass(frozen=True, slots=True)
class Noted(ReaderEvent):
    """A note that the reader wrote after `book.text[start:end]`."""

    text: str
    start: int
    end: int
    path: int = 0  # The path whose notebook has it, from 1; 0 for readers without paths


@dataclass(frozen=True, slots=True)
class Stopped(ReaderEvent):
    """The search has ended; the answer comes next."""

    reason: StopReason


@dataclass(frozen=True, slots=True)
class AnswerDelta(ReaderEvent):
    text: str


@dataclass(frozen=True, slots=True)
class Restarted(ReaderEvent):
    """The engine was restarted and asked again: discard the answer so far."""

    reason: str


@dataclass(frozen=True, slots=True)
class Written(ReaderEvent):
    """The model has written the answer. It is still being checked, and its sources found."""


@dataclass(frozen=True, slots=True)
class Answered(ReaderEvent):
    """The answer, always the last event."""

    answer: str = ""
    found: bool = True  # False: not found in the text that was read
    # The sources; the answer may refer to the first as [1], and so on
    citations: tuple[Citation, ...] = ()
    lookups: tuple[int, ...] = ()  # Pages that the reader asked for, in order
    # Every page shown for the answer (see `Expanded`), pinned ones included, in the order of the
    # book.
    expanded: tuple[int, ...] = ()
    compression_rate: float = 0.0
    usage: Usage = NO_USAGE
    # Index of the chosen option; None without options, or without text to choose by.
    choice: int | None = None
    # Start and end of the book's text in the prompt of the answer, in order and joined, without
    # gists and summaries. For readers that answer from notes, the sources of the notes: chunks
    # (`longagent`, `notes`) or pages read in full (`graphreader`).
    seen: tuple[tuple[int, int], ...] = ()
    # Tokens of text, gists, summaries and notes in the prompt of the answer
    context_tokens: int = 0
    # Further places of the book from which facts in the prompt were taken
    noted: tuple[tuple[int, int], ...] = ()
    gists: tuple[int, ...] = ()  # Pages whose gists were in the prompt of the answer
    # Parts of the answer that the text lacks, in order
    marks: tuple[AnswerMark, ...] = ()
    # Passages or pages that the model cites as [1], [2] … in the answer
    cited: tuple[tuple[int, int], ...] = ()
    # Why the answer ends; unless it is "end", the answer is cut off and can be continued
    finish: Finish = "end"
    quoted: bool = False  # The citations are the answer, in the book's own words
    # Statements of the answer that its model takes for "the book does not tell"
    absence: tuple[str, ...] = ()
