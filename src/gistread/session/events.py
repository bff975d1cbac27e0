"""What a session tells whoever shows it. Frozen data, no widgets.

A reader's own events (`readers/events.py`) go through unchanged, inside `ReaderSpoke`.
"""

from dataclasses import dataclass
from enum import StrEnum

from gistread.engine.protocol import EngineState
from gistread.memory.model import Entry, GistMemory, Page
from gistread.readers.events import ReaderEvent


class Reading(StrEnum):
    """What has become of the reading of the book by the model."""

    NONE = "none"
    """No model, or not loaded yet."""
    OFFERED = "offered"
    """A whole memory is there, made by another model or in another way; this one reads only if asked to."""
    RUNNING = "running"
    PAUSED = "paused"
    """By the person."""
    WAITING = "waiting"
    """For the answer of another model; it goes on by itself."""
    FAILED = "failed"
    DONE = "done"


class Asking(StrEnum):
    """What the running question waits for."""

    NONE = "none"
    MODEL = "model"
    """That the model is loaded, or has read the first page."""
    ARTIFACTS = "needs"
    """That what the reader needs beside the gists is made."""
    PAGE = "page"
    """That the agent chooses a page."""
    TEXT = "text"
    """That the book's own text is read for it."""
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Making:
    """Something is being made of the memory, beside its gists."""

    what: str
    """In the plural."""
    done: int = 0
    total: int = 0
    """0: not known yet."""
    seconds_left: float | None = None
    paused: bool = False
    """By the person."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Everything the status line says, at one moment."""

    model: str = ""
    """Name of the model that reads, or of the one that answers while it does; empty when none was chosen."""
    asking_model: str = ""
    """Name of the one that would answer a question, where that is another."""
    read_by: str = ""
    """See `Session.read_by`."""
    device: str = ""
    engine: EngineState | None = None
    reading: Reading = Reading.NONE
    pages_read: int = 0
    pages_total: int = 0
    """An estimate until the book is read."""
    seconds_left: float | None = None
    asking: Asking = Asking.NONE
    making: Making | None = None
    problem: str = ""
    """Why the model or the reading stopped; one line."""


@dataclass(frozen=True, slots=True)
class ActivityChanged:
    """The status line is out of date. Comes often: gather before drawing."""


@dataclass(frozen=True, slots=True)
class MemoryOpened:
    """There is another memory to show, with what it holds already."""

    memory: GistMemory


@dataclass(frozen=True, slots=True)
class PageBegun:
    """The model has found where this page ends and is shortening it."""

    page: Page


@dataclass(frozen=True, slots=True)
class PageRead:
    """The memory has grown by this entry."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class MemoryComplete:
    """The last page of the book has been read."""


@dataclass(frozen=True, slots=True)
class Made:
    """There is more of what is made of the memory beside its gists."""

    what: str
    """As in `Making`."""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    question: str


@dataclass(frozen=True, slots=True)
class QuestionPut:
    """Model and memory of the question are there."""

    model: str
    """Who answers."""
    memory: str
    """Who read the book for it; empty: nobody."""


@dataclass(frozen=True, slots=True)
class ReaderSpoke:
    event: ReaderEvent


@dataclass(frozen=True, slots=True)
class QuestionEnded:
    """No question is running any more. `problem` is empty when it was answered."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person, to be shown once."""

    text: str
    is_problem: bool = False


@dataclass(frozen=True, slots=True)
class Crashed:
    """A task died of a defect. The screen raises it where the app's handling of defects sees it."""

    error: Exception


SessionEvent = (
    ActivityChanged
    | MemoryOpened
    | PageBegun
    | PageRead
    | MemoryComplete
    | Made
    | QuestionAsked
    | QuestionPut
    | ReaderSpoke
    | QuestionEnded
    | Notice
    | Crashed
)
