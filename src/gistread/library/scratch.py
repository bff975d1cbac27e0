"""Which files of a folder are clearly no books, although their suffix is one of a book."""

import re
from collections.abc import Iterable
from pathlib import Path

# Folders of programs, not of readers
FOLDERS = {
    "node_modules",
    "site-packages",
    "dist-packages",
    "__pycache__",
    "venv",
    "__MACOSX",
}
# Files in the top folder of a program's source
_PROGRAM = {
    "pyproject.toml",
    "setup.py",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "CMakeLists.txt",
}
_TEXT = (".txt", ".text")
_LOOSE = (*_TEXT, ".md", ".markdown", ".html", ".htm", ".xhtml")
# `README.md`, `LICENSE-MIT.txt`, `requirements-dev.txt`
_NAME = re.compile(
    r"(readme|licen[cs]e|copying|copyright|changelog|changes|notice|authors|contributing|"
    r"code_of_conduct|security|todo|requirements[\w-]*|cmakelists|robots|top_level|entry_points|"
    r"installed-files|sources|dependency_links)([.-].*)?",
    re.IGNORECASE,
)
_READ_BYTES = 4_096
# Share of letters and blanks; prose has over 0.9, logs and tables less
_LEAST_LETTERS = 0.6
_MARKDOWN = (".md", ".markdown")
# "— *yellow highlight · 3.9% · offset 7643 · 2026-11-30*", as the export writes it
_EXPORTED = re.compile(r"^(?:> )?— \*.+ · offset \d+", re.MULTILINE)
_EXPORT_READ_BYTES = 65_536  # A mark may be long
_REPLACEMENT = "\ufffd"  # For bytes that are not UTF-8


def is_program(files: Iterable[str]) -> bool:
    """Whether a folder with these files is the top of a program's source."""
    return not _PROGRAM.isdisjoint(files)


def is_scratch(path: Path, *, of_program: bool) -> bool:
    """Whether a text or web page is a file of a program, data, or notes exported by gistread.

    `of_program`: it is in the source of a program. Raises OSError.
    """
    suffix = path.suffix.lower()
    if suffix not in _LOOSE:
        return False
    if of_program or _NAME.fullmatch(path.name):
        return True
    if suffix in _MARKDOWN:
        return bool(_EXPORTED.search(_beginning(path, _EXPORT_READ_BYTES)))
    if suffix not in _TEXT:
        return False
    text = _beginning(path, _READ_BYTES)
    # A text in another encoding cannot be judged here.
    if not text or _REPLACEMENT in text:
        return False
    letters = sum(character.isalpha() or character.isspace() for character in text)
    return letters < _LEAST_LETTERS * len(text)


def _beginning(path: Path, size: int) -> str:
    """The text of the first bytes, with `_REPLACEMENT` for those that are not UTF-8."""
    with path.open("rb") as file:
        return file.read(size).decode("utf-8", "replace")
