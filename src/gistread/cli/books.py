"""`gistread books` lists the library, adds, removes and tags books.

`gistread figures` shows the reading time.
"""

import argparse
import contextlib
import shlex
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from gistread.book.sniff import SERIES_SUFFIX
from gistread.cli.opening import book_path, library_entries
from gistread.cli.output import Json, one_line, or_null, report, say, write_json
from gistread.cli.progress import ProgressLine
from gistread.cli.settings import warn_of_settings
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
    BookFigures,
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
_OPENED_COLUMNS = 12
_PROGRESS_COLUMNS = len("100% ") + _BAR_COLUMNS + len("  ") + _OPENED_COLUMNS
_MOST_LISTED = 10
_DEFAULT_ORDER = "last-read"


def run(arguments: argparse.Namespace) -> ExitStatus:
    warn_of_settings()
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
    """Raises UsageError if an option of the list stands beside `--add` or `--remove`."""
    change = "--add" if arguments.add else "--remove"
    if arguments.words:
        option = " ".join(arguments.words)
    elif arguments.sort is not None:
        option = "--sort"
    elif arguments.tag is not None:
        option = "--tag"
    else:
        return
    hint = "List the books with a command of its own."
    raise UsageError(f"{change} does not use {option}.", hint)


def _list(catalogue: Catalogue, arguments: argparse.Namespace) -> ExitStatus:
    """List the chosen books. Fails if no book matches."""
    entries = library_entries()
    shown = _chosen(entries, arguments)
    memories = _furthest_memories()
    folders: list[str] | None = None
    with contextlib.suppress(StorageError):  # `library_entries` has reported it.
        folders = list(map(str, catalogue.read().folders))
    now_s = time.time()
    documents: list[Json] = []
    lines: list[str] = []
    for entry in shown:
        progress = memories.get(entry.sha256)
        documents.append(_document(entry, progress))
        lines.append(_lines(entry, progress, now_s))
    report(arguments, {"books": documents, "folders": folders or []}, lines)
    if not entries and folders is not None:
        say(
            "No books yet. Open one with `gistread BOOK`, "
            "or add a folder with `gistread books --add FOLDER`."
        )
    elif entries and not shown:
        say("No book matches.")
        return ExitStatus.FAILED
    return ExitStatus.DONE


def _chosen(
    entries: list[LibraryEntry], arguments: argparse.Namespace
) -> list[LibraryEntry]:
    """The books that the command line names, in its order."""
    order = (arguments.sort or _DEFAULT_ORDER).replace("-", " ")
    chosen = sort_entries(entries, Order(order))
    if arguments.tag:
        chosen = tagged(chosen, arguments.tag)
    return filter_entries(chosen, " ".join(arguments.words))


def _furthest_memories() -> Mapping[str, BookProgress]:
    """How far a model has read each book, by the hash of its text. Says what is damaged."""
    try:
        progress_of, problems = furthest_memories(default_paths().memories)
    except StorageError as error:
        say(error.message)
        return {}
    for problem in problems:
        say(problem)
    return progress_of


def _tag(catalogue: Catalogue, arguments: argparse.Namespace) -> None:
    """Put books into a collection, or take them out. Raises GistreadError."""
    removes = arguments.action == "untag"
    tag = arguments.tag.strip()
    is_series = Path(tag).suffix == SERIES_SUFFIX
    if is_series and removes:
        hint = "Take the volumes out of its list with an editor."
        raise UsageError(f"{tag} is a text file.", hint)
    if not tag:
        example = "Example: gistread books tag emma persuasion austen"
        raise UsageError("The tag is empty.", example)
    if is_series:
        titles = _add_to_series(catalogue, Path(tag), arguments.books)
        message = f"Wrote {tag}, which opens like any book"
    else:
        titles = _tag_books(catalogue, arguments.books, tag, removes=removes)
        verb = "No longer tagged" if removes else "Tagged"
        message = f"{verb} {tag!r}"
    report(arguments, {"tag": tag, "books": titles}, ())
    say(f"{message}: {', '.join(titles)}.")


def _tag_books(
    catalogue: Catalogue, names: Sequence[str], tag: str, *, removes: bool
) -> list[str]:
    """Tag these books, or remove the tag; return their titles. Raises GistreadError."""
    entries = [_entry(catalogue, name) for name in names]
    for entry in entries:
        _tag_entry(catalogue, entry, tag, removes=removes)
    return [entry.title for entry in entries]


def _add_to_series(
    catalogue: Catalogue, series: Path, names: Sequence[str]
) -> list[str]:
    """Add these volumes to the file of a series; return the titles of all its volumes."""
    volumes = [book_path(name) for name in names]
    paths = default_paths()
    book = add_volumes(series, volumes, paths.texts, paths.encodings)
    add_file(catalogue, series)
    return [volume.title for volume in book.volumes]


def _entry(catalogue: Catalogue, name: str) -> LibraryEntry:
    """A book by name. A file that is not in the library yet is added. Raises GistreadError."""
    try:
        return find_book(library_entries(), name)
    except UnknownBookError:
        path = book_path(name)
        add_file(catalogue, path)
        return find_book(library_entries(), str(path))


def _tag_entry(
    catalogue: Catalogue, entry: LibraryEntry, tag: str, *, removes: bool
) -> None:
    """Add or remove a tag, as the book already spells it. Raises UsageError, StorageError."""
    spellings = [own for own in entry.tags if folded(own) == folded(tag)]
    if removes and not spellings:
        raise UsageError(
            f"{entry.title} does not have the tag {tag!r}.",
            "`gistread books` shows the tags.",
        )
    for spelling in spellings or [tag]:
        catalogue.tag(entry.ids, spelling, remove=removes)


def _change(
    catalogue: Catalogue,
    add_paths: Sequence[str],
    remove_names: Sequence[str],
    *,
    json: bool,
) -> ExitStatus:
    """Add and remove books. Fails if a path has unreadable books only."""
    results = []
    for name in add_paths:
        result = _add(catalogue, Path(name))
        results.append(result)
        if not json:
            _show_added(name, result)
    if results:
        with contextlib.suppress(OSError):  # `search --all` tries again.
            indexing.start_indexing(default_paths())
    entries = library_entries()
    removed = [find_book(entries, name) for name in remove_names]
    for entry in removed:
        catalogue.remove(entry.ids)
        if not json:
            _show_removed(entry)
    if json:
        write_json(_change_document(results, removed))
    has_failed_only = any(result.failed and not result.books for result in results)
    return ExitStatus.FAILED if has_failed_only else ExitStatus.DONE


def _add(catalogue: Catalogue, path: Path) -> AddResult:
    """Add a file or a folder, with progress. Raises BookError, StorageError."""
    with ProgressLine() as line:

        def is_cancelled() -> bool:
            return False  # Ctrl+C raises KeyboardInterrupt; books added so far stay.

        def show(so_far: AddResult) -> None:
            line.show(f"{so_far.new + so_far.known} books · {so_far.folder}")

        return add(catalogue, path, is_cancelled, show)


def _show_added(name: str, added: AddResult) -> None:
    unreadable = f" {len(added.failed)} cannot be read:" if added.failed else ""
    say(f"{name}: {describe_added(added)}{unreadable}")
    for failed in added.failed[:_MOST_LISTED]:
        say(f"  {one_line(failed.reason)}  {one_line(failed.path.parent)}")
    if len(added.failed) > _MOST_LISTED:
        say(f"  and {len(added.failed) - _MOST_LISTED} more; --json lists them all")


def _show_removed(entry: LibraryEntry) -> None:
    undo = "open it again"
    if entry.path:
        undo = f"`gistread books --add {shlex.quote(one_line(entry.path))}`"
    say(
        f"Removed {entry.title} from the list; its file and your notes are kept. "
        f"To undo: {undo}."
    )


def _change_document(
    added: Sequence[AddResult], removed: Sequence[LibraryEntry]
) -> Json:
    failures = [
        {"path": str(failure.path), "reason": failure.reason}
        for result in added
        for failure in result.failed
    ]
    return {
        "added": sum(result.new for result in added),
        "known": sum(result.known for result in added),
        "left_out": sum(result.left_out for result in added),
        "no_books": sum(result.no_books for result in added),
        "failed": failures,
        "removed": [str(entry.path or entry.title) for entry in removed],
    }


def _lines(entry: LibraryEntry, progress: BookProgress | None, now_s: float) -> str:
    """Number, progress and title of a book, and below them its details."""
    heading = f"{entry.number:>3}  {_progress(entry, now_s)}  "
    time_left = f"{entry.time_left} left" if entry.time_left else ""
    facts = (
        entry.format,
        time_left,
        _read_by(entry, progress),
        ", ".join(entry.tags),
        _place(entry),
    )
    details = " · ".join(one_line(fact) for fact in facts if fact)
    indent = " " * len(heading)
    return f"{heading}{one_line(entry.label)}\n{indent}{details}"


def _progress(entry: LibraryEntry, now_s: float) -> str:
    """` 40% ━━━━━───────  2 days ago  `"""
    if not entry.was_begun:
        return "not opened yet".ljust(_PROGRESS_COLUMNS)
    bar = progress_bar(entry.share, _BAR_COLUMNS)
    opened = "not opened"
    if entry.was_opened:
        opened = relative_time(entry.opened_at, now_s)
    return f"{format_percent(entry.share):>4} {bar}  {opened:{_OPENED_COLUMNS}}"


def _place(entry: LibraryEntry) -> str:
    if not entry.path:
        return "standard input"
    missing = " (missing)" if entry.missing else ""
    return f"{one_line(entry.path)}{missing}"


def _read_by(entry: LibraryEntry, progress: BookProgress | None) -> str:
    """`SmolLM2 has read 40%`; empty if no model has read the book."""
    if progress is None or not entry.length or not progress.pages:
        return ""
    share = progress.characters / entry.length
    extent = "all of it" if share >= 1 else format_percent(share)
    focus = "" if progress.focus == DEFAULT_FOCUS else f" {progress.focus.description}"
    return f"{progress.model_name} has read {extent}{focus}"


def _document(entry: LibraryEntry, progress: BookProgress | None) -> Json:
    return {
        "number": entry.number,
        "title": entry.title,
        "authors": entry.authors,
        "missing": entry.missing,
        "format": entry.format,
        "position": entry.position,
        "tags": entry.tags,
        "path": or_null(str, entry.path),
        "sha256": entry.sha256 or None,
        "file_sha256": entry.digest or None,
        "words": entry.words or None,
        "length": entry.length or None,
        "progress": round(entry.share, 4),
        "opened_at": iso_time(entry.opened_at) or None,
        "memory": or_null(_memory_document, progress),
    }


def _memory_document(progress: BookProgress) -> Json:
    return {
        "model": {"name": progress.model_name},
        **fields(progress, "pages", "read_until"),
        "preset": progress.focus.preset.name,
        "task": progress.focus.task or None,
    }


def _figures(arguments: argparse.Namespace) -> None:
    figures = reading_figures(
        UserData(default_paths()), library_entries(), date.today()
    )
    lines = [*describe_figures(figures)]
    for book in figures.books:
        lines += ["", one_line(book.title), f"  {describe_book_figures(book)}"]
    document = {
        "today_seconds": round(figures.today_s),
        "week_seconds": [round(seconds) for seconds in figures.week],
        "books": [_figures_document(book) for book in figures.books],
    }
    report(arguments, document, lines)
    if not figures.books:
        say("Time is counted while you read on in a book.")


def _figures_document(book: BookFigures) -> Json:
    return {
        **fields(book, "title", "sha256"),
        "seconds": round(book.seconds),
        "words": round(book.words),
        "words_per_minute": round(book.words_per_minute, 1),
        "progress": round(book.share, 4),
        "last_day": book.last_day.isoformat(),
    }
