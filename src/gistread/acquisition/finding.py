"""Finds books in a catalogue: by words, or shelf by shelf."""

import re
from base64 import b64decode
from dataclasses import dataclass

from gistread.acquisition.download import CatalogueClient, NotThereError
from gistread.acquisition.opds import Acquisition, Feed, OfferedBook, search_url
from gistread.acquisition.sources import Source
from gistread.errors import FetchError

# `data:image/jpeg;base64,/9j/4AAQ…`
_PICTURE = re.compile(r"data:image/[\w.+-]+;base64,(.+)", re.DOTALL)
_GUTENBERG_BOOK = re.compile(r"/ebooks/\d+\.opds$")


@dataclass(frozen=True, slots=True)
class CataloguePage:
    books: tuple[OfferedBook, ...] = ()
    shelves: tuple[OfferedBook, ...] = ()
    next: str = ""  # Address of the next page; empty after the last one

    @property
    def entries(self) -> tuple[OfferedBook, ...]:
        """The books, or the shelves of a page without books."""
        return self.books or self.shelves


async def search(
    catalogue: CatalogueClient, source: Source, words: str
) -> CataloguePage:
    """The books with these words; without words, the first page. Raises FetchError."""
    if not words:
        return await open_page(catalogue, source.url)
    template = source.search
    if not template:
        start = await catalogue.feed(source.url)
        template = await catalogue.search_template(start)
    if not template:
        message = f"{source.name} cannot be searched."
        raise FetchError(message, "Give the address of a shelf.")
    try:
        return await open_page(catalogue, search_url(template, words))
    except NotThereError:  # Calibre answers so if there is no such book.
        return CataloguePage()


async def open_page(catalogue: CatalogueClient, url: str) -> CataloguePage:
    """The page of a catalogue at this address. Raises FetchError."""
    return _page(await catalogue.feed(url))


def _page(feed: Feed) -> CataloguePage:
    """The page of a feed.

    In Project Gutenberg's results every entry leads to another feed; those with the number of a
    book are its books, and authors and subjects are left out.
    """
    shelves = feed.shelves
    numbered = [shelf for shelf in shelves if _GUTENBERG_BOOK.search(shelf.feed)]
    if numbered and not feed.books:
        return CataloguePage(books=tuple(numbered), next=feed.next)
    return CataloguePage(feed.books, shelves, feed.next)


async def cover_of(book: OfferedBook, catalogue: CatalogueClient) -> bytes:
    """The picture of a book's cover, from its own feed if need be. Raises FetchError."""
    if not book.cover and book.feed:
        feed = await catalogue.feed(book.feed)
        if feed.books:
            book = feed.books[0]
    if not book.cover:
        message = f"{book.title} has no cover in this catalogue."
        raise FetchError(message, "Get the book to see it.")
    encoded = _PICTURE.fullmatch(book.cover)
    if encoded is None:
        data, _ = await catalogue.document(book.cover)
        return data
    try:
        return b64decode(encoded[1])
    except ValueError as error:
        message = f"The cover of {book.title} is damaged."
        raise FetchError(message, "Get the book.") from error


async def file_of(book: OfferedBook, catalogue: CatalogueClient) -> Acquisition:
    """The best file of a book, from its own feed if need be. Raises FetchError."""
    if not book.files and book.feed:
        feed = await catalogue.feed(book.feed)
        if not feed.books:
            hint = f"List it: gistread get {book.feed}"
            raise FetchError(f"{book.title} is a shelf.", hint)
        book = feed.books[0]
    if not book.files:
        raise FetchError(
            f"{book.title} is not offered in a format that gistread reads, or not for free.",
            "Download it with a browser, then: gistread books --add FILE",
        )
    return book.files[0]
