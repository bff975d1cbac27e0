"""Marks, questions and gists as Markdown: one document, or a note for Obsidian.

Each export to a note appends new items and leaves existing text unchanged. An Obsidian block id
(`^mark-…`) on its own line follows every item. An item whose id is in the note is not exported
again, even if the user edited it.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import FileIO
from itertools import pairwise
from pathlib import Path

import yaml

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.exporting.markup import STRONG, TABLE_RULE
from gistread.exporting.model import (
    Export,
    chapter_of,
    export_file_name,
    percent,
    quoted_marks,
)
from gistread.exporting.names import ExportFormat
from gistread.marking import Mark, MarkKind
from gistread.memory.model import MemoryEntry
from gistread.store.journal import append_whole
from gistread.store.model import Citation, SavedQuestion, with_messages
from gistread.units import agreeing, counted, in_quotes, iso_time

# `^mark-0123abcd` on a line of its own
_BLOCK_ID = re.compile(r"^\^([A-Za-z0-9-]+)[ \t\r]*$", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
_SIGN_AT_START = re.compile(r"^(?=[-+=:])")
_NUMBER_AT_START = re.compile(r"^(\d+)(?=[.)])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_DATE = len("2026-01-31")
_DIGEST = 12
# In an answer: the sign of an item, "- " or "12. "
_LISTED = re.compile(r"(?:[-*+•]|\d{1,2}[.)])\s+(?=\S)")
# A cell of the rule below the head of a table, ":---"; also an empty cell
_RULED = re.compile(r"\s*:?-{2,}:?\s*|")


def as_markdown(export: Export) -> str:
    """Marks by chapter, then questions, then gists."""
    book = export.book
    parts = [f"# {escape_markdown(book.title)}"]
    if book.authors:
        parts.append(escape_markdown(", ".join(book.authors)))
    sections = [
        *_marks_section(export),
        *_questions_section(export),
        *_gists_section(export),
    ]
    parts += sections or [_empty_message(export.parts)]
    return "\n\n".join(parts) + "\n"


def _marks_section(export: Export) -> Iterator[str]:
    """The marks by chapter, then those whose words are not in the text."""
    book = export.book
    placed = [mark for mark in export.marks if not mark.lost]
    if placed:
        yield "## Marks"
        blocks = [(mark.start, _mark(book, mark)) for mark in placed]
        yield from _by_chapter(book, blocks)
    lost = [mark for mark in export.marks if mark.lost]
    if lost:
        yield "## Marks that lost their place"
        yield "Their words are not in this version of the text."
        for mark in lost:
            yield from _mark(book, mark)


def _questions_section(export: Export) -> Iterator[str]:
    if export.questions:
        yield "## Questions"
        for question in export.questions:
            yield from _question(export.book, question)


def _gists_section(export: Export) -> Iterator[str]:
    """The gists by chapter; nothing without a memory."""
    entries = export.gists
    has_sections = bool(entries or export.ahead)
    if export.memory is None or not has_sections:
        return
    yield "## Gists"
    yield escape_markdown(f"Read by {export.memory.model_name}.")
    gists = [(entry.page.start, [_gist(entry)]) for entry in entries]
    yield from _by_chapter(export.book, gists)
    if export.ahead:
        verb = agreeing(export.ahead, "is", "are")
        yield f"*{counted(export.ahead, 'more section')} {verb} ahead.*"


def _gist(entry: MemoryEntry) -> str:
    return f"**{entry.page.number}** {escape_markdown(entry.gist.text)}"


def _empty_message(parts: Sequence[str]) -> str:
    """`No marks, questions or gists yet.` `parts`: what the user wants to export."""
    *others, last = parts
    if not others:
        return f"No {last} yet."
    return f"No {', '.join(others)} or {last} yet."


def _by_chapter(
    book: Book, parts: Iterable[tuple[int, Iterable[str]]]
) -> Iterator[str]:
    """The blocks of parts under the titles of their chapters. A part: its offset and its blocks."""
    has_chapters = len(book.chapters) > 1
    chapter = -1
    for offset, blocks in parts:
        index = book.chapter_index(offset)
        if has_chapters and index != chapter:
            chapter = index
            yield f"### {escape_markdown(book.chapter_title(offset))}"
        yield from blocks


def _mark(book: Book, mark: Mark, chapter: str = "") -> Iterator[str]:
    """The blocks of a mark: its words, its note, its kind and place."""
    words = mark.place.exact
    # These mark a place, and quote only the words that follow.
    if mark.kind in (MarkKind.BOOKMARK, MarkKind.LETTER):
        words += " …"
    yield _quoted(words)
    if mark.note:
        yield _block(mark.note)
    place = "" if mark.lost else _place(book, mark.start)
    date = iso_time(mark.made_at)[:_DATE]
    facts = (_kind_of_mark(mark), escape_markdown(chapter), place, date)
    known_facts = " · ".join(filter(None, facts))
    yield f"— *{known_facts}*"


def _kind_of_mark(mark: Mark) -> str:
    """`yellow highlight`, `mark a`, `bookmark`"""
    if mark.kind is MarkKind.HIGHLIGHT:
        return f"{mark.color or 'yellow'} highlight"
    if mark.kind is MarkKind.LETTER:
        return f"mark {mark.letter}"
    return mark.kind.value


def _question(book: Book, saved: SavedQuestion) -> Iterator[str]:
    """The blocks of a question: a heading, the answer, its sources."""
    yield f"### {escape_markdown(saved.question)}"
    yield from _answer_or_interruption(saved)
    for citation in saved.citations:
        yield f"{_quoted(citation.quote)}\n>\n> — *{_source(book, citation)}*"
    date = iso_time(saved.asked_at)[:_DATE]
    facts = " · ".join(filter(None, (_method(saved), date)))
    if facts:
        yield f"*{escape_markdown(facts)}*"


def _source(book: Book, citation: Citation) -> str:
    """What another passage says, the section and the place of a citation."""
    parts = []
    if citation.tells:
        tells = f"another passage says {in_quotes(citation.tells)}"
        parts.append(escape_markdown(tells))
    if citation.page:
        parts.append(f"section {citation.page}")
    return " · ".join([*parts, _place(book, citation.start)])


def _method(saved: SavedQuestion) -> str:
    """`notes with Qwen3, over the memory of SmolLM2`"""
    if not saved.model:
        return saved.reader
    method = f"{saved.reader} with {saved.model}"
    if saved.memory not in ("", saved.model):
        method += f", over the memory of {saved.memory}"
    return method


def _answer_or_interruption(saved: SavedQuestion) -> Iterator[str]:
    """The answer, or the beginning of one that was interrupted."""
    if saved.answer.strip():
        yield _answer(with_messages(saved.answer, saved.marks).text)
    elif saved.begun:
        yield f"{_answer(saved.begun)} …"
        yield "*Interrupted before the answer was complete.*"
    else:
        yield "*Interrupted before there was an answer.*"


def _place(book: Book, offset: int) -> str:
    """`Volume II · 40.5% · offset 81234`"""
    volume = escape_markdown(book.volume_title(offset))
    share = f"{percent(book, offset):g}%"
    return " · ".join(filter(None, (volume, share, f"offset {offset}")))


def _quoted(text: str) -> str:
    """Text as a block quotation."""
    lines = _block(text).split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def markdown_block(text: str, before: str = "") -> str:
    """Lines and paragraphs of text as Markdown; `before` begins each line but the first.

    >>> markdown_block("Once.\\n\\nTwice.", "> ")
    'Once.\\n>\\n> Twice.'
    """
    first, *others = _block(text).split("\n")
    prefixed = [f"{before}{line}".rstrip() for line in others]
    return "\n".join([first, *prefixed])


def _block(text: str) -> str:
    """Lines of text as Markdown; a backslash keeps neighbouring lines apart."""
    lines = [escape_markdown(line.strip()) for line in text.strip().split("\n")]
    block = lines[0]
    for before, line in pairwise(lines):
        are_neighbours = before and line
        block += "\\\n" if are_neighbours else "\n"
        block += line
    return block


def _answer(text: str) -> str:
    """The answer of a model: its lists, tables and bold words stay Markdown, nothing else."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    has_table = any(TABLE_RULE.fullmatch(line) for line in lines)
    markdown = ""
    kind_before = ""
    for line in lines:
        kind = _kind_of(line, has_table=has_table)
        if kind_before and kind != kind_before:
            markdown += "\n\n"
        elif kind_before:
            # In a paragraph, Markdown keeps a line break only after a backslash.
            markdown += "\\\n" if kind == "text" else "\n"
        markdown += _answer_line(line, kind)
        kind_before = kind
    return markdown


def _kind_of(line: str, *, has_table: bool) -> str:
    """The kind of a line of an answer: `table`, `list` or `text`."""
    if has_table and line.startswith("|"):
        return "table"
    return "list" if _LISTED.match(line) else "text"


def _answer_line(line: str, kind: str) -> str:
    """A line of an answer as Markdown."""
    if kind == "table":
        return "|".join(map(_cell, line.split("|")))
    sign_match = _LISTED.match(line)
    if sign_match is None:
        return _bold(line)
    sign = sign_match[0]
    is_numbered = sign[0].isdigit()
    if not is_numbered:
        sign = "- "
    return sign + _bold(line[sign_match.end() :])


def _cell(cell: str) -> str:
    """A cell of a table; the dashes below its head stay as they are."""
    return cell if _RULED.fullmatch(cell) else _bold(cell)


def _bold(text: str) -> str:
    """Text as Markdown in which only its bold words are bold."""
    # Every second piece is bold: "a **b** c" is split into "a ", "b" and " c".
    pieces = STRONG.split(text)
    written: list[str] = []
    for number, piece in enumerate(pieces):
        is_bold = number % 2 == 1
        written.append(f"**{escape_markdown(piece)}**" if is_bold else _spaced(piece))
    return "".join(written)


def _spaced(piece: str) -> str:
    """Text without Markdown, with a space where it begins or ends with white space."""
    plain = escape_markdown(piece)
    before = " " if piece[:1].isspace() else ""
    # A piece of white space alone is one space, not two.
    after = " " if piece[-1:].isspace() and plain else ""
    return f"{before}{plain}{after}"


def escape_markdown(text: str) -> str:
    """Text on one line without Markdown or control characters.

    Signs and numbers at its start begin no list.
    """
    line = _CONTROL.sub("\ufffd", " ".join(text.split()))
    line = _SPECIAL.sub(r"\\\1", line)
    line = _SIGN_AT_START.sub(r"\\", line)
    return _NUMBER_AT_START.sub(r"\1\\", line)


@dataclass(frozen=True, slots=True)
class _Item:
    """A mark, a note or a question in a note for Obsidian."""

    id: str
    text: str
    about: str = ""  # Id of the item it annotates


def as_note(export: Export) -> str:
    """The whole note, as in an empty file."""
    return _front_matter(export.book) + _addition(list(_items(export)), set())


def append_to_note(export: Export, path: Path) -> str:
    """Append new items to the note, or to `Author — Title.md` in a folder; returns a message.

    Raises StorageError.
    """
    book = export.book
    if path.is_dir():
        path /= export_file_name(book.title, ExportFormat.OBSIDIAN, book.authors)
    try:
        with FileIO(path, "a+b") as file:
            file.seek(0)
            old = file.readall()
            known_ids = set(_BLOCK_ID.findall(old.decode("utf-8", "replace")))
            new_items = [item for item in _items(export) if item.id not in known_ids]
            if old and not new_items:
                return f"{path} has everything already."
            addition = _head_of_addition(old, book) + _addition(new_items, known_ids)
            append_whole(file, addition.encode(), len(old))
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}."
        raise StorageError(message, "Choose another file.") from error
    verb = "Added" if old else "Wrote"
    return f"{verb} {counted(len(new_items), 'item')} to {path}."


def _head_of_addition(old: bytes, book: Book) -> str:
    """What precedes new items: the front matter in an empty note, else an empty line."""
    if not old:
        return _front_matter(book)
    if old.endswith(b"\n"):
        return "\n"
    return "\n\n"


def _front_matter(book: Book) -> str:
    facts = {
        "title": book.title,
        "author": list(book.authors),
        "language": book.language,
        "identifiers": list(book.identifiers),
        "tags": ["book"],
        "gistread": book.sha256,
    }
    known_facts = {name: fact for name, fact in facts.items() if fact}
    text = yaml.safe_dump(known_facts, allow_unicode=True, sort_keys=False)
    return f"---\n{text}---\n\n"


def _addition(items: Sequence[_Item], known_ids: Collection[str]) -> str:
    """Items as text. `known_ids`: of the items that are in the note already."""
    texts = [_item_text(item, known_ids) for item in items]
    return "\n".join(texts)


def _item_text(item: _Item, known_ids: Collection[str]) -> str:
    # A new note is right below the mark it annotates, unless that was exported before.
    link = f"On [[#^{item.about}]]: " if item.about in known_ids else ""
    return f"{link}{item.text}\n\n^{item.id}\n"


def _items(export: Export) -> Iterator[_Item]:
    """The marks and notes, then the questions that are answered."""
    book = export.book
    for mark in quoted_marks(export.marks):
        blocks = _mark(book, replace(mark, note=""), chapter_of(book, mark))
        mark_id = f"mark-{mark.id}"
        yield _Item(mark_id, "\n\n".join(blocks))
        # A separate item, so that a note written or changed later is exported, too
        if mark.note:
            note_id = f"note-{mark.id}-{_digest(mark.note)}"
            yield _Item(note_id, _block(mark.note), about=mark_id)
    for saved in export.questions:
        if saved.answer.strip():
            digest = _digest(f"{saved.asked_at} {saved.question}")
            yield _Item(f"question-{digest}", "\n\n".join(_question(book, saved)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
