"""OPDS catalogues of both versions."""

import json
from typing import Any

import pytest

from gistread.acquisition.opds import parse_description, parse_feed, search_url
from gistread.acquisition.sources import (
    SOURCES,
    Source,
    address_problems,
    all_sources,
    find_source,
    named_book,
)
from gistread.errors import FetchError, UsageError

URL = "https://books.example/opds/new"
ATOM = b"""<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/terms/">
  <title>New books</title>
  <link rel="search" type="application/opensearchdescription+xml" href="/search.xml"/>
  <link rel="next" type="application/atom+xml" href="?page=2"/>
  <entry>
    <title>Emma</title><author><name>Jane Austen</name></author><dc:language>en</dc:language>
    <link rel="http://opds-spec.org/acquisition" type="application/pdf" href="/1.pdf"/>
    <link rel="http://opds-spec.org/acquisition/open-access" type="application/epub+zip"
      href="/1.epub"/>
  </entry>
  <entry>
    <title>Not free</title>
    <link rel="http://opds-spec.org/acquisition/buy" type="application/epub+zip" href="/2.epub"/>
  </entry>
  <entry>
    <title>By author</title>
    <link rel="subsection" type="application/atom+xml;profile=opds-catalog" href="/authors"/>
  </entry>
</feed>"""
JSON: dict[str, Any] = {
    "metadata": {"title": "New books"},
    "links": [
        {"rel": "search", "href": "/find{?query}", "type": "application/opds+json"},
        {"rel": "next", "href": "?page=2"},
    ],
    "navigation": [{"title": "By author", "href": "/authors"}],
    "publications": [
        {
            "metadata": {"title": {"en": "Emma"}, "author": [{"name": "Jane Austen"}]},
            "links": [
                {
                    "rel": "http://opds-spec.org/acquisition/open-access",
                    "href": "/1.epub",
                    "type": "application/epub+zip",
                }
            ],
        }
    ],
}


_THUMBNAIL = b"""<link rel="http://opds-spec.org/image" href="/large.jpg"/>
<link rel="http://opds-spec.org/image/thumbnail" href="/small.jpg"/><title>Emma</title>"""
_IMAGES = [
    {"width": 9},
    {"href": "/large.jpg", "width": 900},
    {"href": "/small.jpg", "width": 90},
]


@pytest.mark.parametrize(
    "data",
    [
        ATOM.replace(b"<title>Emma</title>", _THUMBNAIL),
        json.dumps(
            JSON | {"publications": [{**JSON["publications"][0], "images": _IMAGES}]}
        ).encode(),
    ],
)
def test_the_smallest_cover_is_named(data: bytes) -> None:
    (book,) = parse_feed(data, URL).books
    assert book.cover == "https://books.example/small.jpg"


def test_a_book_without_pictures_is_listed() -> None:
    document = JSON | {"publications": [{**JSON["publications"][0], "images": None}]}
    (book,) = parse_feed(json.dumps(document).encode(), URL).books
    assert (book.title, book.cover) == ("Emma", "")


@pytest.mark.parametrize("data", [ATOM, json.dumps(JSON).encode()])
def test_both_versions_list_free_books_shelves_and_the_next_page(data: bytes) -> None:
    feed = parse_feed(data, URL)
    (book,) = feed.books
    assert (book.title, book.authors) == ("Emma", ("Jane Austen",))
    assert book.files[0].url == "https://books.example/1.epub"
    assert [(shelf.title, shelf.feed) for shelf in feed.shelves] == [
        ("By author", "https://books.example/authors")
    ]
    assert feed.next == "https://books.example/opds/new?page=2"


def test_a_search_is_described_or_given_as_a_template() -> None:
    assert parse_feed(ATOM, URL).description == "https://books.example/search.xml"
    description = (
        b'<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/"><Url '
        b'type="application/atom+xml" template="/search?q={searchTerms}&amp;p={startPage?}"/>'
        b"</OpenSearchDescription>"
    )
    template = parse_description(description, URL)
    assert search_url(template, "a b") == "https://books.example/search?q=a%20b&p="
    template = parse_feed(json.dumps(JSON).encode(), URL).search
    assert search_url(template, "a b") == "https://books.example/find?query=a%20b"


@pytest.mark.parametrize(
    "data", [b"", b"<html><p>Hello", b"{}", b"[1]", b'{"metadata": 1}', b"\0"]
)
def test_what_is_no_catalogue_is_refused(data: bytes) -> None:
    with pytest.raises(FetchError, match="is not an OPDS catalogue"):
        parse_feed(data, URL)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("84", "https://www.gutenberg.org/ebooks/84.epub3.images"),
        (
            "https://www.gutenberg.org/ebooks/84",
            "https://www.gutenberg.org/ebooks/84.epub3.images",
        ),
        (
            "https://standardebooks.org/ebooks/mary-shelley/frankenstein",
            "https://standardebooks.org/ebooks/mary-shelley/frankenstein/downloads/"
            "mary-shelley_frankenstein.epub?source=download",
        ),
    ],
)
def test_numbers_and_pages_name_a_book(name: str, url: str) -> None:
    book = named_book(name)
    assert book is not None
    assert book.files[0].url == url


def test_words_of_the_setting_that_are_no_addresses_are_skipped_and_told() -> None:
    words = "http://ada:secret@[ https://books.example/opds nothing gutenberg"
    own = all_sources(words)[len(SOURCES) :]
    assert own == [Source("books.example", "https://books.example/opds")]
    assert address_problems(words) == [
        "http://[ is not the address of a catalogue.",
        "nothing is not the address of a catalogue.",
    ]


def test_a_catalogue_that_was_stored_with_a_login_stays_without_it() -> None:
    words = "https://ada:secret@books.example/opds https://books.example/opds"
    own = all_sources(words)[len(SOURCES) :]
    assert own == [Source("books.example", "https://books.example/opds")]
    assert address_problems(words) == []


def test_words_name_no_book_and_no_catalogue() -> None:
    assert named_book("frankenstein") is None
    with pytest.raises(UsageError, match="is not a catalogue"):
        find_source("frankenstein")
