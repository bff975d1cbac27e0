"""Replaces files atomically."""

import os
import tempfile
from pathlib import Path

_NAME_LENGTH = 40  # Characters of the file's own name in that of the temporary file


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file atomically and synced. Permissions are kept; a new file gets `mode`. Raises OSError."""
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
