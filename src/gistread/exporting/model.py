"""What is exported, in which format, and to which file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from gistread.book.model import Book
from gistread.marking import Mark, MarkKind
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.people.joining import Entity
from gistread.store.files import safe_file_name
from gistread.store.model import SavedQuestion


class ExportFormat(StrEnum):
    """A format by its name on the command line."""

    MARKDOWN = "md"
    JSON = "json"
    TEXT = "txt"
    OBSIDIAN = "obsidian"  # A note with front matter, to which later exports append
    ANKI = "anki"
    READWISE = "readwise"
    ANNOTATIONS = "annotations"  # W3C Web Annotations
    BIBTEX = "bibtex"
    CSL = "csl"  # JSON of the Citation Style Language

    @property
    def suffix(self) -> str:
        suffixes = {
            "obsidian": ".md",
            "anki": ".tsv",
            "readwise": ".csv",
            "annotations": ".jsonld",
            "bibtex": ".bib",
            "csl": ".csl.json",
        }
        return suffixes.get(self, f".{self}")


@dataclass(frozen=True, slots=True)
class Export:
    book: Book
    marks: Sequence[Mark] = ()
    questions: Sequence[SavedQuestion] = ()
    memory: GistMemory | None = None
    names: Sequence[
        tuple[Entity, Passage]
    ] = ()  # Entities for cards, each with the sentence that introduces it
    cfis: Mapping[str, str] = field(default_factory=dict)  # EPUB CFIs by the ids of marks


def export_file_name(title: str, form: ExportFormat, authors: Sequence[str] = ()) -> str:
    """`Title – notes.md`; for Obsidian `Author — Title.md`."""
    name = safe_file_name(title)
    if form is ExportFormat.OBSIDIAN:
        return " — ".join((*map(safe_file_name, authors[:1]), f"{name}{form.suffix}"))
    is_book = form in (ExportFormat.TEXT, ExportFormat.BIBTEX, ExportFormat.CSL)
    return f"{name}{'' if is_book else ' – notes'}{form.suffix}"


def format_for(path: Path) -> ExportFormat | None:
    """The format of a file name; `.md` is Markdown."""
    return next((form for form in ExportFormat if path.suffix.lower() == form.suffix), None)


def quoted_marks(marks: Iterable[Mark]) -> list[Mark]:
    """Highlights and notes: the marks that quote words."""
    return [mark for mark in marks if mark.kind in (MarkKind.HIGHLIGHT, MarkKind.NOTE)]


def percent(book: Book, offset: int) -> float:
    return round(100 * offset / max(1, len(book.text)), 1)
