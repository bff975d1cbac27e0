"""Reads a series: a TOML file that lists books to be read as one, by paths relative to it.

Every volume must open, since all later offsets depend on it. A volume's text in the series equals
its text as a single book.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

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
_LIMIT_CHARACTERS = 64 * 1024 * 1024  # All volumes together; about twenty times War and Peace
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


def read_series(stream: BinaryIO, source: Path, open_volume: Callable[[Path], Book]) -> Book:
    """Read the series `source` from a stream at its start.

    Raises BookError, which names the faulty volume.
    """
    listed = read_series_file(stream, source.name)
    volumes: list[Book] = []
    characters = 0
    for number, path in enumerate(volume_paths(listed, source), start=1):
        try:
            volumes.append(open_volume(path))
        except BookError as error:
            hint = error.hint or "Correct its path, or leave it out of the series."
            raise BookError(f"Volume {number} of {source.name}: {error.message}", hint) from error
        characters += len(volumes[-1].text)
        if characters > _LIMIT_CHARACTERS:
            raise BookError(
                f"The volumes of {source.name} have more than "
                f"{_LIMIT_CHARACTERS // 1024 // 1024} million characters.",
                "Split it into two series.",
            )
    texts = [volume.sha256 for volume in volumes]
    for number, text in enumerate(texts, start=1):
        if (first := texts.index(text) + 1) < number:
            message = f"Volumes {first} and {number} of {source.name} have the same text."
            raise BookError(message, "List each volume once.")
    return join_books(listed.title, listed.authors, volumes)


def read_series_file(stream: BinaryIO, name: str) -> SeriesFile:
    """Parse a series file; the title defaults to the file's name. Raises BookError."""
    try:
        data = stream.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise BookError(f"{name} cannot be read: {error.strerror or error}.") from error
    if len(data) > _LIMIT_BYTES:
        raise BookError(f"{name} is too large for a series file.", _EXAMPLE)
    try:
        record = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        # Python's own messages are for programmers; those of the TOML parser are shown.
        reasons = {
            UnicodeDecodeError: "it is not UTF-8",
            RecursionError: "it is nested too deeply",
            ValueError: "a number has too many digits",
        }
        reason = reasons.get(type(error), str(error).rstrip("."))
        raise BookError(f"{name} is not a valid series file: {reason}.", _EXAMPLE) from error
    title, authors, volumes = (
        record.get("title", ""),
        record.get("authors", []),
        record.get("volumes"),
    )
    if not _is_string_list(volumes) or not volumes:
        raise BookError(f"{name} lists no volumes.", _EXAMPLE)
    if not isinstance(title, str) or not _is_string_list(authors):
        raise BookError(
            f"In {name}, title must be a string and authors a list of strings.", _EXAMPLE
        )
    if len(volumes) > MOST_VOLUMES:
        raise BookError(
            f"{name} lists {len(volumes)} volumes; the limit is {MOST_VOLUMES}.",
            "Split it into two series.",
        )
    if not all(map(str.strip, volumes)):
        raise BookError(f"A volume in {name} has no path.", _EXAMPLE)
    return SeriesFile(
        clean_line(title) or clean_line(Path(name).stem),
        tuple(filter(None, map(clean_line, authors))),
        tuple(volumes),
    )


def volume_paths(listed: SeriesFile, source: Path) -> list[Path]:
    """Paths of the volumes. Raises BookError for one that leads out of the folder of the series."""
    folder = source.resolve().parent
    for volume in listed.volumes:
        try:
            named = Path(volume)
            leads_out = volume.startswith("~") or named.is_absolute() or ".." in named.parts
            leads_out = leads_out or not (folder / volume).resolve().is_relative_to(folder)
        except (OSError, RuntimeError, ValueError):  # an impossible name, or a link to itself
            leads_out = False
        if leads_out:
            message = f"{source.name} lists {volume}, which is not beside or below it."
            raise BookError(
                message,
                "Move it to a folder above all volumes, and correct their paths: `volumes = "
                '["one/one.epub"]`.',
            )
    return [folder / volume for volume in listed.volumes]


def volume_path(stream: BinaryIO, source: Path, number: int) -> Path:
    """Path of a volume by its number from 1. Raises BookError."""
    paths = volume_paths(read_series_file(stream, source.name), source)
    if not 1 <= number <= len(paths):
        raise BookError(f"{source.name} no longer has a volume {number}.", "Open it again.")
    return paths[number - 1]


def _is_string_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


_BETWEEN = "\n\n"
_Range = TypeVar("_Range", Paragraph, Span, Link, Image, LanguageSpan)


def join_books(title: str, authors: Sequence[str], books: Sequence[Book]) -> Book:
    """Join books.

    Picture sources become "NUMBER/SOURCE", with volumes from 1. `authors` default to all.
    """
    languages: Counter[str] = Counter()
    volumes: list[Volume] = []
    at = 0
    for book in books:
        languages[book.language] += len(book.text) if book.language else 0
        start = at + len(book.title) + len(_BETWEEN)
        volumes.append(Volume(book.title, at, start, start + len(book.text)))
        at = volumes[-1].end + len(_BETWEEN)
    language = max(languages, key=lambda each: languages[each])
    paragraphs, chapters = list[Paragraph](), list[Chapter]()
    spans, links, images, language_spans = (
        list[Span](),
        list[Link](),
        list[Image](),
        list[LanguageSpan](),
    )
    for number, (volume, book) in enumerate(zip(volumes, books, strict=True), start=1):
        by = volume.start
        paragraphs.append(
            Paragraph(volume.heading, volume.heading + len(volume.title), ParagraphKind.HEADING, 1)
        )
        paragraphs += _shift(book.paragraphs, by)
        chapters += _chapters(
            volume, book, volumes[number].heading if number < len(volumes) else volume.end
        )
        spans += _shift(book.spans, by)
        for link in _shift(book.links, by):
            target, end = (
                None if offset is None else offset + by for offset in (link.target, link.target_end)
            )
            links.append(replace(link, target=target, target_end=end))
        images += (
            replace(image, source=f"{number}/{image.source}") for image in _shift(book.images, by)
        )
        whole = book.paragraphs if book.language not in ("", language) else ()
        foreign = [
            *(LanguageSpan(p.start, p.end, book.language) for p in whole),
            *book.language_spans,
        ]
        language_spans += _shift(sorted(foreign, key=lambda one: (one.start, -one.end)), by)
    texts = [
        text
        for volume, book in zip(volumes, books, strict=True)
        for text in (volume.title, book.text)
    ]
    covers = (f"{number}/{book.cover}" for number, book in enumerate(books, start=1) if book.cover)
    return Book(
        text=_BETWEEN.join(texts),
        title=title,
        paragraphs=tuple(paragraphs),
        chapters=tuple(chapters),
        authors=tuple(authors)
        or tuple(dict.fromkeys(author for book in books for author in book.authors)),
        language=language,
        source_format="series",
        notices=tuple(f"{book.title}: {notice}" for book in books for notice in book.notices),
        spans=tuple(spans),
        links=tuple(links),
        images=tuple(images),
        language_spans=tuple(language_spans),
        cover=next(covers, ""),
        volumes=tuple(volumes),
    )


def _chapters(volume: Volume, book: Book, ends: int) -> Iterator[Chapter]:
    if len(book.chapters) == 1 and book.chapters[0].title in ("", volume.title):
        yield Chapter(volume.title, volume.heading, ends)
        return
    yield Chapter(volume.title, volume.heading, volume.start)
    for index, chapter in enumerate(book.chapters):
        end = chapter.end + volume.start if index + 1 < len(book.chapters) else ends
        yield Chapter(chapter.title, chapter.start + volume.start, end, chapter.level + 1)


def _shift(ranges: Iterable[_Range], by: int) -> Iterator[_Range]:
    return (replace(one, start=one.start + by, end=one.end + by) for one in ranges)
