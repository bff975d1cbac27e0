"""Takes notes through the whole book for one question.

GraphReader's "Chunk Read with Notes" (appendix D).
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from gistread import prompts
from gistread.engine.protocol import Engine, Sampling
from gistread.errors import PromptTooLongError
from gistread.memory.passages import Span, join
from gistread.readers.answering import (
    REPEAT_PENALTY,
    STOP_OF_NOTES,
    Asking,
    adds_nothing,
    user_prompt,
    words_of,
)
from gistread.readers.book_text import chunks_to_read, setting_of
from gistread.readers.events import (
    Answered,
    Noted,
    PartRead,
    ReaderEvents,
    Started,
    Stopped,
    StopReason,
)
from gistread.readers.evidence import telling_passage
from gistread.readers.kinds import Kind, kind_of
from gistread.readers.thread import without_options
from gistread.search.tokens import code_of, language_of
from gistread.words import count_words

NAME = "notes"

CHUNK_TOKENS = 2000  # As in GraphReader (section 4.1)
_TASK_TOKENS = 200  # Upper bound for the longest prompt and the chat template
_NONE = "none"
_CHUNK_NOTE_TOKENS = 192  # Longest note on a chunk; a longer one is gone on with
_LEAST_ROOMS = 8  # Times the room of a note that the window has
_MOST_NOTES = 3  # Notes on one chunk
# Of an item that a longer one may tell; a shorter one is a thing of a list
_LEAST_WORDS = 4
_ITEM_MARK = re.compile(r"\A(?:[-*•]|\d{1,2}[.)])\s+")
CUT = "The notes on this part were cut off."


@dataclass(frozen=True, slots=True)
class _Note:
    text: str
    chunk: Span  # That it was taken on
    source: Span  # The sentences of the chunk that tell it


@dataclass(slots=True)
class _Notebook:
    room_tokens: int
    notes: list[_Note] = field(default_factory=list)
    dropped: list[_Note] = field(default_factory=list)  # For want of room

    def text(self, *, numbered: bool = False) -> str:
        marks = (
            f"[{number}]" if numbered else "-"
            for number in range(1, len(self.notes) + 1)
        )
        return "\n".join(
            f"{mark} {note.text}" for mark, note in zip(marks, self.notes, strict=True)
        )

    def has(self, item: str) -> bool:
        """Whether an earlier item is the same, or tells all of a longer one.

        "The king" is not told by "the king's daughter".
        """
        words = words_of(item)
        if len(words) < _LEAST_WORDS:
            return any(words == words_of(note.text) for note in self.notes)
        return any(words <= words_of(note.text) for note in self.notes)

    async def add(self, note: _Note, engine: Engine) -> None:
        self.notes.append(note)
        while self.notes and await engine.count(self.text()) > self.room_tokens:
            self.dropped.append(self.notes.pop(0))


async def notes(asking: Asking) -> ReaderEvents:
    """Answer from the whole book, read for this question."""
    memory, engine = asking.memory, asking.engine
    window = engine.info.context_tokens
    note_tokens = min(_CHUNK_NOTE_TOKENS, window // _LEAST_ROOMS)
    answer_tokens = max(note_tokens, asking.answer_tokens)
    room = window - answer_tokens - _TASK_TOKENS - await engine.count(asking.question)
    if room < 2 * _TASK_TOKENS:
        raise PromptTooLongError(
            window - room - answer_tokens + 2 * _TASK_TOKENS, answer_tokens, window
        )
    book = memory.book
    chunk_tokens = min(CHUNK_TOKENS, room // 2)
    parts = await chunks_to_read(asking, chunk_tokens)
    notebook = _Notebook(min(room - chunk_tokens, _notebook_tokens(asking.question)))
    yield Started(
        NAME,
        len(memory.read_entries),
        memory.estimated_pages,
        memory.complete,
        share_shown=1.0,
    )

    reason = StopReason.NOTHING_LEFT
    for number, (start, end) in enumerate(parts, start=1):
        if asking.steering.stop:
            reason = StopReason.PERSON
            break
        async with aclosing(
            _read_chunk(asking, notebook, (start, end), note_tokens)
        ) as noted:
            async for event in noted:
                yield event
        yield PartRead(number, len(parts), start, end)
    text = notebook.text(numbered=asking.is_asked_to_cite)
    if notebook.dropped:
        yield Noted(
            f"The first {len(notebook.dropped)} notes were dropped to make room for later ones.",
            0,
            0,
        )
    yield Stopped(reason)

    chunks = {note.chunk for note in (*notebook.dropped, *notebook.notes)}
    draft = Answered(
        found=bool(notebook.notes),
        compression_rate=asking.compression_rate(count_words(text)),
        seen=tuple(join(chunks, book)),
    )
    prompt = asking.answer_prompt("notes_answer", notes=text or _NONE)
    sources = [note.source for note in notebook.notes]
    numbered = asking.to_cite(enumerate(sources, start=1))
    async for event in asking.answer_from(draft, text, prompt, numbered):
        yield event


def _notebook_tokens(question: str) -> int:
    """Room for the notes: a list of the whole book needs more."""
    return 2 * CHUNK_TOKENS if kind_of(question) is Kind.LIST else CHUNK_TOKENS


async def _read_chunk(
    asking: Asking, notebook: _Notebook, place: Span, note_tokens: int
) -> ReaderEvents:
    """Note what a chunk adds, an item a line. A note that was cut off is gone on with.

    Question and notes stand before the chunk, so that the prompts of all chunks begin alike, and
    those of one chunk share its text too.
    """
    start, end = place
    memory = asking.memory
    sampling = Sampling(note_tokens, repeat_penalty=REPEAT_PENALTY, stop=STOP_OF_NOTES)
    earlier = notebook.text() or _NONE
    where = await asyncio.to_thread(setting_of, memory, place)
    question = without_options(asking.question)
    noted: list[str] = []  # On this chunk
    for _ in range(_MOST_NOTES):
        prompt = user_prompt(
            "note_chunk",
            question=asking.question,
            notes=earlier,
            text=memory.book.text[start:end].strip(),
            where=where,
            noted=_note_language(asking) + _already_noted(noted),
        )
        note = await asking.complete_scored(prompt, sampling)
        items = _items_of(note.text)
        is_cut = note.finish == "length"
        whole = items[:-1]
        if is_cut and whole:
            items = whole  # The last one is noted whole next time.
        new = [item for item in items if not notebook.has(item)]
        for item in new:
            source = await asyncio.to_thread(
                telling_passage, item, question, place, memory
            )
            await notebook.add(_Note(item, place, source), asking.engine)
            noted.append(item)
            yield Noted(item, start, end)
        if not is_cut or not new:
            return
    yield Noted(CUT, start, end)


def _note_language(asking: Asking) -> str:
    """Tells a model that is asked in another language: notes are traced by their words."""
    language = code_of(asking.memory.book.language)
    if language_of(without_options(asking.question), language) == language:
        return ""
    return f" {prompts.load('note_language').text}"


def _already_noted(items: Sequence[str]) -> str:
    if not items:
        return ""
    listed = "\n".join(f"- {item}" for item in items)
    return f" {prompts.load('noted').fill(notes=listed)}"


def _items_of(note: str) -> list[str]:
    """The lines of a note that add something, without bullets."""
    lines = (_ITEM_MARK.sub("", " ".join(line.split())) for line in note.splitlines())
    return [line for line in lines if line and not adds_nothing(line)]
