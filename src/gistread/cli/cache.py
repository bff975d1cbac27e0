"""`gistread cache …`: shows how much disk space the cache takes, and clears it."""

import argparse
import contextlib
import os
from pathlib import Path

from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus, StorageError
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from gistread.units import counted, format_size

MEMORIES = "memories"
PARTS = {
    MEMORIES: "gists and facts; a model needs hours to make them again",
    "texts": "text extracted from books",
    "covers": "pictures of covers",
    "weights": "faster copies of models",
    "snapshots": "prompts that a model has evaluated",
}


def run(arguments: argparse.Namespace) -> ExitStatus:
    if arguments.action == "list":
        _list(json=arguments.json)
    else:
        _clear(arguments.parts or [name for name in PARTS if name != MEMORIES], json=arguments.json)
    return ExitStatus.DONE


def _list(*, json: bool) -> None:
    found = {name: _sizes(_folder(name)) for name in PARTS}
    if json:
        parts = [
            {"name": name, "path": str(_folder(name)), "files": len(sizes), "size": sum(sizes)}
            for name, sizes in found.items()
        ]
        write_json({"parts": parts, "size": sum(map(sum, found.values()))})
        return
    for name, sizes in found.items():
        write(f"{name:11}{format_size(sum(sizes)):>8}  {counted(len(sizes), 'file'):>12}  {PARTS[name]}")
    say("`gistread cache clear` deletes all but the memories; models are listed by `gistread models`.")


def _clear(names: list[str], *, json: bool) -> None:
    freed = sum(map(_delete, names))
    if json:
        write_json({"cleared": names, "size": freed})
    else:
        say(f"Cleared {', '.join(names)}: {format_size(freed)}.")


def _delete(name: str) -> int:
    """Delete a part and return the bytes freed. Keeps memories in use by another process."""
    folder = _folder(name)
    if name == MEMORIES:
        return MemoryStore(folder).trim(0)
    freed = sum(_sizes(folder))
    for path in _files(folder):
        with contextlib.suppress(OSError):
            path.unlink()
    return freed - sum(_sizes(folder))


def _folder(name: str) -> Path:
    folder: Path = getattr(default_paths(), name)
    return folder


def _files(folder: Path) -> list[Path]:
    """All files in a folder, which may not exist. Raises StorageError if a folder cannot be read."""

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise StorageError(f"{error.filename}: {error.strerror}.") from error

    return [Path(place, name) for place, _, names in os.walk(folder, onerror=refuse) for name in names]


def _sizes(folder: Path) -> list[int]:
    """Sizes of all files in bytes."""
    sizes = []
    for path in _files(folder):
        with contextlib.suppress(OSError):
            sizes.append(path.stat().st_size)
    return sizes
