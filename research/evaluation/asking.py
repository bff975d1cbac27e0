"""Puts one question to one reader. Errors and timeouts become outcomes too."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from gistread.engine.protocol import Engine
from gistread.errors import EngineError, GistreadError, PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, LookedUp, Prepared, ReaderEvent
from gistread.readers.steering import Steering
from gistread.readers.trace import Places, step_of
from research.evaluation.model import Outcome, Question
from research.evaluation.readers import METHODS


async def ask(
    question: Question,
    blank: Outcome,
    memory: GistMemory,
    engine: Engine,
    options: ReaderOptions,
    timeout_s: float = 0.0,
) -> tuple[Outcome, EngineError | None]:
    """Ask the question and fill `blank`; also returns an error of the engine.

    `timeout_s` 0: no limit.
    """
    attempt = _Attempt(Places(len(memory.book.text), memory), timeout_s)
    error = ""
    lost: EngineError | None = None
    reader = METHODS[blank.reader].reader()
    options = replace(options, choices=question.choices)
    asking = Asking(question.text, memory, engine, Steering(), options)
    try:
        await attempt.follow(reader(asking))
    except TimeoutError:
        error = f"It took longer than {timeout_s:g} s."
    except GistreadError as failure:
        error = failure.message
        is_too_long = isinstance(failure, PromptTooLongError)
        if isinstance(failure, EngineError) and not is_too_long:
            lost = failure
    except Exception as defect:
        # One failing question must not end a long run; the table counts it.
        error = f"Internal error of the reader: {type(defect).__name__}: {defect}"
    seconds = time.monotonic() - attempt.began
    blank = replace(blank, seconds=seconds, events=tuple(attempt.events))
    if attempt.answered is None:
        lookups = tuple(attempt.lookups)
        return replace(blank, lookups=lookups, ended=False, error=error), lost
    return _filled(blank, attempt.answered, memory.book.text), None


@dataclass(slots=True)
class _Attempt:
    """What a reader has done about a question so far."""

    places: Places
    timeout_s: float
    began: float = field(default_factory=time.monotonic)
    events: list[str] = field(default_factory=list)
    lookups: list[int] = field(default_factory=list)
    answered: Answered | None = None

    async def follow(self, reader: AsyncGenerator[ReaderEvent, None]) -> None:
        """Follow a reader to its end. Raises TimeoutError; what it prepares takes no time."""
        loop = asyncio.get_running_loop()
        async with (
            asyncio.timeout(self.timeout_s or None) as limit,
            aclosing(reader) as stream,
        ):
            async for event in stream:
                self._note(event)
                if isinstance(event, Prepared):
                    self.began = time.monotonic()
                    if self.timeout_s:
                        limit.reschedule(loop.time() + self.timeout_s)

    def _note(self, event: ReaderEvent) -> None:
        step = step_of(event, self.places)
        if step:
            self.events.append(step.text)
        match event:
            case LookedUp(page=page):
                self.lookups.append(page)
            case Answered():
                self.answered = event


def _filled(blank: Outcome, answered: Answered, text: str) -> Outcome:
    """The outcome of an answer; a quotation instead of one counts as an unsupported answer."""
    citations = answered.citations
    quotes = " ".join(citation.quote for citation in citations)
    quotes_hold = all(
        citation.quote and text[citation.start : citation.end] == citation.quote
        for citation in citations
    )
    has_answer = answered.found or answered.quoted
    is_unsupported = answered.quoted or bool(answered.marks)
    return replace(
        blank,
        answer=quotes if answered.quoted else answered.answer,
        has_answer=has_answer,
        choice=answered.choice,
        lookups=answered.lookups,
        seen=answered.seen,
        citations=tuple((citation.start, citation.end) for citation in citations),
        quotes_hold=quotes_hold if citations else None,
        unsupported=is_unsupported if has_answer else None,
        context_tokens=answered.context_tokens,
        compression_rate=answered.compression_rate,
        usage=answered.usage,
    )
