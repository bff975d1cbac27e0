"""A file that is replaced in one step: whatever fails, there is all of the new one or what was there before."""

import os
import tempfile
from pathlib import Path

_NAME_LENGTH = 40
"""Of the file's own name, so much stands in that of the one beside it: names must not become too long."""


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Let the file have these bytes, on disk and for whoever reads it from now on. Its folder must be there.

    It keeps its permissions; one that is new gets `mode`. Raises OSError.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:_NAME_LENGTH]}", suffix=path.suffix)
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(path.stat().st_mode & 0o777 if path.exists() else mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
