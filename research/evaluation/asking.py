"""Puts one question to one reader. Errors and timeouts become outcomes too."""

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace

from gistread.engine.protocol import Engine
from gistread.errors import EngineError, GistreadError, PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, LookedUp, Prepared
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
    events: list[str] = []
    places = Places(len(memory.book.text), memory)
    lookups: list[int] = []
    answered: Answered | None = None
    error, lost = "", None
    loop = asyncio.get_running_loop()
    began = time.monotonic()
    reader = METHODS[blank.reader].reader()
    try:
        async with asyncio.timeout(timeout_s or None) as limit:
            options = replace(options, choices=question.choices)
            asking = Asking(question.text, memory, engine, Steering(), options)
            async with aclosing(reader(asking)) as stream:
                async for event in stream:
                    if step := step_of(event, places):
                        events.append(step.text)
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
        # One failing question must not end a long run; the table counts it.
        error = f"Internal error of the reader: {type(defect).__name__}: {defect}"
    seconds = time.monotonic() - began
    blank = replace(blank, seconds=seconds, events=tuple(events))
    if answered is None:
        return replace(blank, lookups=tuple(lookups), ended=False, error=error), lost
    quotes, text = answered.citations, memory.book.text
    return replace(
        blank,
        answer=" ".join(one.quote for one in answered.citations)
        if answered.quoted
        else answered.answer,
        found=answered.found or answered.quoted,
        choice=answered.choice,
        lookups=answered.lookups,
        seen=answered.seen,
        citations=tuple((citation.start, citation.end) for citation in answered.citations),
        quotes_hold=all(
            quote.quote and text[quote.start : quote.end] == quote.quote for quote in quotes
        )
        if quotes
        else None,
        unsupported=answered.quoted or bool(answered.marks)
        if answered.quoted or answered.found
        else None,
        context_tokens=answered.context_tokens,
        compression_rate=answered.compression_rate,
        usage=answered.usage,
    ), None
