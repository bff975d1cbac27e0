"""Books one after another as one book: each behind a heading that gives its title, its chapters under that.

Offsets are moved and nothing else: the text of a volume stands in the series as it stands in its own book, so that
whatever is known of the one can be found in the other. Knows nothing of files.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gistread.book.model import Book, Chapter, Foreign, Image, Kind, Link, Paragraph, Span, Volume

_BETWEEN = "\n\n"


def join(title: str, authors: Sequence[str], books: Sequence[Book]) -> Book:
    """These books, at least one, as one; without `authors`, those of all of them.

    A picture's source is the number of its volume, from 1, a slash, and its source there.
    """
    volumes = _volumes(books)
    language = _language(books)
    spans: list[Span] = []
    links: list[Link] = []
    images: list[Image] = []
    foreign: list[Foreign] = []
    paragraphs: list[Paragraph] = []
    chapters: list[Chapter] = []
    for number, (volume, book) in enumerate(zip(volumes, books, strict=True), start=1):
        by = volume.start
        paragraphs.append(Paragraph(volume.heading, volume.heading + len(volume.title), Kind.HEADING, 1))
        paragraphs += [Paragraph(p.start + by, p.end + by, p.kind, p.level) for p in book.paragraphs]
        ends = volumes[number].heading if number < len(volumes) else volume.end
        chapters += _chapters(volume, book, ends)
        spans += [Span(one.start + by, one.end + by, one.style) for one in book.spans]
        links += [_link(one, by) for one in book.links]
        images += [Image(one.start + by, one.end + by, f"{number}/{one.source}") for one in book.images]
        foreign += _foreign(book, by, language)
    texts = [text for volume, book in zip(volumes, books, strict=True) for text in (volume.title, book.text)]
    covers = (f"{number}/{book.cover}" for number, book in enumerate(books, start=1) if book.cover)
    return Book(
        text=_BETWEEN.join(texts),
        title=title,
        paragraphs=tuple(paragraphs),
        chapters=tuple(chapters),
        authors=tuple(authors) or tuple(dict.fromkeys(author for book in books for author in book.authors)),
        language=language,
        source_format="series",
        notices=tuple(f"{book.title}: {notice}" for book in books for notice in book.notices),
        spans=tuple(spans),
        links=tuple(links),
        images=tuple(images),
        foreign=tuple(foreign),
        cover=next(covers, ""),
        volumes=volumes,
    )


def _volumes(books: Sequence[Book]) -> tuple[Volume, ...]:
    volumes: list[Volume] = []
    at = 0
    for book in books:
        start = at + len(book.title) + len(_BETWEEN)
        volumes.append(Volume(book.title, at, start, start + len(book.text)))
        at = volumes[-1].end + len(_BETWEEN)
    return tuple(volumes)


def _language(books: Sequence[Book]) -> str:
    """The one in which most of the series is."""
    characters: Counter[str] = Counter()
    for book in books:
        characters[book.language] += len(book.text) if book.language else 0
    return max(characters, key=lambda language: characters[language])


def _chapters(volume: Volume, book: Book, ends: int) -> Iterator[Chapter]:
    """The volume and the chapters under it, up to `ends`; a book that has none is one chapter."""
    if len(book.chapters) == 1 and book.chapters[0].title in ("", volume.title):
        yield Chapter(volume.title, volume.heading, ends)
        return
    yield Chapter(volume.title, volume.heading, volume.start)
    for index, chapter in enumerate(book.chapters):
        end = chapter.end + volume.start if index + 1 < len(book.chapters) else ends
        yield Chapter(chapter.title, chapter.start + volume.start, end, chapter.level + 1)


def _link(link: Link, by: int) -> Link:
    if link.target is None:
        return replace(link, start=link.start + by, end=link.end + by)
    target_end = None if link.target_end is None else link.target_end + by
    return Link(link.start + by, link.end + by, link.target + by, target_end, link.address)


def _foreign(book: Book, by: int, language: str) -> list[Foreign]:
    """Words in another language than the series: all of a volume in another one, and what is foreign in that."""
    whole = book.paragraphs if book.language not in ("", language) else ()
    words = [Foreign(p.start + by, p.end + by, book.language) for p in whole]
    words += [Foreign(one.start + by, one.end + by, one.language) for one in book.foreign]
    return sorted(words, key=lambda one: (one.start, -one.end))
