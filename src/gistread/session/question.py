"""One question and the state of its answer."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.readers import events as steps
from gistread.readers.options import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.session.events import ActivityChanged, AskingState, QuestionProgress, SessionEvent


@dataclass(slots=True)
class Question:
    """A question about a book or its beginning, and the state of the answer."""

    text: str
    reader: str
    steering: steps.Steering = field(default_factory=steps.Steering)
    until: int | None = None  # Offset in the book; the model sees no text after it
    choices: tuple[str, ...] = ()
    state: AskingState = AskingState.WAITING
    admitted: bool = False  # Its model and memory are ready, or being loaded for it
    apart: bool = False  # A model other than the reading one answers

    @property
    def needs_memory(self) -> bool:
        return METHODS[self.reader].needs_memory

    async def run(
        self, memory: GistMemory, engine: Engine, options: ReaderOptions, tell: Callable[[SessionEvent], None]
    ) -> None:
        """Run the reader. Raises EngineError, UsageError."""
        self.state = AskingState.PAGE
        tell(ActivityChanged())
        events: AsyncGenerator[steps.ReaderEvent, None]
        events = METHODS[self.reader].reader()(self.text, memory, engine, self.steering, options)
        async for event in events:
            if (state := _state_from(event, self.state)) is not self.state:
                self.state = state
                tell(ActivityChanged())
            tell(QuestionProgress(event))


def _state_from(event: steps.ReaderEvent, before: AskingState) -> AskingState:
    match event:
        case steps.Prepared():
            return AskingState.ARTIFACTS
        case steps.TeamFormed() | steps.PartRead():
            return AskingState.TEXT
        case steps.Stopped() | steps.AnswerDelta():
            return AskingState.ANSWER
        case steps.Branched() | steps.Planned():
            return AskingState.PAGE
    return before
