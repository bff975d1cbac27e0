"""Marks, questions and gists as Markdown."""

import re
from collections.abc import Iterable, Iterator

from gistread.book.model import Book
from gistread.exporting.model import Export, percent
from gistread.marking.model import Mark, MarkKind
from gistread.store.evidence import with_messages
from gistread.store.model import SavedQuestion
from gistread.units import iso_time


def as_markdown(export: Export) -> str:
    """Marks by chapter, then questions, then gists."""
    book = export.book
    parts = [f"# {_inline(book.title)}"]
    if book.authors:
        parts.append(_inline(", ".join(book.authors)))
    if placed := [mark for mark in export.marks if not mark.lost]:
        parts.append("## Marks")
        parts += _by_chapter(book, [(mark.start, mark_markdown(book, mark)) for mark in placed])
    if lost := [mark for mark in export.marks if mark.lost]:
        parts.append("## Marks that lost their place")
        parts.append("Their words are not in this version of the text.")
        parts += [part for mark in lost for part in mark_markdown(book, mark)]
    if export.questions:
        parts.append("## Questions")
        parts += [part for asked in export.questions for part in question_markdown(book, asked)]
    if export.memory is not None and export.memory.entries:
        parts.append("## Gists")
        parts.append(_inline(f"Read by {export.memory.model_name}."))
        gists = (
            (entry.page.start, [f"**{entry.page.number}** {_inline(' '.join(entry.gist.text.split()))}"])
            for entry in export.memory.entries
        )
        parts += _by_chapter(book, gists)
    if len(parts) <= 2:
        parts.append("No marks, questions or gists yet.")
    return "\n\n".join(parts) + "\n"


def _by_chapter(book: Book, parts: Iterable[tuple[int, Iterable[str]]]) -> Iterator[str]:
    chapter = -1
    for offset, part in parts:
        index = book.chapter_index(offset)
        if index != chapter and len(book.chapters) > 1:
            chapter = index
            yield f"### {_inline(book.chapter_title(offset))}"
        yield from part


def mark_markdown(book: Book, mark: Mark, chapter: str = "") -> Iterator[str]:
    """The blocks of a mark: its words, its note, its kind and place."""
    yield _quoted(mark.place.exact + (" …" if mark.kind in (MarkKind.BOOKMARK, MarkKind.LETTER) else ""))
    if mark.note:
        yield block(mark.note)
    name = {MarkKind.HIGHLIGHT: f"{mark.color or 'yellow'} highlight", MarkKind.LETTER: f"mark {mark.letter}"}.get(
        mark.kind, mark.kind.value
    )
    facts = (name, _inline(chapter), "" if mark.lost else _place(book, mark.start), iso_time(mark.made_at)[:10])
    yield f"— *{' · '.join(filter(None, facts))}*"


def question_markdown(book: Book, asked: SavedQuestion) -> Iterator[str]:
    """The blocks of a question: a heading, the answer, its sources."""
    yield f"### {_inline(asked.question)}"
    yield (block(with_messages(asked.answer, asked.marks).text) if asked.answer.strip() else "No answer was given.")
    for one in asked.citations:
        section = f"section {one.page} · " if one.page else ""
        yield f"{_quoted(one.quote)}\n>\n> — *{section}{_place(book, one.start)}*"
    over = f", over the memory of {asked.memory}" if asked.memory not in ("", asked.model) else ""
    method = f"{asked.reader} with {asked.model}{over}" if asked.model else asked.reader
    if facts := " · ".join(filter(None, (method, iso_time(asked.asked_at)[:10]))):
        yield f"*{_inline(facts)}*"


def _place(book: Book, offset: int) -> str:
    place = (_inline(book.volume_title(offset)), f"{percent(book, offset):g}%", f"offset {offset}")
    return " · ".join(filter(None, place))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in block(text).split("\n"))


def block(text: str) -> str:
    """Lines of text as Markdown."""
    lines = [_inline(line.strip()) for line in text.strip().split("\n")]
    ends = ["\\" if line and number + 1 < len(lines) and lines[number + 1] else "" for number, line in enumerate(lines)]
    return "\n".join(line + end for line, end in zip(lines, ends, strict=True))


_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
_SIGN_AT_START = re.compile(r"^(\s*)(?=[-+=:])")
_NUMBER_AT_START = re.compile(r"^(\s*\d+)(?=[.)])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _inline(text: str) -> str:
    text = _SPECIAL.sub(r"\\\1", _CONTROL.sub("\ufffd", text))
    return _NUMBER_AT_START.sub(r"\1\\", _SIGN_AT_START.sub(r"\1\\", text))
