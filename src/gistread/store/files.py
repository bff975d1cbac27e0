"""Writes files: private ones, atomic replacements, and documents that the user asked for."""

import os
import re
from pathlib import Path

from gistread.errors import GistreadError, StorageError

_PERMISSIONS = 0o777  # Bits of a file's mode
_NAME_LENGTH = 40  # Characters of the file's own name in that of the temporary file
_TITLE_LENGTH = 80  # Characters of a title in a file name


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible to this user only. Raises OSError."""
    for path in reversed((folder, *folder.parents)):
        if not path.exists():
            path.mkdir(mode=0o700, exist_ok=True)


def private_opener(path: str, flags: int) -> int:
    """An `opener` for files that only this user may read."""
    return os.open(path, flags, 0o600)


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file atomically and sync it.

    Keeps permissions; a new file gets `mode`. Raises OSError.
    """
    import tempfile  # imported here: it takes 10 ms, and `--help` writes nothing

    handle, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem[:_NAME_LENGTH]}", suffix=path.suffix
    )
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            mode = path.stat().st_mode & _PERMISSIONS
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


_USUAL_MODE = 0o666  # Of a new file, before the user's mask
_COMMON_MASK = 0o022  # Set for a moment, to read the user's


class ExistsError(GistreadError):
    """A file of that name exists."""


def safe_file_name(title: str) -> str:
    """A file name for a book or author, valid on every system."""
    plain = re.sub(r"[^\w\s'’,()&-]", " ", title)
    name = " ".join(plain.split())[:_TITLE_LENGTH].strip()
    return name or "book"


def write_document(path: Path, content: str, *, replace: bool = False) -> None:
    """Write a file atomically. Raises StorageError, and ExistsError unless `replace`."""
    try:
        exists = path.exists()
    except OSError as error:  # Its folder may not be entered.
        raise _not_written(path, error) from error
    if path.is_dir():
        raise StorageError(f"{path} is a directory.", "Choose a file in it.")
    if exists and not path.is_file():
        raise StorageError(
            f"{path} is a pipe or a device, not a file.", "Choose another file."
        )
    if exists and not replace:
        raise ExistsError(
            f"{path} already exists.", "Use another name, or --force to overwrite it."
        )
    mode = _USUAL_MODE & ~_file_mask()
    try:
        replace_file(path, content.encode(), mode=mode)
    except OSError as error:
        raise _not_written(path, error) from error


def _file_mask() -> int:
    """The user's mask for new files. It can be read only by setting another."""
    mask = os.umask(_COMMON_MASK)
    os.umask(mask)
    return mask


def _not_written(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be written: {error.strerror or error}.", "Choose another file."
    )
