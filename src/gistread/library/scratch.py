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
_LOOSE = (".txt", ".text", ".md", ".markdown", ".html", ".htm", ".xhtml")
_NAME = re.compile(
    r"(readme|licen[cs]e|copying|copyright|changelog|changes|notice|authors|contributing|"
    r"code_of_conduct|security|todo|requirements[\w-]*|cmakelists|robots|top_level|entry_points|"
    r"installed-files|sources|dependency_links)([.-].*)?",
    re.IGNORECASE,
)
_READ = 4_096  # Bytes that are looked at
# Share of letters and blanks; prose has over 0.9, logs and tables less
_LEAST_LETTERS = 0.6


def is_program(files: Iterable[str]) -> bool:
    """Whether a folder with these files is the top of a program's source."""
    return not _PROGRAM.isdisjoint(files)


def is_scratch(path: Path, *, of_program: bool) -> bool:
    """Whether a loose text is a file of a program, or data.

    `of_program`: it lies in the source of a program. Raises OSError.
    """
    suffix = path.suffix.lower()
    if suffix not in _LOOSE:
        return False
    if of_program or _NAME.fullmatch(path.name):
        return True
    if suffix not in (".txt", ".text"):
        return False
    with path.open("rb") as file:
        text = file.read(_READ).decode("utf-8", "replace")
    written = sum(character.isalpha() or character.isspace() for character in text)
    other = text.count("\ufffd")  # Of another encoding: it cannot be judged here
    return bool(text) and other == 0 and written < _LEAST_LETTERS * len(text)
