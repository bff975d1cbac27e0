"""The names under which KOReader knows a book: the same on every device."""

import hashlib
from pathlib import Path
from typing import Literal

from gistread.errors import BookError

Match = Literal["content", "name"]  # What makes two files the same book

_SAMPLE_BYTES = 1024
# KOReader computes 1024 << 2i for i from -1 to 10, where the first overflows to 0.
_OFFSETS = (0, *(1024 << 2 * power for power in range(11)))


def document_id(path: Path, match: Match) -> str:
    """The name of the book in this file on the server. Raises BookError."""
    return content_id(path) if match == "content" else name_id(path)


def content_id(path: Path) -> str:
    """KOReader's partial MD5 of a file, computed from twelve samples of it. Raises BookError."""
    digest = hashlib.md5(usedforsecurity=False)
    try:
        with path.open("rb") as file:
            for offset in _OFFSETS:
                file.seek(offset)
                sample = file.read(_SAMPLE_BYTES)
                if not sample:
                    break
                digest.update(sample)
    except OSError as error:
        raise BookError(f"{path} cannot be read: {error.strerror or error}.") from error
    return digest.hexdigest()


def name_id(path: Path) -> str:
    """The MD5 of a file's name."""
    name = path.name.encode("utf-8", "surrogateescape")
    return hashlib.md5(name, usedforsecurity=False).hexdigest()
