"""Renders an export in each format, and writes it."""

from pathlib import Path

from gistread.exporting.anki import as_cards
from gistread.exporting.json_document import as_json
from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export, ExportFormat
from gistread.exporting.obsidian import append_to_note, as_note
from gistread.exporting.readwise import as_readwise
from gistread.store.files import write_document


def render_export(export: Export, form: ExportFormat) -> str:
    """The exported document. As text it is exactly the book's text, with the same SHA-256."""
    match form:
        case ExportFormat.TEXT:
            return export.book.text
        case ExportFormat.JSON:
            import orjson

            return orjson.dumps(as_json(export), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
        case ExportFormat.MARKDOWN:
            return as_markdown(export)
        case ExportFormat.OBSIDIAN:
            return as_note(export)
        case ExportFormat.ANKI:
            return as_cards(export)
        case ExportFormat.READWISE:
            return as_readwise(export)


def write_export(export: Export, form: ExportFormat, path: Path, *, force: bool = False) -> str:
    """Write the document, or append to an Obsidian note; returns a message. Raises ExistsError, StorageError."""
    if form is ExportFormat.OBSIDIAN:
        return append_to_note(export, path)
    write_document(path, render_export(export, form), replace=force)
    return f"Wrote {path}."
