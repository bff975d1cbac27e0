"""Words of PDFs compared with their sources, or with Poppler's reading of the same file."""

import difflib
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from gistread.book.open import open_book
from gistread.errors import BookError
from tests.book.data import all_pdfs
from tests.reliability.typeset import Typeset, all_kinds

# East Asian characters count as words.
WORD = re.compile("[\u3000-\u9fff]|[^\\W\u3000-\u9fff]+")


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """For each PDF, and for each program.

    Name, words, recall, order in per cent, words that the source lacks.
    """
    done: list[tuple[str, ...]] = []
    for kind in all_kinds():
        if kind.missing:
            yield kind.name, "", "", "", f"not made: needs {' and '.join(kind.missing)}"
            continue
        with tempfile.TemporaryDirectory(dir=folder) as name:
            done.append(_row_of(kind, Path(name)))
            yield done[-1]
    yield from _lowest(done)
    for path in all_pdfs() if shutil.which("pdftotext") else ():
        run = subprocess.run(
            ["pdftotext", str(path), "-"], capture_output=True, check=False
        )
        text = run.stdout.decode().replace("-\n", "")
        yield _row(
            f"{path.stem}, against pdftotext",
            words_of(text),
            words_of(open_book(path).text),
            "",
        )


def _lowest(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """For each program: its lowest figures, and all words made up."""
    compared = [row for row in rows if row[3]]
    for program in dict.fromkeys(re.split(r"\W", row[0])[0] for row in compared):
        own = [row for row in compared if row[0].startswith(program)]
        fewest, order = (
            min((row[column] for row in own), key=lambda share: float(share[:-1]))
            for column in (2, 3)
        )
        words = sum(int(row[1].replace(",", "")) for row in own)
        yield (
            f"{program}: lowest of {len(own)}",
            f"{words:,}",
            fewest,
            order,
            " ".join({row[4] for row in own}),
        )


def _row_of(kind: Typeset, folder: Path) -> tuple[str, ...]:
    try:
        book = open_book(kind.make(folder))
    except BookError as error:
        return (
            kind.name,
            "",
            "",
            "",
            f"refused: {str(error).partition('.pdf ')[2].partition('.')[0]}",
        )
    if not kind.words:
        return kind.name, "", "", "", " ".join(book.notices) or "SILENT"
    mine, source = words_of(book.text), words_of(kind.words)
    matched = difflib.SequenceMatcher(
        None, source, mine, autojunk=False
    ).get_matching_blocks()
    order = f"{sum(block.size for block in matched) / len(source):.2%}"
    return _row(kind.name, source + words_of(kind.notes), mine, order)


def _row(name: str, source: list[str], mine: list[str], order: str) -> tuple[str, ...]:
    missing, extra = Counter(source) - Counter(mine), Counter(mine) - Counter(source)
    recall = 1 - missing.total() / len(source)
    return (
        name,
        f"{len(source):,}",
        f"{recall:.2%}",
        order,
        " ".join(sorted(extra)[:6]) or "none",
    )


def words_of(text: str) -> list[str]:
    """Words without their hyphens, which the end of a line may have removed, or kept."""
    return WORD.findall(re.sub(r"(?<=\w)-(?=\w)", "", text.casefold()))
