"""`gistread books`: lists the library, adds and removes books."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from gistread.cli.json_output import Json
from gistread.cli.output import one_line, say, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.errors import ExitStatus, StorageError, UsageError
from gistread.library.adding import AddResult, add
from gistread.library.catalogue import Catalogue
from gistread.library.entries import Order, filter_entries, list_entries, sort_entries
from gistread.library.model import LibraryEntry, absolute
from gistread.library.text import format_percent, furthest_reader, relative_time
from gistread.memory.focus import DEFAULT_FOCUS
from gistread.memory.progress import BookProgress, all_memories, furthest_memories
from gistread.paths import default_paths
from gistread.reading_speed import ReadingSpeedFile
from gistread.units import iso_time, progress_bar
from gistread.user_data import UserData

_BAR_COLUMNS = 12
_MOST_LISTED = 10


def run(arguments: argparse.Namespace) -> ExitStatus:
    paths = default_paths()
    user_data, catalogue = UserData(paths.books), Catalogue(paths.library)
    if arguments.add or arguments.remove:
        _change(user_data, catalogue, arguments.add, arguments.remove, json=arguments.json)
        return ExitStatus.DONE
    entries, problem = list_entries(user_data, catalogue, ReadingSpeedFile(paths.reading_speed).words_per_minute)
    if problem:
        say(problem)
    shown = filter_entries(sort_entries(entries, Order(arguments.sort.replace("-", " "))), " ".join(arguments.words))
    memories: list[BookProgress] = []
    try:
        memories += all_memories(paths.memories)
    except StorageError as error:
        say(error.message)
    for memory in memories:
        if memory.problem:
            say(memory.problem)
    read = furthest_memories(memories)
    if arguments.json:
        folders = [] if problem else [str(folder) for folder in catalogue.read().folders]
        write_json({"books": [_document(entry, furthest_reader(entry, read)) for entry in shown], "folders": folders})
        return ExitStatus.DONE
    for entry in shown:
        write(_lines(entry, furthest_reader(entry, read), time.time(), "" if problem else "not opened yet"))
    if not entries and not problem:
        say("No books yet. Open one with `gistread BOOK`, or add a folder with `gistread books --add FOLDER`.")
    elif entries and not shown:
        say(f"None of the {len(entries)} books matches.")
    return ExitStatus.DONE


def _change(
    user_data: UserData, catalogue: Catalogue, add_paths: Sequence[str], remove_names: Sequence[str], *, json: bool
) -> None:
    added = []
    for name in add_paths:
        result = _add(catalogue, Path(name))
        added.append(result)
        if not json:
            _show_added(name, result)
    removed = []
    for name in remove_names:
        entry = _find(list_entries(user_data, catalogue)[0], name)
        catalogue.remove(entry.ids)
        removed.append(entry)
        if not json:
            how = f"`gistread books --add {one_line(entry.path)}`" if entry.path else "open it again"
            say(f"Removed {entry.title} from the list; its file and your notes are kept. To undo: {how}.")
    if json:
        write_json(
            {
                "added": sum(result.new for result in added),
                "known": sum(result.known for result in added),
                "left_out": sum(result.removed for result in added),
                "failed": [{"path": str(f.path), "reason": f.reason} for result in added for f in result.failed],
                "removed": [str(entry.path) if entry.path else entry.title for entry in removed],
            }
        )


def _add(catalogue: Catalogue, path: Path) -> AddResult:
    with ProgressLine() as line:
        return add(
            catalogue,
            path,
            lambda: False,  # Ctrl+C raises KeyboardInterrupt; books found so far are kept.
            lambda so_far: line.show(f"{so_far.new + so_far.known} books · {so_far.folder}"),
        )


def _show_added(name: str, added: AddResult) -> None:
    parts = [f"{added.new} new", f"{added.known} already known"]
    if added.removed:
        parts.append(f"{added.removed} skipped because you removed them before")
    if added.failed:
        parts.append(f"{len(added.failed)} unreadable")
    say(f"{name}: {', '.join(parts)}")
    for failed in added.failed[:_MOST_LISTED]:
        say(f"  {failed.reason}  {one_line(failed.path.parent)}")
    if len(added.failed) > _MOST_LISTED:
        say(f"  and {len(added.failed) - _MOST_LISTED} more; --json lists them all")
    if added.cut:
        say(added.cut)


def _find(entries: list[LibraryEntry], name: str) -> LibraryEntry:
    """The book with this path or these words in its title. Raises UsageError unless there is exactly one."""
    path = absolute(Path(name))
    found = [entry for entry in entries if entry.path == path] or filter_entries(entries, name)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"No book in the library matches {name!r}.", "`gistread books` lists them.")
    titles = "\n".join(f"  {entry.title}  {one_line(entry.path or '')}" for entry in found[:_MOST_LISTED])
    raise UsageError(f"{len(found)} books match {name!r}. Name one by its path:", titles)


def _lines(entry: LibraryEntry, read: BookProgress | None, now_s: float, unopened: str) -> str:
    title = " · ".join((entry.title, ", ".join(entry.authors) or "unknown author"))
    if entry.was_opened:
        bar, opened = progress_bar(entry.share, _BAR_COLUMNS), relative_time(entry.opened_at, now_s)
        progress = f"{format_percent(entry.share):>4} {bar}  {opened:12}"
    else:
        progress = f"{unopened:{_BAR_COLUMNS + 19}}"
    path = f"{one_line(entry.path)}{' (missing)' if entry.missing else ''}" if entry.path else "standard input"
    facts = (entry.format, f"{entry.time_left} left" if entry.time_left else "", _read_by(entry, read), path)
    return f"{progress}  {one_line(title)}\n{'':{_BAR_COLUMNS + 21}}{' · '.join(filter(None, facts))}"


def _read_by(entry: LibraryEntry, read: BookProgress | None) -> str:
    if read is None or not entry.length or not read.pages:
        return ""
    share = read.characters / entry.length
    focus = "" if read.focus == DEFAULT_FOCUS else f" {read.focus.description}"
    return f"{read.model_name} has read {'all of it' if share >= 1 else format_percent(share)}{focus}"


def _document(entry: LibraryEntry, read: BookProgress | None) -> Json:
    return {
        "title": entry.title,
        "authors": list(entry.authors),
        "path": str(entry.path) if entry.path else None,
        "missing": entry.missing,
        "format": entry.format,
        "sha256": entry.sha256 or None,
        "file_sha256": entry.digest or None,
        "words": entry.words or None,
        "length": entry.length or None,
        "position": entry.position,
        "progress": round(entry.share, 4),
        "opened_at": iso_time(entry.opened_at) or None,
        "memory": read
        and {
            "model": {"name": read.model_name},
            "pages": read.pages,
            "read_until": read.read_until,
            "preset": read.focus.preset.name,
            "task": read.focus.task or None,
        },
    }
