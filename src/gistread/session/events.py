"""Events of a session, and the states they report.

A reader's events pass inside `QuestionProgress`.
"""

from dataclasses import dataclass
from enum import StrEnum

from gistread.engine.protocol import EngineInfo, EngineState
from gistread.errors import GistreadError
from gistread.memory.model import GistMemory, Page
from gistread.memory.reading import PageFound as PageFound
from gistread.memory.reading import PageRead as PageRead
from gistread.readers.events import ReaderEvent


class ReadingState(StrEnum):
    """State of reading; `session/machine.py` has the transitions."""

    NO_MODEL = "none"
    IDLE = "idle"  # A model is chosen but not loaded
    LOADING = "loading"  # The model and its memory of the book are being opened
    # The memory shown was made by another model or with another focus; this model reads only when
    # resumed.
    OFFERED = "offered"
    RUNNING = "running"
    PAUSED = "paused"  # By the user
    # Another model on this machine is answering; continues after the answer
    WAITING = "waiting"
    FAILED = "failed"
    DONE = "done"


class AskingState(StrEnum):
    """What the running question waits for."""

    IDLE = "none"  # No question is running
    WAITING = "model"  # For the model to load, or for the first page
    CHECK = "check"  # For a brief check of the model
    ARTIFACTS = "needs"  # For artifacts that the reader needs
    PAGE = "page"  # For the model to choose a page
    PERSON = "person"  # For the user to decide about a look-up
    TEXT = "text"  # For the model to read the book's text
    ANSWER = "answer"
    SOURCES = (
        "sources"  # For the check of the answer, which is written, and its sources
    )


class Obstacle(StrEnum):
    """Why no question can be asked; each value is the message of the error that a script gets."""

    NO_MODEL = "No model is chosen."
    NO_READING_MODEL = (
        "Nothing of this book has been read yet, and no model is chosen to read it."
    )
    # And the model is not reading
    NOTHING_READ = "Nothing of this book has been read yet."


@dataclass(frozen=True, slots=True)
class ArtifactBuilding:
    """An artifact that is being built in the background (see `memory/artifacts.py`)."""

    name: str  # In one word
    done: int = 0
    total: int = 0  # 0: unknown
    seconds_left: float | None = None
    paused: bool = False  # By the user


@dataclass(frozen=True, slots=True)
class Activity:
    """Snapshot of a session for a status line."""

    # Name of the reading model, or of another one while it answers; empty if none is chosen
    model: str = ""
    # Name of the answering model, if it is another one and not answering now
    asking_model: str = ""
    read_by: str = ""  # Name of the model that made the memory, if it is another one
    engine: EngineState | None = None
    reading: ReadingState = ReadingState.NO_MODEL
    page: Page | None = None  # The next page, while its gist is being made
    pages_read: int = 0
    pages_total: int = 0  # An estimate until the whole book is read
    seconds_left: float | None = None
    asking: AskingState = AskingState.IDLE
    artifact: ArtifactBuilding | None = None
    problem: str = ""  # Why the model or the reading stopped; one line
    paused_by_user: bool = False  # Now, or when the book was last open
    # Whether reading waits for a server that does not answer, and tries again by itself
    waits_for_server: bool = False
    retry_in_s: int | None = (
        None  # After `problem`; None: it is not tried again by itself
    )


@dataclass(frozen=True, slots=True)
class ActivityChanged:
    """`Session.activity` has changed. Sent often: coalesce before drawing."""


@dataclass(frozen=True, slots=True)
class ModelLoaded:
    """A model is ready to read or to answer."""

    info: EngineInfo
    state: EngineState


@dataclass(frozen=True, slots=True)
class MemoryOpened:
    """Another memory is shown."""

    memory: GistMemory


@dataclass(frozen=True, slots=True)
class ReadingStarted:
    """The model continues reading where its memory ends."""

    pages: int  # Pages already read
    seconds_left: float | None  # Time for the rest of the book; None if unknown


@dataclass(frozen=True, slots=True)
class PageStarted:
    """The gist of the next page is being made."""

    page: Page


@dataclass(frozen=True, slots=True)
class MemoryComplete:
    """The last page of the book has been read."""


@dataclass(frozen=True, slots=True)
class ReadingEnded:
    """Reading has stopped: finished, paused, or failed with `error`."""

    state: ReadingState
    error: GistreadError | None = None


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    question: str


@dataclass(frozen=True, slots=True)
class QuestionStarted:
    """The model and the memory for the question are ready."""

    model: str  # Name of the model that answers
    memory: str  # Name of the model that made the memory; empty if there is no memory


@dataclass(frozen=True, slots=True)
class QuestionProgress:
    """An event of the reader that answers."""

    event: ReaderEvent


@dataclass(frozen=True, slots=True)
class QuestionEnded:
    """The question was answered, cancelled or failed."""

    error: GistreadError | None = None  # None: it was answered

    @property
    def problem(self) -> str:
        """The error on one line; empty if the question was answered."""
        return str(self.error or "").replace("\n", " ")


@dataclass(frozen=True, slots=True)
class Notice:
    """One line to show once."""

    text: str
    is_problem: bool = False


@dataclass(frozen=True, slots=True)
class Crashed:
    """A task failed with a bug, not a `GistreadError`. The listener should raise or log it."""

    error: Exception


# The events of reading a book
ReadingEvent = ReadingStarted | PageFound | PageStarted | PageRead | MemoryComplete

SessionEvent = (
    ActivityChanged
    | ModelLoaded
    | MemoryOpened
    | ReadingEvent
    | ReadingEnded
    | QuestionAsked
    | QuestionStarted
    | QuestionProgress
    | QuestionEnded
    | Notice
    | Crashed
)
