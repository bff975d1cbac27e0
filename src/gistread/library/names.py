"""Books by name, wherever a command or an assistant names one: number, title, part of a title, author or file name."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from gistread.book.series import read_series_file, volume_paths
from gistread.errors import BookError, UsageError
from gistread.library.entries import filter_entries
from gistread.library.model import SERIES_FORMAT, LibraryEntry, absolute, folded

_MOST_LISTED = 10
_LEAST_WORD = 4  # Letters of a word of a title that a misspelt name is compared with
_SIMILAR = 0.75


class UnknownBookError(UsageError):
    """No book of the library has this name."""


def find_book(entries: Sequence[LibraryEntry], name: str) -> LibraryEntry:
    """The book with this path, else title, else number or id, else words. Raises UsageError unless it is one."""
    wanted, path = words_of(name), absolute(Path(name))
    found = (
        [entry for entry in entries if entry.path == path]
        or [entry for entry in entries if wanted and words_of(entry.title) == wanted]
        or [entry for entry in entries if name in (str(entry.number), entry.id)]
        or (filter_entries(entries, " ".join(wanted)) if wanted else [])
    )
    if not found:
        near = _similar(entries, name)
        raise UnknownBookError(
            f"No book is called {name!r}.",
            f"Did you mean {' or '.join(near)}?" if near else "`gistread books` lists the library.",
        )
    if len(found) > 1:
        lines = [f"{entry.number:>4}  {entry.label}" for entry in found[:_MOST_LISTED]]
        lines += [f"      and {len(found) - _MOST_LISTED} more"] * (len(found) > _MOST_LISTED)
        raise UsageError(f"{len(found)} books match {name!r}. Name one by its number:", "\n".join(lines))
    return found[0]


def words_of(name: str) -> list[str]:
    """`the-great-gatsby` and `The Great Gatsby!` have the same."""
    return re.findall(r"[^\W_]+", folded(name))


def path_of(entry: LibraryEntry) -> Path:
    """The book's file. Raises BookError if it is gone."""
    if entry.path is None:
        raise BookError(f"{entry.title} was read from standard input.", "Give the text again.")
    if entry.missing:
        raise BookError(
            f"{entry.title} is no longer at {entry.path}.", "Open it at its new path to keep its position and marks."
        )
    return entry.path


def tagged(entries: Iterable[LibraryEntry], tag: str) -> list[LibraryEntry]:
    """The books of a collection: those with this tag, or a series and its volumes. Raises UsageError if none."""
    entries, wanted = list(entries), folded(tag)
    known = {folded(name): name for entry in entries for name in entry.collections}
    if wanted not in known:
        near = get_close_matches(wanted, known, n=1)
        hint = f"Did you mean {known[near[0]]!r}?" if near else "`gistread books tag BOOK TAG` makes one."
        raise UsageError(f"No book has the tag {tag!r}.", hint)
    found = [entry for entry in entries if wanted in map(folded, entry.collections)]
    volumes = {path for entry in found if folded(entry.title) == wanted for path in _volumes(entry)}
    return [entry for entry in entries if entry in found or (entry.path and entry.path.resolve() in volumes)]


def _volumes(entry: LibraryEntry) -> list[Path]:
    """The files of a series; none for another book, or if they cannot be read."""
    if entry.format != SERIES_FORMAT or entry.path is None:
        return []
    try:
        with entry.path.open("rb") as stream:
            return [path.resolve() for path in volume_paths(read_series_file(stream, entry.path.name), entry.path)]
    except (BookError, OSError):
        return []


def _similar(entries: Iterable[LibraryEntry], name: str) -> list[str]:
    """Up to three titles that may be meant by a misspelt title, a word of it, or an author."""
    titles: dict[str, str] = {}
    for entry in entries:
        words = words_of(" ".join((entry.title, *entry.authors)))
        for text in (folded(entry.title), *(word for word in words if len(word) >= _LEAST_WORD)):
            titles.setdefault(text, f"“{entry.title}”")
    return list(dict.fromkeys(titles[near] for near in get_close_matches(folded(name), titles, 3, _SIMILAR)))
