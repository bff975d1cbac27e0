"""A book as an entry of a bibliography."""

from dataclasses import replace

import pytest

from gistread.book.open import open_bytes
from gistread.exporting.citing import as_bibtex, as_csl

_BOOK = replace(
    open_bytes(b"It rained.", "rain.txt"),
    title="Salt & Rain: 100% {wet}",
    authors=(
        "Mary Shelley",
        "Ludwig van Beethoven",
        "Woolf, Virginia",
        "魯迅",
        "Homer",
    ),
    language="en",
    identifiers=("urn:isbn:978-0-14-143947-1", "https://example.org/84"),
)


def test_bibtex_is_escaped_and_has_what_is_known() -> None:
    assert as_bibtex(_BOOK) == (
        "@book{shelley-salt-rain,\n"
        r"  title = {Salt \& Rain: 100\% \{wet\}}," + "\n"
        "  author = {Mary Shelley and Ludwig van Beethoven and Woolf, Virginia "
        "and 魯迅 and Homer},\n"
        "  language = {en},\n"
        "  isbn = {9780141439471},\n"
        "  url = {https://example.org/84},\n"
        "}\n"
    )


def test_csl_divides_names_that_can_be_divided() -> None:
    (item,) = as_csl(_BOOK)
    assert item["author"] == [
        {"family": "Shelley", "given": "Mary"},
        {"family": "van Beethoven", "given": "Ludwig"},
        {"family": "Woolf", "given": "Virginia"},
        {"literal": "魯迅"},
        {"literal": "Homer"},
    ]
    assert (item["ISBN"], item["URL"], item["type"]) == (
        "9780141439471",
        "https://example.org/84",
        "book",
    )


@pytest.mark.parametrize("title", ["罪與罰", "***"])
def test_a_title_without_latin_letters_has_a_key(title: str) -> None:
    bare = replace(_BOOK, title=title, authors=(), identifiers=(), language="")
    (item,) = as_csl(bare)
    assert item == {"id": f"book-{bare.sha256[:8]}", "type": "book", "title": title}
