"""Real books, if the checkout has them beside it."""

from pathlib import Path

import pytest

_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_CASES = _DATA.parent / "cases"
needs_books = pytest.mark.skipif(
    not (_DATA / "books").is_dir(), reason="needs ../shared/data/books"
)
needs_pdfs = pytest.mark.skipif(
    not (_DATA / "pdf").is_dir(), reason="needs ../shared/data/pdf"
)
needs_epubs = pytest.mark.skipif(
    not (_DATA / "epub").is_dir(), reason="needs ../shared/data/epub"
)

needs_novels = pytest.mark.skipif(
    not (_DATA / "novels").is_dir(), reason="needs ../shared/data/novels"
)


def text_book(name: str) -> Path:
    """The plain-text book whose file name contains `name`."""
    return next(
        path for path in sorted((_DATA / "books").iterdir()) if name in path.name
    )


def novel(name: str) -> Path:
    """The novel whose file name contains `name`."""
    return next(
        path for path in sorted((_DATA / "novels").iterdir()) if name in path.name
    )


def pdf_book(name: str) -> Path:
    return next(path for path in sorted((_DATA / "pdf").iterdir()) if name in path.name)


def all_pdfs() -> list[Path]:
    return sorted((_DATA / "pdf").glob("*.pdf"))


def epub_book(name: str) -> Path:
    return next(
        path
        for path in sorted((_DATA / "epub" / "standardebooks").iterdir())
        if name in path.name
    )


def all_epubs() -> list[Path]:
    if not (_DATA / "epub").is_dir():
        return []
    return sorted(
        path for path in (_DATA / "epub").rglob("*") if path.suffix.lower() == ".epub"
    )


def all_text_books() -> list[Path]:
    """Plain text and Markdown."""
    folders = (_DATA / "books", _DATA / "litbank" / "novels")
    return sorted(
        path for folder in folders for path in folder.rglob("*") if path.is_file()
    )


def all_cases() -> list[Path]:
    """Files of reported faults of other readers."""
    return sorted(path for path in _CASES.rglob("*") if path.is_file() and path.suffix)
