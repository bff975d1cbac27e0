"""What the user may name: a catalogue, or a book by number, page or address."""

import re
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from gistread.acquisition.opds import Acquisition, OfferedBook
from gistread.engine.fetching.network import split_address
from gistread.errors import UsageError

_GUTENBERG = "https://www.gutenberg.org"
_STANDARD_EBOOKS = "https://standardebooks.org"
_ADDRESS_HINT = (
    "Example: https://example.org/opds, with --user NAME if it needs a login."
)
_EPUB = "application/epub+zip"
_GUTENBERG_PAGE = re.compile(r"https?://(?:www\.)?gutenberg\.org/ebooks/(\d+)/?")
_STANDARD_PAGE = re.compile(
    r"https?://(?:www\.)?standardebooks\.org/ebooks/([\w./-]+?)/?"
)
_LOGIN = re.compile(r"://[^/\s]*@")  # `://name:password@`
# `www.gutenberg.org/ebooks/84`, `localhost:8080/opds`: a host, perhaps a port, and a path
_BARE_ADDRESS = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+)(?::\d+)?/\S*|www\.\S+")


@dataclass(frozen=True, slots=True)
class Source:
    """A catalogue: where it begins, and how it is searched."""

    name: str
    url: str
    search: str = ""  # A template for `search_url`; empty: the catalogue names its own
    has_numbers: bool = False  # Whether a number names a book

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or self.url


SOURCES = {
    "gutenberg": Source(
        "Project Gutenberg",
        f"{_GUTENBERG}/ebooks.opds/",
        f"{_GUTENBERG}/ebooks/search.opds/?query={{searchTerms}}",
        has_numbers=True,
    ),
    "standard-ebooks": Source(
        "Standard Ebooks",
        f"{_STANDARD_EBOOKS}/feeds/opds",
        f"{_STANDARD_EBOOKS}/feeds/opds/all?query={{searchTerms}}",
    ),
}


def all_sources(addresses: str) -> list[Source]:
    """The known sources, and catalogues at the valid addresses among these words.

    A login in an address, which earlier versions stored, is left out: it is asked for when needed.
    """
    sources = list(SOURCES.values())
    for word in _own_addresses(addresses):
        with suppress(UsageError):
            source = find_source(word)
            if source not in sources:
                sources.append(source)
    return sources


def address_problems(addresses: str) -> list[str]:
    """A sentence for each of these words that is not the address of a catalogue."""
    problems: list[str] = []
    for word in _own_addresses(addresses):
        try:
            find_source(word)
        except UsageError:
            problems.append(f"{word} is not the address of a catalogue.")
    return problems


def _own_addresses(addresses: str) -> list[str]:
    """The words without logins, and without the names of known sources."""
    words = (_LOGIN.sub("://", word) for word in addresses.split())
    return [word for word in words if word.casefold() not in SOURCES]


def find_source(name: str) -> Source:
    """A source by its name, or a catalogue by its address. Raises UsageError."""
    source = SOURCES.get(name.casefold())
    if source is not None:
        return source
    check_address(name)
    if "://" in name:
        return Source(urlsplit(name).netloc, name)
    raise UsageError(
        f"{name} is not a catalogue.",
        f"Use {', '.join(SOURCES)}, or an address with https://.",
    )


def check_address(name: str) -> None:
    """Raises UsageError if the address is invalid, holds a login, or is not of http or https."""
    scheme, separator, _ = name.partition("://")
    if not separator:
        if _BARE_ADDRESS.fullmatch(name):
            message = f"{name} looks like an address without its scheme."
            raise UsageError(message, f"Use https://{name}")
        return
    if scheme.lower() not in ("http", "https"):
        raise UsageError(
            f"Books are fetched over http and https, and {name} begins with {scheme}.",
            "Download it with another program, then: gistread books --add FILE",
        )
    split_address(name, _ADDRESS_HINT)


def named_book(name: str) -> OfferedBook | None:
    """The book with a number of Project Gutenberg or a page of a known site; None for another name.

    >>> named_book("84").files[0].url
    'https://www.gutenberg.org/ebooks/84.epub3.images'
    """
    gutenberg_page = _GUTENBERG_PAGE.fullmatch(name)
    number = gutenberg_page[1] if gutenberg_page else name
    if number.isdecimal():
        url = f"{_GUTENBERG}/ebooks/{number}.epub3.images"
        file = Acquisition(url, _EPUB)
        return OfferedBook(f"Project Gutenberg {number}", files=(file,))
    standard_page = _STANDARD_PAGE.fullmatch(name)
    if standard_page is None:
        return None
    path = standard_page[1]  # `jane-austen/emma`
    file_name = f"{path.replace('/', '_')}.epub"
    url = f"{_STANDARD_EBOOKS}/ebooks/{path}/downloads/{file_name}?source=download"
    _, _, title = path.rpartition("/")
    return OfferedBook(title, files=(Acquisition(url, _EPUB),))
