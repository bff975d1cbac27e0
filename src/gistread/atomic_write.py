"""Writes files that only this user may read, and replaces files atomically."""

import contextlib
import os
from pathlib import Path

_NAME_LENGTH = 40  # Characters of the file's own name in that of the temporary file


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible to this user only. Raises OSError."""
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)


def private_opener(path: str, flags: int) -> int:
    """An `opener` for files that only this user may read."""
    return os.open(path, flags, 0o600)


def make_private(folder: Path) -> None:
    """Remove the access of other users to a folder, if it exists, and to all in it. Skips what it cannot change."""
    with contextlib.suppress(OSError):
        if not folder.stat().st_mode & 0o077:
            return
        for path in (*folder.rglob("*"), folder):
            with contextlib.suppress(OSError):  # of another owner, or gone since
                if not path.is_symlink() or path is folder:
                    path.chmod(path.stat().st_mode & 0o700)


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file atomically and sync it. Keeps permissions; a new file gets `mode`. Raises OSError."""
    import tempfile  # imported here: it takes 10 ms, and `--help` writes nothing

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:_NAME_LENGTH]}", suffix=path.suffix)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
