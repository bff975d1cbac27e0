"""A book in the parts that members of a team have read, one each (LongAgent, sections 2.1 and 2.2).

A member has read its part once the engine has evaluated it. What a member is asked begins with its part, so this can
be done before anybody asks, and the engine holds in memory what it did: of as many parts as it has room for, those at
the beginning of the book. Nothing of it is kept on disk: it would be gigabytes. What is there, the engine knows. What
members are asked, and what becomes of their answers, is the affair of the reader.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable

from gistread import prompts
from gistread.book.model import Book
from gistread.engine.protocol import Engine, EngineInfo, Message, Priority, Prompt
from gistread.errors import PromptTooLongError
from gistread.memory.derived import ArtifactProgress
from gistread.memory.estimate import RemainingWork
from gistread.memory.passages import Passage, join, render, split_into_chunks
from gistread.memory.sizes import ANSWER_TOKENS

PART_TOKENS = 2000
"""Of a part, at most (section 2.1: 1,024 or 2,048)."""
TASK_TOKENS = 160
"""Words of the longest prompt and of the chat template, rather more than less."""
_QUESTION_TOKENS = 96
"""Room for any usual question: for all of these a book has the same parts."""
_ROUNDS = 2
"""An engine that is lost holds nothing any more; once, all is read again."""


def chunk_tokens(window: int, question_tokens: int = 0, answer_tokens: int = ANSWER_TOKENS) -> int:
    """Tokens of a part, at most, so that two of them fit the window together with a question and its answer.

    Raises PromptTooLongError when none would.
    """
    room = (window - answer_tokens - TASK_TOKENS - max(_QUESTION_TOKENS, question_tokens)) // 2
    if room < TASK_TOKENS:
        raise PromptTooLongError(window - 2 * room + 2 * TASK_TOKENS, answer_tokens, window)
    return min(PART_TOKENS, room)


def chunk_text(parts: Iterable[Passage], book: Book) -> str:
    """What stands before a member that has read these."""
    return render(join(parts, book), book)


def chunk_prompt(part: Passage, book: Book) -> Prompt:
    """What every question to the member that has read this part begins with."""
    text = chunk_text([part], book)
    return (Message("user", prompts.load("member_mention").fill(text=text, question=""), stable=len(text)),)


async def pinned(parts: Iterable[Passage], book: Book, engine: Engine) -> list[bool]:
    """Of each part whether the engine has read it, and need not again."""
    if not engine.info.pinnable_tokens:
        return [False for _ in parts]
    return await engine.pinned(await asyncio.to_thread(lambda: [chunk_prompt(part, book) for part in parts]))


async def prefetch(book: Book, engine: Engine, priority: Priority) -> AsyncGenerator[ArtifactProgress, None]:
    """Let the engine read as many parts as it can hold. What it holds is not read again. Raises EngineError."""
    parts = await _first(book, engine)
    for _ in range(_ROUNDS):
        there = await pinned(parts, book, engine)
        done = sum(there)
        for part in (part for part, known in zip(parts, there, strict=True) if not known):
            usage = await engine.pin(chunk_prompt(part, book), priority)
            if usage is None:
                return  # There is less memory than there was.
            done += 1
            yield ArtifactProgress(done, len(parts), usage)


async def remaining(book: Book, engine: Engine) -> RemainingWork:
    """How many of these parts are to be read."""
    parts = await _first(book, engine)
    done = sum(await pinned(parts, book, engine))
    each = _usual_tokens(engine.info) if parts else 0
    return RemainingWork(done, len(parts), (len(parts) - done) * each, needless=not parts)


async def _first(book: Book, engine: Engine) -> list[Passage]:
    """The parts that the engine has room for, as the reader will have them."""
    try:
        each = _usual_tokens(engine.info)
    except PromptTooLongError:
        return []
    most = engine.info.pinnable_tokens // each
    return await split_into_chunks(book, each, engine.count, first=most) if most else []


def _usual_tokens(info: EngineInfo) -> int:
    return chunk_tokens(info.context_tokens)
