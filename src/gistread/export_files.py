"""Writes exported files; overwrites an existing file only on request."""

import os
import re
from pathlib import Path

from gistread.atomic_write import replace_file
from gistread.errors import GistreadError, StorageError


class ExistsError(GistreadError):
    """A file of that name exists."""


def safe_file_name(title: str) -> str:
    """A file name for a book or author, valid on every system."""
    plain = re.sub(r"[^\w\s'’,()&-]", " ", title)
    return " ".join(plain.split())[:80].strip() or "book"


def write_document(path: Path, content: str | bytes, *, replace: bool = False) -> None:
    """Write a file atomically. Raises StorageError, and ExistsError unless `replace`."""
    if path.is_dir():
        raise StorageError(f"{path} is a directory.", "Choose a file in it.")
    if path.exists() and not replace:
        raise ExistsError(f"{path} already exists.", "Choose another name, or replace it explicitly.")
    try:
        data = content.encode() if isinstance(content, str) else content
        replace_file(path, data, mode=0o666 & ~_umask())
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.", "Choose another file.") from error


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
