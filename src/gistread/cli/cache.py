"""`gistread paths` shows where gistread keeps its files.

`gistread cache …` how much the cache takes, and clears it.
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
        places = {
            name: str(_path(name))
            for name, member in vars(Paths).items()
            if isinstance(member, PathWithin)
        }
        width = max(map(len, places)) + 2
        report(arguments, places, (f"{name:{width}}{place}" for name, place in places.items()))
    elif arguments.action == "list":
        _list(arguments)
    else:
        names = arguments.parts or [name for name in PARTS if name != MEMORIES]
        freed = sum(map(_delete, names))
        report(arguments, {"cleared": names, "size": freed}, ())
        say(f"Cleared {', '.join(names)}: {format_size(freed)}.")


def _list(arguments: argparse.Namespace) -> None:
    found = {name: _sizes(_path(name)) for name in PARTS}
    parts: list[Json] = [
        {"name": name, "path": str(_path(name)), "files": len(sizes), "size": sum(sizes.values())}
        for name, sizes in found.items()
    ]
    lines = (
        (
            f"{part['name']:11}{format_size(part['size']):>8}  "
            f"{counted(part['files'], 'file'):>12}  "
            f"{PARTS[part['name']]}"
        )
        for part in parts
    )
    report(arguments, {"parts": parts, "size": sum(part["size"] for part in parts)}, lines)
    say(
        "`gistread cache clear` deletes all but the memories; models are listed by `gistread "
        "models`."
    )


def _delete(name: str) -> int:
    """Delete a part and return the bytes freed. Keeps memories in use by another process."""
    if name == MEMORIES:
        return MemoryStore(_path(name)).clear()
    before = _sizes(_path(name))
    for path in before:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{path} cannot be deleted: {error.strerror}.") from error
    return sum(before.values()) - sum(_sizes(_path(name)).values())


def _path(name: str) -> Path:
    return Path(getattr(default_paths(), name))


def _sizes(folder: Path) -> dict[Path, int]:
    """All files in a folder, which may not exist, and their bytes.

    Raises StorageError if a folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise StorageError(f"{error.filename}: {error.strerror}.") from error

    sizes = {}
    for place, _, names in os.walk(folder, onerror=refuse):
        for path in (Path(place, name) for name in names):
            with contextlib.suppress(OSError):
                sizes[path] = path.stat().st_size
    return sizes
