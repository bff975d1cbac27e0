"""`gistread books`: the library as a list; books are added to it and taken out of it."""

import argparse
import os
import time
from pathlib import Path
from typing import Any

from gistread.cli.output import say, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.errors import ExitStatus, UsageError
from gistread.library.adding import AddResult, add
from gistread.library.catalogue import Catalogue
from gistread.library.entries import Order, in_order, list_entries, matching
from gistread.library.memories import furthest_reader
from gistread.library.model import LibraryEntry, absolute
from gistread.library.text import percent, progress_bar, relative_time
from gistread.memory.focus import DEFAULT_FOCUS
from gistread.memory.progress import BookProgress, furthest_memories
from gistread.paths import default_paths
from gistread.reading_speed import ReadingSpeedFile
from gistread.user_data import UserData

_BAR_COLUMNS = 12
_MOST_NAMED = 10
"""Books that are named where there are many."""


def run(arguments: argparse.Namespace) -> ExitStatus:
    paths = default_paths()
    user_data, catalogue = UserData(paths.books), Catalogue(paths.library)
    if arguments.add or arguments.remove:
        return _change(user_data, catalogue, arguments)
    entries, problem = list_entries(user_data, catalogue, ReadingSpeedFile(paths.reading_speed).words_per_minute)
    if problem:
        say(problem)
    shown = matching(in_order(entries, Order(arguments.sort.replace("-", " "))), " ".join(arguments.words))
    read = furthest_memories(paths.memories)
    if arguments.json:
        folders = [] if problem else [_text(folder) for folder in catalogue.read().folders]
        write_json({"books": [_document(entry, furthest_reader(entry, read)) for entry in shown], "folders": folders})
        return ExitStatus.DONE
    for entry in shown:
        write(_lines(entry, furthest_reader(entry, read), time.time()))
    if not entries:
        say("There is no book yet: open one with `gistread BOOK`, or add a folder with `gistread books --add FOLDER`.")
    elif not shown:
        say(f"None of the {len(entries)} books is called like that.")
    return ExitStatus.DONE


def _change(user_data: UserData, catalogue: Catalogue, arguments: argparse.Namespace) -> ExitStatus:
    added = []
    for name in arguments.add:
        one = _added(catalogue, Path(name))
        added.append(one)
        if not arguments.json:
            _say_added(name, one)
    removed = []
    for name in arguments.remove:
        entry = _meant(list_entries(user_data, catalogue)[0], name)
        catalogue.remove(entry.ids)
        removed.append(entry)
        if not arguments.json:
            back = (
                f"`gistread books --add {_shown(entry.path)}` brings it back"
                if entry.path
                else "opening brings it back"
            )
            say(f"{entry.title} is out of the list; its file and what you noted are untouched, and {back}.")
    if arguments.json:
        write_json(
            {
                "added": sum(one.new for one in added),
                "known": sum(one.known for one in added),
                "left_out": sum(one.removed for one in added),
                "failed": [{"path": _text(f.path), "reason": f.reason} for one in added for f in one.failed],
                "removed": [_text(entry.path) if entry.path else entry.title for entry in removed],
            }
        )
    return ExitStatus.DONE


def _added(catalogue: Catalogue, path: Path) -> AddResult:
    with ProgressLine() as line:
        return add(
            catalogue,
            path,
            lambda: False,  # Ctrl+C arrives as an exception, and what was found by then is kept
            lambda so_far: line.show(f"{so_far.new + so_far.known} books · {so_far.folder}"),
        )


def _say_added(name: str, added: AddResult) -> None:
    parts = [f"{added.new} new", f"{added.known} known already"]
    if added.removed:
        parts.append(f"{added.removed} left out, since you took them out before")
    if added.failed:
        parts.append(f"{len(added.failed)} that cannot be read")
    say(f"{name}: {', '.join(parts)}")
    for failed in added.failed[:_MOST_NAMED]:
        say(f"  {failed.reason}  {_shown(failed.path.parent)}")
    if len(added.failed) > _MOST_NAMED:
        say(f"  and {len(added.failed) - _MOST_NAMED} more; --json lists them all")
    if added.cut:
        say(added.cut)


def _meant(entries: list[LibraryEntry], name: str) -> LibraryEntry:
    """The one book that was named, by its path or by words of its title. Raises UsageError."""
    path = absolute(Path(name))
    found = [entry for entry in entries if entry.path == path] or matching(entries, name)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"No book in the library is called {name}.", "`gistread books` lists them.")
    titles = "\n".join(f"  {entry.title}  {_shown(entry.path) if entry.path else ''}" for entry in found[:_MOST_NAMED])
    raise UsageError(f"{len(found)} books are meant by {name!r}; name one by its path:", titles)


def _lines(entry: LibraryEntry, read: BookProgress | None, now_s: float) -> str:
    title = " · ".join((entry.title, ", ".join(entry.authors) or "unknown author"))
    if entry.was_opened:
        bar, opened = progress_bar(entry.share, _BAR_COLUMNS), relative_time(entry.opened_at, now_s)
        progress = f"{percent(entry.share):>4} {bar}  {opened:12}"
    else:
        progress = f"{'not opened yet':{_BAR_COLUMNS + 19}}"
    facts = [entry.format, f"{entry.time_left} left" if entry.time_left else "", _read_by(entry, read)]
    where = _shown(entry.path) if entry.path else "read from standard input"
    facts.append(f"{where} (no longer there)" if entry.missing else where)
    return f"{progress}  {title}\n{'':{_BAR_COLUMNS + 21}}{' · '.join(filter(None, facts))}"


def _read_by(entry: LibraryEntry, read: BookProgress | None) -> str:
    if read is None or not entry.length or not read.pages:
        return ""
    share = read.read_until / entry.length
    focus = "" if read.focus == DEFAULT_FOCUS else f" {read.focus.description}"
    return f"{read.model_name} read {'all' if share >= 1 else percent(share)}{focus}"


def _document(entry: LibraryEntry, read: BookProgress | None) -> dict[str, Any]:
    return {
        "title": entry.title,
        "authors": list(entry.authors),
        "path": _text(entry.path) if entry.path else None,
        "missing": entry.missing,
        "format": entry.format,
        "sha256": entry.sha256 or None,
        "file_sha256": entry.digest or None,
        "words": entry.words or None,
        "length": entry.length or None,
        "position": entry.position,
        "progress": round(entry.share, 4),
        "opened_at": entry.opened_at or None,
        "memory": _memory(read) if read else None,
    }


def _memory(read: BookProgress) -> dict[str, Any]:
    return {
        "model": read.model_name,
        "pages": read.pages,
        "read_until": read.read_until,
        "preset": read.focus.preset.name,
        "task": read.focus.task or None,
    }


def _text(path: Path) -> str:
    """A path as text; bytes that are none are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _shown(path: Path) -> str:
    """A path on one line."""
    return _text(path).replace("\n", "\ufffd")
