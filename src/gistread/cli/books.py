"""`gistread books` lists the library, adds, removes and tags books.

`gistread figures` tells the reading time.
"""

import argparse
import contextlib
import shlex
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from gistread.book.sniff import SERIES_SUFFIX
from gistread.cli.opening import book_path, library_entries
from gistread.cli.output import Json, one_line, report, say, write_json
from gistread.cli.progress import ProgressLine
from gistread.errors import ExitStatus, StorageError, UsageError
from gistread.library import indexing
from gistread.library.adding import AddResult, add, add_file, add_volumes
from gistread.library.entries import (
    LibraryEntry,
    Order,
    UnknownBookError,
    filter_entries,
    find_book,
    folded,
    sort_entries,
    tagged,
)
from gistread.library.figures import (
    describe_added,
    describe_book_figures,
    describe_figures,
    format_percent,
    reading_figures,
    relative_time,
)
from gistread.memory.model import DEFAULT_FOCUS
from gistread.memory.store import BookProgress, furthest_memories
from gistread.paths import default_paths
from gistread.store.catalogue import Catalogue
from gistread.store.user_data import UserData
from gistread.units import fields, iso_time, progress_bar

_BAR_COLUMNS = 12
_MOST_LISTED = 10
_DEFAULT_ORDER = "last-read"


def run(arguments: argparse.Namespace) -> ExitStatus:
    catalogue = Catalogue(default_paths())
    if arguments.command == "figures":
        _figures(arguments)
    elif arguments.action != "list":
        _tag(catalogue, arguments)
    elif arguments.add or arguments.remove:
        _refuse_list_options(arguments)
        return _change(catalogue, arguments.add, arguments.remove, json=arguments.json)
    else:
        return _list(catalogue, arguments)
    return ExitStatus.DONE


def _refuse_list_options(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what chooses books to list, beside `--add` or `--remove`."""
    change = "--add" if arguments.add else "--remove"
    unused = {
        " ".join(arguments.words): bool(arguments.words),
        "--sort": arguments.sort is not None,
        "--tag": arguments.tag is not None,
    }
    for option, is_given in unused.items():
        if is_given:
            raise UsageError(
                f"{change} does not use {option}.", "List the books with a command of its own."
            )


def _list(catalogue: Catalogue, arguments: argparse.Namespace) -> ExitStatus:
    entries = library_entries()
    order = (arguments.sort or _DEFAULT_ORDER).replace("-", " ")
    ordered = sort_entries(entries, Order(order))
    shown = filter_entries(
        tagged(ordered, arguments.tag) if arguments.tag else ordered, " ".join(arguments.words)
    )
    read: dict[str, BookProgress] = {}
    try:
        read, problems = furthest_memories(default_paths().memories)
    except StorageError as error:
        problems = [error.message]
    for problem in problems:
        say(problem)
    furthest = [read.get(entry.sha256) for entry in shown]
    folders: list[str] | None = None
    with contextlib.suppress(StorageError):  # Told with the list
        folders = list(map(str, catalogue.read().folders))
    document = {"books": list(map(_document, shown, furthest)), "folders": folders or []}
    report(
        arguments,
        document,
        (_lines(entry, by, time.time()) for entry, by in zip(shown, furthest, strict=True)),
    )
    if not entries and folders is not None:
        say(
            "No books yet. Open one with `gistread BOOK`, or add a folder with `gistread books "
            "--add FOLDER`."
        )
    elif entries and not shown:
        say("No book matches.")
        return ExitStatus.FAILED
    return ExitStatus.DONE


def _tag(catalogue: Catalogue, arguments: argparse.Namespace) -> None:
    """Put books into a collection, or take them out. Raises GistreadError."""
    removes, tag = arguments.action == "untag", arguments.tag.strip()
    if Path(tag).suffix == SERIES_SUFFIX:
        if removes:
            raise UsageError(
                f"{tag} is a text file.", "Take the volumes out of its list with an editor."
            )
        paths = [book_path(name) for name in arguments.books]
        places = default_paths()
        book = add_volumes(Path(tag), paths, places.texts, places.encodings)
        add_file(catalogue, Path(tag))
        message, titles = (
            f"Wrote {tag}, which opens like any book",
            [volume.title for volume in book.volumes],
        )
    else:
        if not tag:
            raise UsageError(
                "The tag is empty.", "Example: gistread books tag emma persuasion austen"
            )
        found = [_entry(catalogue, name) for name in arguments.books]
        for entry in found:
            known = [one for one in entry.tags if folded(one) == folded(tag)]
            if removes and not known:
                raise UsageError(
                    f"{entry.title} does not have the tag {tag!r}.",
                    "`gistread books` shows the tags.",
                )
            for one in known or [tag]:
                catalogue.tag(entry.ids, one, remove=removes)
        message, titles = (
            f"{'No longer tagged' if removes else 'Tagged'} {tag!r}",
            [entry.title for entry in found],
        )
    report(arguments, {"tag": tag, "books": titles}, ())
    say(f"{message}: {', '.join(titles)}.")


def _entry(catalogue: Catalogue, name: str) -> LibraryEntry:
    """A book by name; a file that the library does not have yet is added. Raises GistreadError."""
    try:
        return find_book(library_entries(), name)
    except UnknownBookError:
        path = book_path(name)
        add_file(catalogue, path)
        return find_book(library_entries(), str(path))


def _change(
    catalogue: Catalogue, add_paths: Sequence[str], remove_names: Sequence[str], *, json: bool
) -> ExitStatus:
    added = []
    for name in add_paths:
        result = _add(catalogue, Path(name))
        added.append(result)
        if not json:
            _show_added(name, result)
    if added:
        with contextlib.suppress(OSError):  # `search --all` tries again.
            indexing.start_indexing(default_paths())
    entries = library_entries()
    removed = [find_book(entries, name) for name in remove_names]
    for entry in removed:
        catalogue.remove(entry.ids)
        if not json:
            if entry.path:
                how = f"`gistread books --add {shlex.quote(one_line(entry.path))}`"
            else:
                how = "open it again"
            say(
                f"Removed {entry.title} from the list; its file and your notes are kept. To "
                f"undo: {how}."
            )
    if json:
        write_json(
            {
                "added": sum(result.new for result in added),
                "known": sum(result.known for result in added),
                "left_out": sum(result.removed for result in added),
                "no_books": sum(result.scratch for result in added),
                "failed": [
                    {"path": str(f.path), "reason": f.reason}
                    for result in added
                    for f in result.failed
                ],
                "removed": [str(entry.path) if entry.path else entry.title for entry in removed],
            }
        )
    has_failed_only = any(result.failed and not result.found for result in added)
    return ExitStatus.FAILED if has_failed_only else ExitStatus.DONE


def _add(catalogue: Catalogue, path: Path) -> AddResult:
    with ProgressLine() as line:
        return add(
            catalogue,
            path,
            lambda: False,  # Ctrl+C raises KeyboardInterrupt; books found so far are kept.
            lambda so_far: line.show(f"{so_far.new + so_far.known} books · {so_far.folder}"),
        )


def _show_added(name: str, added: AddResult) -> None:
    unreadable = f" {len(added.failed)} cannot be read:" if added.failed else ""
    say(f"{name}: {describe_added(added)}{unreadable}")
    for failed in added.failed[:_MOST_LISTED]:
        say(f"  {one_line(failed.reason)}  {one_line(failed.path.parent)}")
    if len(added.failed) > _MOST_LISTED:
        say(f"  and {len(added.failed) - _MOST_LISTED} more; --json lists them all")


def _lines(entry: LibraryEntry, read: BookProgress | None, now_s: float) -> str:
    if entry.was_begun:
        bar = progress_bar(entry.share, _BAR_COLUMNS)
        opened = relative_time(entry.opened_at, now_s) if entry.was_opened else "not opened"
        progress = f"{format_percent(entry.share):>4} {bar}  {opened:12}"
    else:
        progress = f"{'not opened yet':{_BAR_COLUMNS + 19}}"
    if entry.path:
        path = f"{one_line(entry.path)}{' (missing)' if entry.missing else ''}"
    else:
        path = "standard input"
    left = f"{entry.time_left} left" if entry.time_left else ""
    facts = (entry.format, left, _read_by(entry, read), ", ".join(entry.tags), path)
    heading = f"{entry.number:>3}  {progress}  "
    indent = " " * len(heading)
    details = " · ".join(one_line(fact) for fact in facts if fact)
    return f"{heading}{one_line(entry.label)}\n{indent}{details}"


def _read_by(entry: LibraryEntry, read: BookProgress | None) -> str:
    if read is None or not entry.length or not read.pages:
        return ""
    share = read.characters / entry.length
    focus = "" if read.focus == DEFAULT_FOCUS else f" {read.focus.description}"
    return (
        f"{read.model_name} has read {'all of it' if share >= 1 else format_percent(share)}{focus}"
    )


def _document(entry: LibraryEntry, read: BookProgress | None) -> Json:
    return {
        **fields(entry, "number", "title", "authors", "missing", "format", "position", "tags"),
        "path": str(entry.path) if entry.path else None,
        "sha256": entry.sha256 or None,
        "file_sha256": entry.digest or None,
        "words": entry.words or None,
        "length": entry.length or None,
        "progress": round(entry.share, 4),
        "opened_at": iso_time(entry.opened_at) or None,
        "memory": read
        and {
            "model": {"name": read.model_name},
            **fields(read, "pages", "read_until"),
            "preset": read.focus.preset.name,
            "task": read.focus.task or None,
        },
    }


def _figures(arguments: argparse.Namespace) -> None:
    figures = reading_figures(UserData(default_paths()), library_entries(), date.today())
    lines = [*describe_figures(figures)]
    documents = []
    for book in figures.books:
        lines.append(f"\n{one_line(book.title)}\n  {describe_book_figures(book)}")
        documents.append(
            {
                **fields(book, "title", "sha256"),
                "seconds": round(book.seconds),
                "words": round(book.words),
                "words_per_minute": round(book.words_per_minute, 1),
                "progress": round(book.share, 4),
                "last_day": book.last_day.isoformat(),
            }
        )
    week = [round(seconds) for seconds in figures.week]
    report(
        arguments,
        {"today_seconds": round(figures.today_s), "week_seconds": week, "books": documents},
        lines,
    )
    if not figures.books:
        say("Time is counted while you read on in a book.")
