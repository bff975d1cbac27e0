"""Takes notes through the whole book for one question.

GraphReader's "Chunk Read with Notes" (appendix D).
"""

from dataclasses import dataclass, field

from gistread.engine.protocol import Engine
from gistread.errors import PromptTooLongError
from gistread.memory.passages import Span, join, split_into_chunks
from gistread.readers.answering import NOTE_TOKENS, Asking, user_prompt, words_of
from gistread.readers.book_text import setting
from gistread.readers.events import (
    Answered,
    Noted,
    PartRead,
    ReaderEvents,
    Started,
    Stopped,
    StopReason,
)
from gistread.words import count_words

NAME = "notes"

CHUNK_TOKENS = 2000  # As in GraphReader (section 4.1)
_TASK_TOKENS = 200  # Upper bound for the longest prompt and the chat template
_NONE = "none"


@dataclass(slots=True)
class _Notebook:
    room_tokens: int
    notes: list[tuple[str, Span]] = field(default_factory=list)
    dropped: int = 0

    def text(self, *, numbered: bool = False) -> str:
        marks = (f"[{number}]" if numbered else "-" for number in range(1, len(self.notes) + 1))
        return "\n".join(
            f"{mark} {note}" for mark, (note, _) in zip(marks, self.notes, strict=True)
        )

    def has(self, note: str) -> bool:
        """Whether all words of a note are in an earlier one."""
        return any(words_of(note) <= words_of(other) for other, _ in self.notes)

    async def add(self, note: str, place: Span, engine: Engine) -> None:
        self.notes.append((note, place))
        while self.notes and await engine.count(self.text()) > self.room_tokens:
            del self.notes[0]
            self.dropped += 1


async def notes(asking: Asking) -> ReaderEvents:
    """Answer from the whole book, read for this question."""
    memory, engine = asking.memory, asking.engine
    window = engine.info.context_tokens
    answer_tokens = max(NOTE_TOKENS, asking.answer_tokens)
    room = window - answer_tokens - _TASK_TOKENS - await engine.count(asking.question)
    if room < 2 * _TASK_TOKENS:
        raise PromptTooLongError(
            window - room - answer_tokens + 2 * _TASK_TOKENS, answer_tokens, window
        )
    book = memory.book
    chunk_tokens = min(CHUNK_TOKENS, room // 2)
    parts = await split_into_chunks(book, chunk_tokens, engine.count)
    notebook = _Notebook(min(room - chunk_tokens, CHUNK_TOKENS))
    yield Started(
        NAME, len(memory.entries), memory.estimated_pages, memory.complete, share_shown=1.0
    )

    reason = StopReason.NOTHING_LEFT
    for number, (start, end) in enumerate(parts, start=1):
        if asking.steering.stop:
            reason = StopReason.PERSON
            break
        prompt = user_prompt(
            "note_chunk",
            text=book.text[start:end].strip(),
            where=setting(memory, start),
            question=asking.question,
            notes=notebook.text() or _NONE,
        )
        note = await asking.take_note(prompt)
        if note and not notebook.has(note):
            await notebook.add(note, (start, end), engine)
            yield Noted(note, start, end)
        yield PartRead(number, len(parts), start, end)
    text = notebook.text(numbered=asking.is_asked_to_cite)
    if notebook.dropped:
        yield Noted(
            f"The first {notebook.dropped} notes were dropped to make room for later ones.", 0, 0
        )
    yield Stopped(reason)

    places = [place for _, place in notebook.notes]
    draft = Answered(
        found=bool(places),
        compression_rate=asking.compression_rate(count_words(text)),
        seen=tuple(join(places, book)),
    )
    prompt = asking.answer_prompt("notes_answer", notes=text or _NONE)
    numbered = tuple(enumerate(places, start=1)) if asking.is_asked_to_cite else ()
    async for event in asking.answer_from(draft, text, prompt, numbered):
        yield event
