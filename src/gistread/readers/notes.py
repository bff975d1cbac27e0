"""Reads the whole book for one question, and takes notes: GraphReader's "Chunk Read with Notes".

See its appendix D.
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
_CHUNK_NOTE_TOKENS = 192  # Longest note on a chunk; a longer one is continued
_WINDOW_SHARE = 8  # A note takes at most an eighth of the window
_MOST_NOTES = 3  # Notes on one chunk
# Shorter items are things of a list; only longer ones may be told within another item
_LEAST_WORDS = 4
_ITEM_MARK = re.compile(r"\A(?:[-*•]|\d{1,2}[.)])\s+")  # "- ", "2. "
CUT = "The notes on this part were cut off."


@dataclass(frozen=True, slots=True)
class _Note:
    text: str
    chunk: Span  # The chunk that it is about
    source: Span  # The sentences of the chunk that tell it


@dataclass(slots=True)
class _Notebook:
    """The latest notes on all chunks, as many as have room."""

    room_tokens: int
    notes: list[_Note] = field(default_factory=list)
    dropped: list[_Note] = field(default_factory=list)  # The first ones, to make room

    def text(self, *, numbered: bool = False) -> str:
        lines: list[str] = []
        for number, note in enumerate(self.notes, start=1):
            mark = f"[{number}]" if numbered else "-"
            lines.append(f"{mark} {note.text}")
        return "\n".join(lines)

    def has(self, item: str) -> bool:
        """Whether an earlier note has the same words, or all words of a long item.

        A short item, "The king", may be another than "the king's daughter".
        """
        words = words_of(item)
        if len(words) < _LEAST_WORDS:
            return any(words == words_of(note.text) for note in self.notes)
        return any(words <= words_of(note.text) for note in self.notes)

    async def add(self, note: _Note, engine: Engine) -> None:
        """Add a note, and drop the first ones if there is no room."""
        self.notes.append(note)
        while self.notes and await engine.count(self.text()) > self.room_tokens:
            self.dropped.append(self.notes.pop(0))


async def notes(asking: Asking) -> ReaderEvents:
    """Answer from the whole book, read for this question."""
    memory = asking.memory
    sizes = await _sizes_for(asking)
    parts = await chunks_to_read(asking, sizes.chunk_tokens)
    notebook = _Notebook(sizes.notebook_tokens)
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
        reading = _read_chunk(asking, notebook, (start, end), sizes.note_tokens)
        async with aclosing(reading) as noted:
            async for event in noted:
                yield event
        yield PartRead(number, len(parts), start, end)
    if notebook.dropped:
        count = len(notebook.dropped)
        message = f"The first {count} notes were dropped to make room for later ones."
        yield Noted(message, 0, 0)
    yield Stopped(reason)
    async with aclosing(_answer(asking, notebook)) as answered:
        async for event in answered:
            yield event


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How the window is shared out."""

    chunk_tokens: int
    note_tokens: int  # Longest note on one chunk
    notebook_tokens: int


async def _sizes_for(asking: Asking) -> _Sizes:
    """Room for a chunk and all notes beside question and answer. Raises PromptTooLongError."""
    engine = asking.engine
    window = engine.info.context_tokens
    note_tokens = min(_CHUNK_NOTE_TOKENS, window // _WINDOW_SHARE)
    answer_tokens = max(note_tokens, asking.answer_tokens)
    question_tokens = await engine.count(asking.question)
    room = window - answer_tokens - _TASK_TOKENS - question_tokens
    least_room = 2 * _TASK_TOKENS
    if room < least_room:
        needed = question_tokens + _TASK_TOKENS + least_room
        raise PromptTooLongError(needed, answer_tokens, window)
    chunk_tokens = min(CHUNK_TOKENS, room // 2)
    is_list = kind_of(asking.question) is Kind.LIST
    # A list from the whole book needs more.
    usual_notebook = 2 * CHUNK_TOKENS if is_list else CHUNK_TOKENS
    notebook_tokens = min(room - chunk_tokens, usual_notebook)
    return _Sizes(chunk_tokens, note_tokens, notebook_tokens)


async def _answer(asking: Asking, notebook: _Notebook) -> ReaderEvents:
    """Answer from the notes."""
    text = notebook.text(numbered=asking.is_asked_to_cite)
    chunks = {note.chunk for note in (*notebook.dropped, *notebook.notes)}
    draft = Answered(
        found=bool(notebook.notes),
        compression_rate=asking.compression_rate(count_words(text)),
        seen=tuple(join(chunks, asking.memory.book)),
    )
    prompt = asking.answer_prompt("notes_answer", notes=text or _NONE)
    sources = [note.source for note in notebook.notes]
    numbered = asking.to_cite(enumerate(sources, start=1))
    async for event in asking.answer_from(draft, text, prompt, numbered):
        yield event


async def _read_chunk(
    asking: Asking, notebook: _Notebook, place: Span, note_tokens: int
) -> ReaderEvents:
    """Note what a chunk adds, one item on each line. A note that was cut off is continued.

    Question and notes stand before the chunk, so that the prompts of all chunks begin alike, and
    those of one chunk share its text too.
    """
    start, end = place
    memory = asking.memory
    sampling = Sampling(note_tokens, repeat_penalty=REPEAT_PENALTY, stop=STOP_OF_NOTES)
    earlier = notebook.text() or _NONE
    where = await asyncio.to_thread(setting_of, memory, place)
    question = without_options(asking.question)
    noted: list[str] = []  # The items on this chunk
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
        if is_cut and len(items) > 1:
            # The last item is cut; it is noted in full next time.
            items = items[:-1]
        new = [item for item in items if not notebook.has(item)]
        for item in new:
            source = await asyncio.to_thread(
                telling_passage, item, question, place, memory
            )
            await notebook.add(_Note(item, place, source), asking.engine)
            noted.append(item)
            yield Noted(item, start, end)
        # A continuation that repeats earlier notes would go on with that.
        if not is_cut or not new:
            return
    yield Noted(CUT, start, end)


def _note_language(asking: Asking) -> str:
    """The request to note in the book's language, if the question is in another.

    Notes are traced to the book by their words.
    """
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
    items: list[str] = []
    for line in note.splitlines():
        item = _ITEM_MARK.sub("", " ".join(line.split()))
        if item and not adds_nothing(item):
            items.append(item)
    return items
