"""What is exported, in which format, and to which file."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from gistread.book.model import Book
from gistread.exporting.names import ExportFormat
from gistread.marking import Mark, MarkKind
from gistread.memory.front_matter import sections_ahead, without_imprint
from gistread.memory.model import GistMemory, MemoryEntry
from gistread.memory.passages import Passage
from gistread.people.joining import Entity
from gistread.store.files import safe_file_name
from gistread.store.model import SavedQuestion

_MOST_BYTES = 240  # Of a file name: systems allow 255, and a hash may be added
_HASH = 8  # Characters of a hash that tell books of the same name apart
# Formats of the book itself, not of notes about it
_OF_THE_BOOK = (ExportFormat.TEXT, ExportFormat.BIBTEX, ExportFormat.CSL)


@dataclass(frozen=True, slots=True)
class Export:
    """What is written about a book: `render_export` gives it a format."""

    book: Book
    marks: Sequence[Mark] = ()
    questions: Sequence[SavedQuestion] = ()
    memory: GistMemory | None = None
    # Entities for cards, each with the sentence that introduces it
    names: Sequence[tuple[Entity, Passage]] = ()
    doubted: bool = False  # Whether answers that the check doubts become cards, too
    # EPUB CFIs by the ids of marks
    cfis: Mapping[str, str] = field(default_factory=dict)
    command_name: str = ""  # What commands call the book; empty: its title
    # What the user wants to export
    parts: Sequence[str] = ("marks", "questions", "gists")
    ahead: int = 0  # Sections beyond the bound, whose gists `memory` leaves out

    @property
    def gists(self) -> list[MemoryEntry]:
        """The sections that the model has read, without title page and imprint."""
        if self.memory is None:
            return []
        return without_imprint(self.memory, self.book).read_entries


def with_gists(export: Export, memory: GistMemory, bound: int | None) -> Export:
    """The export with the gists up to the offset `bound`; None: with all."""
    if bound is None:
        return replace(export, memory=memory)
    up_to_bound = memory.upto(bound)
    ahead = sections_ahead(memory, export.book, len(up_to_bound.book.text))
    return replace(export, memory=up_to_bound, ahead=len(ahead))


@dataclass(frozen=True, slots=True)
class OtherFormat:
    """A format of a template, or of another package."""

    name: str
    suffix: str  # With its point
    render: Callable[[Export], str]
    wants_cfis: bool = True  # Whether it uses `Export.cfis`

    def __str__(self) -> str:
        return self.name


Form = ExportFormat | OtherFormat


def export_file_name(title: str, form: Form, authors: Sequence[str] = ()) -> str:
    """`Title – notes.md`; for Obsidian `Author — Title.md`."""
    before = ""
    after = form.suffix
    if form is ExportFormat.OBSIDIAN:
        if authors:
            before = f"{safe_file_name(authors[0])} — "
    elif form not in _OF_THE_BOOK:
        after = f" – notes{form.suffix}"
    most_bytes = _MOST_BYTES - len(f"{before}{after}".encode())
    cut_title = safe_file_name(title).encode()[:most_bytes]
    # A character that was cut at the end is left out.
    short_title = cut_title.decode("utf-8", "ignore").rstrip()
    return f"{before}{short_title}{after}"


class Named(Protocol):
    """A book, or its entry in the library."""

    @property
    def title(self) -> str: ...
    @property
    def authors(self) -> tuple[str, ...]: ...
    @property
    def sha256(self) -> str: ...


def separate_file_names(books: Sequence[Named], form: Form) -> list[str]:
    """A name for each book. Books of the same name get the beginning of their hashes, too."""
    names = [export_file_name(book.title, form, book.authors) for book in books]
    # Some file systems do not distinguish capitals.
    uses = Counter(name.casefold() for name in names)
    for number, book in enumerate(books):
        name = names[number]
        if uses[name.casefold()] > 1:
            stem = name.removesuffix(form.suffix)
            names[number] = f"{stem} ({book.sha256[:_HASH]}){form.suffix}"
    return names


def format_for(path: Path) -> ExportFormat | None:
    """The format of a file name; `.md` is Markdown. None for another suffix."""
    suffix = path.suffix.lower()
    for form in ExportFormat:
        if form.suffix == suffix:
            return form
    return None


def chapter_of(book: Book, mark: Mark) -> str:
    """The title of a mark's chapter; empty if the mark has lost its place."""
    if mark.lost:
        return ""
    return book.chapter_title(mark.start)


def quoted_marks(marks: Iterable[Mark]) -> list[Mark]:
    """Highlights and notes: the marks that quote words."""
    return [mark for mark in marks if mark.kind in (MarkKind.HIGHLIGHT, MarkKind.NOTE)]


def percent(book: Book, offset: int) -> float:
    """A place in percent of the book, with one decimal."""
    return round(100 * offset / max(1, len(book.text)), 1)
