"""The chunks of a book that LongAgent's members read (sections 2.1, 2.2); their KV states are pinned in memory."""

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

MAX_CHUNK_TOKENS = 2000  # Section 2.1: 1,024 or 2,048
TASK_TOKENS = 160  # Upper bound for the longest prompt and the chat template
_QUESTION_TOKENS = 96  # Upper bound for a usual question, so that all such questions share the same chunks
_ROUNDS = 2  # A second round, in case the engine crashes and loses its pinned chunks


def chunk_tokens(window: int, question_tokens: int = 0, answer_tokens: int = ANSWER_TOKENS) -> int:
    """Most tokens of a chunk, so that two fit the window with a question. Raises PromptTooLongError."""
    room = (window - answer_tokens - TASK_TOKENS - max(_QUESTION_TOKENS, question_tokens)) // 2
    if room < TASK_TOKENS:
        raise PromptTooLongError(window - 2 * room + 2 * TASK_TOKENS, answer_tokens, window)
    return min(MAX_CHUNK_TOKENS, room)


def chunk_text(chunks: Iterable[Passage], book: Book) -> str:
    return render(join(chunks, book), book)


def chunk_prompt(chunk: Passage, book: Book) -> Prompt:
    """The common beginning of every question to the member with this chunk."""
    text = chunk_text([chunk], book)
    return (Message("user", prompts.load("member_mention").fill(text=text, question=""), stable=len(text)),)


async def pinned(chunks: Iterable[Passage], book: Book, engine: Engine) -> list[bool]:
    if not engine.info.pinnable_tokens:
        return [False for _ in chunks]
    return await engine.pinned(await asyncio.to_thread(lambda: [chunk_prompt(chunk, book) for chunk in chunks]))


async def prefetch(book: Book, engine: Engine, priority: Priority) -> AsyncGenerator[ArtifactProgress, None]:
    """Pin as many chunks as fit in the engine, skipping pinned ones. Raises EngineError."""
    chunks = await _pinnable(book, engine)
    for _ in range(_ROUNDS):
        are_pinned = await pinned(chunks, book, engine)
        done = sum(are_pinned)
        for chunk in (chunk for chunk, is_pinned in zip(chunks, are_pinned, strict=True) if not is_pinned):
            usage = await engine.pin(chunk_prompt(chunk, book), priority)
            if usage is None:
                return  # less memory than announced
            done += 1
            yield ArtifactProgress(done, len(chunks), usage)


async def remaining(book: Book, engine: Engine) -> RemainingWork:
    chunks = await _pinnable(book, engine)
    done = sum(await pinned(chunks, book, engine))
    each = _usual_tokens(engine.info) if chunks else 0
    return RemainingWork(done, len(chunks), (len(chunks) - done) * each, needless=not chunks)


async def _pinnable(book: Book, engine: Engine) -> list[Passage]:
    try:
        each = _usual_tokens(engine.info)
    except PromptTooLongError:
        return []
    most = engine.info.pinnable_tokens // each
    return await split_into_chunks(book, each, engine.count, first=most) if most else []


def _usual_tokens(info: EngineInfo) -> int:
    return chunk_tokens(info.context_tokens)
