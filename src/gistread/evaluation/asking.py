"""One question put to one reader, and what came of it as an `Outcome`. It always comes to one: what fails, and what
takes too long, is an outcome that did not end.

Scores, files and other questions are no affair of this.
"""

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, replace

from gistread.engine.protocol import Engine
from gistread.errors import EngineError, GistreadError, PromptTooLongError
from gistread.evaluation.model import Outcome, Question
from gistread.memory.model import GistMemory
from gistread.readers.events import Answered, LookedUp, Prepared, Steering
from gistread.readers.options import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.text import describe


@dataclass(frozen=True, slots=True)
class Place:
    """Where a question stands in a run."""

    task: str
    document: str
    reader: str


async def ask(
    question: Question,
    place: Place,
    memory: GistMemory,
    engine: Engine,
    options: ReaderOptions,
    timeout_s: float = 0.0,
) -> tuple[Outcome, EngineError | None]:
    """What the reader makes of the question over this memory; and the error, if it was the engine that failed.

    `timeout_s` 0: as long as it takes. What a reader prepares for all questions of a text counts for neither the time
    limit nor the seconds. Raises nothing but cancellation.
    """
    events: list[str] = []
    lookups: list[int] = []
    answered: Answered | None = None
    error, lost = "", None
    loop = asyncio.get_running_loop()
    began = time.monotonic()
    reader = METHODS[place.reader].reader()
    try:
        async with asyncio.timeout(timeout_s or None) as limit:
            of_question = replace(options, choices=question.choices)
            async with aclosing(reader(question.text, memory, engine, Steering(), of_question)) as stream:
                async for event in stream:
                    if told := describe(event):
                        events.append(told.strip())
                    match event:
                        case Prepared():
                            began = time.monotonic()
                            limit.reschedule(loop.time() + timeout_s if timeout_s else None)
                        case LookedUp(page=page):
                            lookups.append(page)
                        case Answered():
                            answered = event
    except TimeoutError:
        error = f"It took longer than {timeout_s:g} s."
    except GistreadError as failure:
        error = failure.message
        if isinstance(failure, EngineError) and not isinstance(failure, PromptTooLongError):
            lost = failure
    except Exception as defect:
        # One question that a reader stumbles over must not end a night's run; the table says that it did not end.
        error = f"A defect of the reader: {type(defect).__name__}: {defect}"
    seconds = time.monotonic() - began
    if answered is None:
        return failed(question, place, error, seconds, tuple(lookups), tuple(events)), lost
    outcome = Outcome(
        task=place.task,
        document=place.document,
        question=question.id,
        reader=place.reader,
        text=question.text,
        answer=answered.answer,
        found=answered.found,
        choice=answered.choice,
        lookups=answered.lookups,
        seen=answered.seen,
        citations=tuple((citation.start, citation.end) for citation in answered.citations),
        context_tokens=answered.context_tokens,
        compression_rate=answered.compression_rate,
        usage=answered.usage,
        seconds=seconds,
        events=tuple(events),
    )
    return outcome, None


def failed(
    question: Question,
    place: Place,
    error: str,
    seconds: float = 0.0,
    lookups: tuple[int, ...] = (),
    events: tuple[str, ...] = (),
) -> Outcome:
    """Of a question that did not end."""
    return Outcome(
        task=place.task,
        document=place.document,
        question=question.id,
        reader=place.reader,
        text=question.text,
        answer="",
        found=False,
        choice=None,
        lookups=lookups,
        seen=(),
        citations=(),
        context_tokens=0,
        compression_rate=0.0,
        seconds=seconds,
        ended=False,
        error=error,
        events=events,
    )
