"""`gistread paths` shows where gistread keeps its files.

`gistread cache …` shows how much the cache takes, and clears it.
"""

import argparse
import contextlib
import os
from pathlib import Path

from gistread.cli.output import Json, report, say
from gistread.errors import StorageError
from gistread.memory.store import MemoryStore
from gistread.paths import Paths, PathWithin, default_paths
from gistread.units import counted, format_size

MEMORIES = "memories"
PARTS = {
    MEMORIES: "gists and facts; a model needs hours to make them again",
    "texts": "text extracted from books",
    "index": "the words of all books, for searching the library",
    "weights": "faster copies of models",
    "snapshots": "prompts that a model has evaluated",
}


def run(arguments: argparse.Namespace) -> None:
    if arguments.command == "paths":
        _show_paths(arguments)
    elif arguments.action == "list":
        _list(arguments)
    else:
        names = arguments.parts or [name for name in PARTS if name != MEMORIES]
        freed_bytes = sum(map(_delete, names))
        report(arguments, {"cleared": names, "size": freed_bytes}, ())
        say(f"Cleared {', '.join(names)}: {format_size(freed_bytes)}.")


def _show_paths(arguments: argparse.Namespace) -> None:
    members = vars(Paths).items()
    names = [name for name, member in members if isinstance(member, PathWithin)]
    paths = {name: str(_path(name)) for name in names}
    width = max(map(len, names)) + 2
    lines = [f"{name:{width}}{path}" for name, path in paths.items()]
    report(arguments, paths, lines)


def _list(arguments: argparse.Namespace) -> None:
    parts: list[Json] = []
    lines: list[str] = []
    for name, meaning in PARTS.items():
        sizes = _sizes(_path(name))
        size_bytes = sum(sizes.values())
        part = {
            "name": name,
            "path": str(_path(name)),
            "files": len(sizes),
            "size": size_bytes,
        }
        parts.append(part)
        size = format_size(size_bytes)
        files = counted(len(sizes), "file")
        lines.append(f"{name:11}{size:>8}  {files:>12}  {meaning}")
    total = sum(part["size"] for part in parts)
    report(arguments, {"parts": parts, "size": total}, lines)
    say(
        "`gistread cache clear` deletes all but the memories; "
        "models are listed by `gistread models`."
    )


def _delete(name: str) -> int:
    """Delete a part and return the bytes freed. Keeps memories in use by another process."""
    if name == MEMORIES:
        return MemoryStore(_path(name)).clear()
    sizes_before = _sizes(_path(name))
    for path in sizes_before:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            message = f"{path} cannot be deleted: {error.strerror}."
            raise StorageError(message) from error
    sizes_after = _sizes(_path(name))
    return sum(sizes_before.values()) - sum(sizes_after.values())


def _path(name: str) -> Path:
    return Path(getattr(default_paths(), name))


def _sizes(folder: Path) -> dict[Path, int]:
    """The bytes of each file in a folder; empty if there is no such folder.

    Raises StorageError if a folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise StorageError(f"{error.filename}: {error.strerror}.") from error

    sizes = {}
    for place, _, names in os.walk(folder, onerror=refuse):
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):
                sizes[path] = path.stat().st_size
    return sizes
