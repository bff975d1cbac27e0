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
from pathlib import Path

import yaml

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.exporting.model import Export, export_file_name, percent, quoted_marks
from gistread.exporting.names import ExportFormat
from gistread.marking import Mark, MarkKind
from gistread.store.journal import append_whole
from gistread.store.model import SavedQuestion, with_messages
from gistread.units import counted, in_quotes, iso_time

_BLOCK_ID = re.compile(r"^\^([A-Za-z0-9-]+)[ \t\r]*$", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# In an answer
_LISTED = re.compile(r"(?:[-*+•]|\d{1,2}[.)])\s+(?=\S)")
_STRONG = re.compile(r"\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*")
_RULED = re.compile(r"\s*:?-{2,}:?\s*|")
_TABLE_RULE = re.compile(r"\|?(?:\s*:?-{2,}:?\s*\|?)+")


def as_markdown(export: Export) -> str:
    """Marks by chapter, then questions, then gists."""
    book = export.book
    parts = [f"# {escape_markdown(book.title)}"]
    if book.authors:
        parts.append(escape_markdown(", ".join(book.authors)))
    if placed := [mark for mark in export.marks if not mark.lost]:
        parts.append("## Marks")
        parts += _by_chapter(book, [(mark.start, _mark(book, mark)) for mark in placed])
    if lost := [mark for mark in export.marks if mark.lost]:
        parts += [
            "## Marks that lost their place",
            "Their words are not in this version of the text.",
        ]
        parts += [part for mark in lost for part in _mark(book, mark)]
    if export.questions:
        parts.append("## Questions")
        parts += [part for saved in export.questions for part in _question(book, saved)]
    if export.memory is not None and (entries := export.gists):
        parts += ["## Gists", escape_markdown(f"Read by {export.memory.model_name}.")]
        gists = (
            (entry.page.start, [f"**{entry.page.number}** {escape_markdown(entry.gist.text)}"])
            for entry in entries
        )
        parts += _by_chapter(book, gists)
    if len(parts) <= 2:
        parts.append(_nothing(export.parts))
    return "\n\n".join(parts) + "\n"


def _nothing(parts: Sequence[str]) -> str:
    """`No marks, questions or gists yet.`"""
    *others, last = parts
    listed = f"{', '.join(others)} or {last}" if others else last
    return f"No {listed} yet."


def _by_chapter(book: Book, parts: Iterable[tuple[int, Iterable[str]]]) -> Iterator[str]:
    chapter = -1
    for offset, part in parts:
        index = book.chapter_index(offset)
        if index != chapter and len(book.chapters) > 1:
            chapter = index
            yield f"### {escape_markdown(book.chapter_title(offset))}"
        yield from part


def _mark(book: Book, mark: Mark, chapter: str = "") -> Iterator[str]:
    """The blocks of a mark: its words, its note, its kind and place."""
    yield _quoted(
        mark.place.exact + (" …" if mark.kind in (MarkKind.BOOKMARK, MarkKind.LETTER) else "")
    )
    if mark.note:
        yield _block(mark.note)
    name = {
        MarkKind.HIGHLIGHT: f"{mark.color or 'yellow'} highlight",
        MarkKind.LETTER: f"mark {mark.letter}",
    }.get(mark.kind, mark.kind.value)
    facts = (
        name,
        escape_markdown(chapter),
        "" if mark.lost else _place(book, mark.start),
        iso_time(mark.made_at)[:10],
    )
    yield f"— *{' · '.join(filter(None, facts))}*"


def _question(book: Book, saved: SavedQuestion) -> Iterator[str]:
    """The blocks of a question: a heading, the answer, its sources."""
    yield f"### {escape_markdown(saved.question)}"
    yield from _answer_or_interruption(saved)
    for citation in saved.citations:
        section = f"section {citation.page} · " if citation.page else ""
        rival = f"another passage says {in_quotes(citation.tells)}" if citation.tells else ""
        tells = f"{escape_markdown(rival)} · " if rival else ""
        place = f"{tells}{section}{_place(book, citation.start)}"
        yield f"{_quoted(citation.quote)}\n>\n> — *{place}*"
    over = f", over the memory of {saved.memory}" if saved.memory not in ("", saved.model) else ""
    method = f"{saved.reader} with {saved.model}{over}" if saved.model else saved.reader
    if facts := " · ".join(filter(None, (method, iso_time(saved.asked_at)[:10]))):
        yield f"*{escape_markdown(facts)}*"


def _answer_or_interruption(saved: SavedQuestion) -> Iterator[str]:
    """The answer; of one that was interrupted, what had come of it."""
    if saved.answer.strip():
        yield _answer(with_messages(saved.answer, saved.marks).text)
    elif saved.begun:
        yield f"{_answer(saved.begun)} …"
        yield "*Interrupted before the answer was complete.*"
    else:
        yield "*Interrupted before there was an answer.*"


def _place(book: Book, offset: int) -> str:
    place = (
        escape_markdown(book.volume_title(offset)),
        f"{percent(book, offset):g}%",
        f"offset {offset}",
    )
    return " · ".join(filter(None, place))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _block(text).split("\n"))


def markdown_block(text: str, before: str = "") -> str:
    """Lines and paragraphs of text as Markdown; `before` begins each line but the first.

    >>> markdown_block("Once.\\n\\nTwice.", "> ")
    'Once.\\n>\\n> Twice.'
    """
    first, *others = _block(text).split("\n")
    return "\n".join((first, *(f"{before}{line}".rstrip() for line in others)))


def _block(text: str) -> str:
    """Lines of text as Markdown."""
    lines = [escape_markdown(line.strip()) for line in text.strip().split("\n")]
    ends = [
        "\\" if line and number + 1 < len(lines) and lines[number + 1] else ""
        for number, line in enumerate(lines)
    ]
    return "\n".join(line + end for line, end in zip(lines, ends, strict=True))


def _answer(text: str) -> str:
    """The answer of a model: its lists, tables and bold words stay Markdown, nothing else."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    has_table = any(_TABLE_RULE.fullmatch(line) for line in lines)
    written = ""
    before = ""
    for line in lines:
        kind = _kind_of(line, has_table=has_table)
        if before and kind != before:
            written += "\n\n"
        elif before:
            written += "\\\n" if kind == "text" else "\n"
        written += _answer_line(line, kind)
        before = kind
    return written


def _kind_of(line: str, *, has_table: bool) -> str:
    if has_table and line.startswith("|"):
        return "table"
    return "list" if _LISTED.match(line) else "text"


def _answer_line(line: str, kind: str) -> str:
    if kind == "table":
        return "|".join(cell if _RULED.fullmatch(cell) else _bold(cell) for cell in line.split("|"))
    listed = _LISTED.match(line)
    if listed is None:
        return _bold(line)
    sign = listed[0] if listed[0][0].isdigit() else "- "
    return sign + _bold(line[listed.end() :])


def _bold(text: str) -> str:
    """Text whose bold words stay bold."""
    pieces = _STRONG.split(text)
    return "".join(
        f"**{escape_markdown(piece)}**" if index % 2 else _spaced(piece)
        for index, piece in enumerate(pieces)
    )


def _spaced(piece: str) -> str:
    """Text without Markdown, with the white space around it."""
    plain = escape_markdown(piece)
    before = " " if piece[:1].isspace() else ""
    after = " " if piece[-1:].isspace() and plain else ""
    return f"{before}{plain}{after}"


def escape_markdown(text: str) -> str:
    """Text on one line without Markdown or control characters.

    Signs and numbers at its start begin no list.
    """
    text = _SPECIAL.sub(r"\\\1", _CONTROL.sub("\ufffd", " ".join(text.split())))
    return re.sub(r"^(\d+)(?=[.)])", r"\1\\", re.sub(r"^(?=[-+=:])", r"\\", text))


@dataclass(frozen=True, slots=True)
class _Item:
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
    if path.is_dir():
        path /= export_file_name(export.book.title, ExportFormat.OBSIDIAN, export.book.authors)
    try:
        with FileIO(path, "a+b") as file:
            file.seek(0)
            old = file.readall()
            known = set(_BLOCK_ID.findall(old.decode("utf-8", "replace")))
            new = [item for item in _items(export) if item.id not in known]
            if not new and old:
                return f"{path} has everything already."
            head = _front_matter(export.book)
            if old:
                head = "\n" if old.endswith(b"\n") else "\n\n"
            append_whole(file, (head + _addition(new, known)).encode(), len(old))
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror or error}.", "Choose another file."
        ) from error
    return f"{'Added' if old else 'Wrote'} {counted(len(new), 'item')} to {path}."


def _front_matter(book: Book) -> str:
    facts = {
        "title": book.title,
        "author": list(book.authors),
        "language": book.language,
        "identifiers": list(book.identifiers),
        "tags": ["book"],
        "gistread": book.sha256,
    }
    known = {name: fact for name, fact in facts.items() if fact}
    return f"---\n{yaml.safe_dump(known, allow_unicode=True, sort_keys=False)}---\n\n"


def _addition(items: Sequence[_Item], known: Collection[str]) -> str:
    about = {item.id: f"On [[#^{item.about}]]: " if item.about in known else "" for item in items}
    return "\n".join(f"{about[item.id]}{item.text}\n\n^{item.id}\n" for item in items)


def _items(export: Export) -> Iterator[_Item]:
    for mark in quoted_marks(export.marks):
        chapter = "" if mark.lost else export.book.chapter_title(mark.start)
        yield _Item(
            f"mark-{mark.id}", "\n\n".join(_mark(export.book, replace(mark, note=""), chapter))
        )
        if mark.note:  # A separate item, so that a note written or changed later is exported too
            yield _Item(
                f"note-{mark.id}-{_digest(mark.note)}", _block(mark.note), f"mark-{mark.id}"
            )
    for saved in export.questions:
        if saved.answer.strip():
            text = "\n\n".join(_question(export.book, saved))
            yield _Item(f"question-{_digest(f'{saved.asked_at} {saved.question}')}", text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
