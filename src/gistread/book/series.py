"""Reads a series: a TOML file that lists books to be read as one, by paths relative to it.

Every volume must open, since all later offsets depend on it. A volume's text in the series equals
its text as a single book.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from gistread.book.model import (
    Book,
    Chapter,
    Image,
    LanguageSpan,
    Link,
    Paragraph,
    ParagraphKind,
    Span,
    Volume,
)
from gistread.book.normalise import clean_line
from gistread.book.sniff import HEAD_BYTES, ReadableFormat, identify
from gistread.errors import BookError

MOST_VOLUMES = 100
_LIMIT_BYTES = 1024 * 1024
# All volumes together; about twenty times War and Peace
_LIMIT_CHARACTERS = 64 * 1024 * 1024
_EXAMPLE = 'Example: title = "…" and volumes = ["one.epub", "two.txt"].'


@dataclass(frozen=True, slots=True)
class SeriesFile:
    title: str
    authors: tuple[str, ...]  # Empty: the volumes' authors
    volumes: tuple[str, ...]


def is_series(stream: BinaryIO, name: str) -> bool:
    """Whether a seekable stream, at its start, contains a series file. Raises OSError."""
    head = stream.read(HEAD_BYTES)
    stream.seek(0)
    return bool(head) and identify(head, name) is ReadableFormat.SERIES


def read_series(
    stream: BinaryIO, source: Path, open_volume: Callable[[Path], Book]
) -> Book:
    """Read the series `source` from a stream at its start.

    Raises BookError, which names the faulty volume.
    """
    series = read_series_file(stream, source.name)
    volumes: list[Book] = []
    characters = 0
    for number, path in enumerate(volume_paths(series, source), start=1):
        try:
            volume = open_volume(path)
        except BookError as error:
            message = f"Volume {number} of {source.name}: {error.message}"
            hint = error.hint or "Correct its path, or leave it out of the series."
            raise BookError(message, hint) from error
        volumes.append(volume)
        characters += len(volume.text)
        if characters > _LIMIT_CHARACTERS:
            millions = _LIMIT_CHARACTERS // 1024 // 1024
            raise BookError(
                f"The volumes of {source.name} have more than {millions} million characters.",
                "Split it into two series.",
            )
    _check_distinct(volumes, source.name)
    return join_books(series.title, series.authors, volumes)


def _check_distinct(volumes: Sequence[Book], series_name: str) -> None:
    """Raises BookError if two volumes have the same text."""
    digests = [volume.sha256 for volume in volumes]
    for number, digest in enumerate(digests, start=1):
        first_number = digests.index(digest) + 1
        if first_number < number:
            raise BookError(
                f"Volumes {first_number} and {number} of {series_name} have the same text.",
                "List each volume once.",
            )


def read_series_file(stream: BinaryIO, name: str) -> SeriesFile:
    """Parse a series file; the title defaults to the file's name. Raises BookError."""
    record = _parse_toml(stream, name)
    title = record.get("title", "")
    authors = record.get("authors", [])
    volumes = record.get("volumes")
    if not _is_string_list(volumes) or not volumes:
        raise BookError(f"{name} lists no volumes.", _EXAMPLE)
    if not isinstance(title, str) or not _is_string_list(authors):
        message = f"In {name}, title must be a string and authors a list of strings."
        raise BookError(message, _EXAMPLE)
    if len(volumes) > MOST_VOLUMES:
        raise BookError(
            f"{name} lists {len(volumes)} volumes; the limit is {MOST_VOLUMES}.",
            "Split it into two series.",
        )
    if not all(volume.strip() for volume in volumes):
        raise BookError(f"A volume in {name} has no path.", _EXAMPLE)
    return SeriesFile(
        title=clean_line(title) or clean_line(Path(name).stem),
        authors=tuple(filter(None, map(clean_line, authors))),
        volumes=tuple(volumes),
    )


def _parse_toml(stream: BinaryIO, name: str) -> dict[str, Any]:
    """The record in a series file. Raises BookError."""
    try:
        data = stream.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise BookError(f"{name} cannot be read: {error.strerror or error}.") from error
    if len(data) > _LIMIT_BYTES:
        raise BookError(f"{name} is too large for a series file.", _EXAMPLE)
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        # Python's own messages are for programmers; those of the TOML parser are shown.
        reasons = {
            UnicodeDecodeError: "it is not UTF-8",
            RecursionError: "it is nested too deeply",
            ValueError: "a number has too many digits",
        }
        reason = reasons.get(type(error), str(error).rstrip("."))
        message = f"{name} is not a valid series file: {reason}."
        raise BookError(message, _EXAMPLE) from error


def volume_paths(series: SeriesFile, source: Path) -> list[Path]:
    """Paths of the volumes. Raises BookError for one outside the folder of the series."""
    folder = source.resolve().parent
    for volume in series.volumes:
        if _leads_out(volume, folder):
            message = f"{source.name} lists {volume}, which is not beside or below it."
            hint = (
                "Move it to a folder above all volumes, and correct their paths:"
                ' `volumes = ["one/one.epub"]`.'
            )
            raise BookError(message, hint)
    return [folder / volume for volume in series.volumes]


def _leads_out(volume: str, folder: Path) -> bool:
    """Whether the path of a volume leads out of the folder of its series."""
    try:
        path = Path(volume)
        if volume.startswith("~") or path.is_absolute() or ".." in path.parts:
            return True
        return not (folder / path).resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):
        # An impossible name, or a link to itself: opening it explains the error.
        return False


def volume_path(stream: BinaryIO, source: Path, number: int) -> Path:
    """Path of a volume by its number from 1. Raises BookError."""
    paths = volume_paths(read_series_file(stream, source.name), source)
    if not 1 <= number <= len(paths):
        raise BookError(
            f"{source.name} no longer has a volume {number}.", "Open it again."
        )
    return paths[number - 1]


def _is_string_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_BETWEEN = "\n\n"
_Item = TypeVar("_Item")
_Range = TypeVar("_Range", Paragraph, Chapter, Span, Link, Image, LanguageSpan)


def join_books(title: str, authors: Sequence[str], books: Sequence[Book]) -> Book:
    """The books as the volumes of one.

    Picture sources become "NUMBER/SOURCE", with volumes from 1. `authors` defaults to the authors
    of all books.
    """
    language = _main_language(books)
    volumes = _place_volumes(books)
    # The last chapter of a volume ends where the next volume begins.
    next_headings = [volume.heading for volume in volumes[1:]]
    ends = [*next_headings, volumes[-1].end]
    texts: list[str] = []
    moved: list[Book] = []
    placed = zip(books, volumes, ends, strict=True)
    for number, (book, volume, end) in enumerate(placed, start=1):
        texts += (volume.title, book.text)
        book = replace(book, language_spans=tuple(_foreign_spans(book, language)))
        moved.append(_move(book, volume, number, end))
    return Book(
        text=_BETWEEN.join(texts),
        title=title,
        paragraphs=_chained(book.paragraphs for book in moved),
        chapters=_chained(book.chapters for book in moved),
        authors=tuple(authors) or _all_authors(books),
        language=language,
        source_format="series",
        notices=_named_notices(books),
        spans=_chained(book.spans for book in moved),
        links=_chained(book.links for book in moved),
        images=_chained(book.images for book in moved),
        language_spans=_chained(book.language_spans for book in moved),
        cover=next((book.cover for book in moved if book.cover), ""),
        volumes=tuple(volumes),
    )


def _all_authors(books: Sequence[Book]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(author for book in books for author in book.authors))


def _named_notices(books: Sequence[Book]) -> tuple[str, ...]:
    """The notices of all books, each with the title of its book."""
    return tuple(f"{book.title}: {notice}" for book in books for notice in book.notices)


def _move(book: Book, volume: Volume, number: int, end: int) -> Book:
    """A book with the offsets and picture sources of the series. `end`: of its last chapter."""
    start = volume.start
    cover = f"{number}/{book.cover}" if book.cover else ""
    return replace(
        book,
        paragraphs=(_heading(volume), *_shift(book.paragraphs, start)),
        chapters=tuple(_chapters(book, volume, end)),
        spans=tuple(_shift(book.spans, start)),
        links=tuple(_shift_links(book.links, start)),
        images=tuple(_shift_images(book.images, start, number)),
        language_spans=tuple(_shift(book.language_spans, start)),
        cover=cover,
    )


def _main_language(books: Sequence[Book]) -> str:
    """The language of most of the text; empty if no book declares one."""
    characters: Counter[str] = Counter()
    for book in books:
        if book.language:
            characters[book.language] += len(book.text)
    return max(characters, key=characters.__getitem__, default="")


def _place_volumes(books: Sequence[Book]) -> list[Volume]:
    volumes: list[Volume] = []
    heading = 0
    for book in books:
        start = heading + len(book.title) + len(_BETWEEN)
        end = start + len(book.text)
        volumes.append(Volume(book.title, heading, start, end))
        heading = end + len(_BETWEEN)
    return volumes


def _heading(volume: Volume) -> Paragraph:
    end = volume.heading + len(volume.title)
    return Paragraph(volume.heading, end, ParagraphKind.HEADING, level=1)


def _chapters(book: Book, volume: Volume, end: int) -> Iterator[Chapter]:
    """The volume as a chapter, and its own chapters one level deeper.

    `end`: where the last of them ends, at the next volume.
    """
    if len(book.chapters) == 1 and book.chapters[0].title in ("", volume.title):
        yield Chapter(volume.title, volume.heading, end)
        return
    yield Chapter(volume.title, volume.heading, volume.start)
    *others, last = _shift(book.chapters, volume.start)
    for chapter in (*others, replace(last, end=end)):
        yield replace(chapter, level=chapter.level + 1)


def _foreign_spans(book: Book, language: str) -> list[LanguageSpan]:
    """The parts of a book in another language than the series, which may be all of it."""
    spans = list(book.language_spans)
    if book.language not in ("", language):
        # These come first: the outer span precedes the inner one, also if they are equally long.
        whole = [LanguageSpan(p.start, p.end, book.language) for p in book.paragraphs]
        spans = whole + spans
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _shift(ranges: Iterable[_Range], by: int) -> Iterator[_Range]:
    return (replace(item, start=item.start + by, end=item.end + by) for item in ranges)


def _shift_links(links: Iterable[Link], by: int) -> Iterator[Link]:
    for link in _shift(links, by):
        target = None if link.target is None else link.target + by
        target_end = None if link.target_end is None else link.target_end + by
        yield replace(link, target=target, target_end=target_end)


def _shift_images(images: Iterable[Image], by: int, number: int) -> Iterator[Image]:
    return (
        replace(image, source=f"{number}/{image.source}")
        for image in _shift(images, by)
    )


def _chained(parts: Iterable[tuple[_Item, ...]]) -> tuple[_Item, ...]:
    return tuple(chain.from_iterable(parts))
