"""Figures of each memory of a run.

Pages, compression and cost, kept in `texts.jsonl` when memories are deleted.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import orjson

from gistread.engine.protocol import NO_USAGE
from gistread.errors import StorageError
from gistread.memory.model import GistMemory, GistSource
from gistread.store.files import replace_file
from gistread.units import counted
from research.evaluation.model import Document

FILE_NAME = "texts.jsonl"


@dataclass(frozen=True, slots=True)
class TextFigures:
    document: str
    words: int
    pages: int
    gist_words: int
    extractive_gists: int  # Gists whose attempts the guard rejected
    prefilled: int
    generated: int
    seconds: float  # Engine time


def figures_of(document: Document, memory: GistMemory) -> TextFigures:
    usage = sum((entry.usage for entry in memory.entries), NO_USAGE)
    return TextFigures(
        document=document.id,
        words=sum(entry.page.words for entry in memory.entries),
        pages=len(memory.entries),
        gist_words=memory.gist_words,
        extractive_gists=sum(
            entry.gist.source is GistSource.EXTRACTIVE for entry in memory.entries
        ),
        prefilled=usage.prefilled,
        generated=usage.generated,
        seconds=round(usage.seconds, 3),
    )


def save(folder: Path, figures: TextFigures) -> None:
    """Add a line, unless it is there. Raises StorageError."""
    known = read(folder)
    if figures in known:
        return
    lines = [
        orjson.dumps(asdict(text), option=orjson.OPT_APPEND_NEWLINE)
        for text in (*known, figures)
    ]
    path = folder / FILE_NAME
    try:
        replace_file(path, b"".join(lines), mode=0o644)
    except OSError as error:
        hint = "Free some space, then run the command again to resume."
        raise StorageError(f"{path}: {error.strerror or error}.", hint) from error


def read(folder: Path) -> list[TextFigures]:
    """The latest figures of each document; invalid lines are skipped. Raises StorageError."""
    path = folder / FILE_NAME
    by_document: dict[str, TextFigures] = {}
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.") from error
    for line in lines:
        try:
            values = orjson.loads(line)
            known = {field.name: values[field.name] for field in fields(TextFigures)}
            figures = TextFigures(**known)
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue
        by_document[figures.document] = figures
    return list(by_document.values())


def summary(texts: Collection[TextFigures]) -> str:
    """All figures in one line; empty if there are none."""
    pages = sum(text.pages for text in texts)
    words = sum(text.words for text in texts)
    if not pages or not words:
        return ""
    gist_words = sum(text.gist_words for text in texts)
    extractive = sum(text.extractive_gists for text in texts)
    prefilled = sum(text.prefilled for text in texts)
    seconds = sum(text.seconds for text in texts)
    compression_rate = 100 * (1 - gist_words / words)
    facts = (
        f"Memories: {counted(len(texts), 'text')} of {words / len(texts):,.0f} words on average, "
        f"{pages} pages of {words / pages:.0f}",
        f"compression rate {compression_rate:.1f}",
        f"{extractive / pages:.0%} of the gists extractive",
        f"{prefilled / words:.2f} tokens prefilled per word, {seconds:,.0f} s.",
    )
    return "; ".join(facts)
