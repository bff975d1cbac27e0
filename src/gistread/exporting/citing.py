"""A book as an entry of a bibliography: BibTeX, and the JSON of the Citation Style Language.

https://citeproc-js.readthedocs.io/en/latest/csl-json/markup.html
"""

import re
from typing import Any

from gistread.book.model import Book

# "urn:isbn:978-0-14-143947-1", or the number alone
_ISBN = re.compile(
    r"(?:urn:)?isbn[:\s]*(?P<after_name>[\dXx-]{10,17})|(?P<alone>97[89][\d-]{10,14})",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+")
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_KEY_WORDS = 2  # Of the title, in the key


def as_bibtex(book: Book) -> str:
    """An entry of the type `book`. Names stay as they are: BibTeX divides them itself."""
    fields = {
        "title": book.title,
        "author": " and ".join(book.authors),
        "language": book.language,
        "isbn": _isbn(book),
        "url": _address(book),
    }
    lines = [f"@book{{{_key(book)},"]
    for name, value in fields.items():
        if value:
            lines.append(f"  {name} = {{{_escaped(value)}}},")
    lines.append("}")
    return "\n".join(lines) + "\n"


def as_csl(book: Book) -> list[dict[str, Any]]:
    """A list of one item, without fields that are unknown."""
    item = {
        "id": _key(book),
        "type": "book",
        "title": book.title,
        "author": [_csl_name(author) for author in book.authors],
        "language": book.language,
        "ISBN": _isbn(book),
        "URL": _address(book),
    }
    return [{name: value for name, value in item.items() if value}]


def _csl_name(name: str) -> dict[str, str]:
    """The name in its parts.

    A name of one word, or in another script than Latin, is not divided.

    >>> _csl_name("Ludwig van Beethoven") == _csl_name("van Beethoven, Ludwig")
    True
    >>> _csl_name("Ludwig van Beethoven")
    {'family': 'van Beethoven', 'given': 'Ludwig'}
    """
    family, _, given = name.partition(",")
    if given.strip():
        return {"family": family.strip(), "given": given.strip()}
    words = name.split()
    if len(words) == 1 or not words[-1][:1].isascii():
        return {"literal": name}
    # Particles such as "van" belong to the family name.
    family_start = len(words) - 1
    while family_start > 1 and words[family_start - 1].islower():
        family_start -= 1
    return {
        "family": " ".join(words[family_start:]),
        "given": " ".join(words[:family_start]),
    }


def _key(book: Book) -> str:
    """`shelley-frankenstein-modern`, in ASCII; the same for every copy of a book."""
    family = ""
    if book.authors:
        family = _csl_name(book.authors[0]).get("family", "")
    most_words = _KEY_WORDS + 1 if family else _KEY_WORDS
    words = re.findall(r"[a-z0-9]+", f"{family} {book.title}".lower())
    if not words:
        return f"book-{book.sha256[:8]}"
    return "-".join(words[:most_words])


def _isbn(book: Book) -> str:
    """The first ISBN among the book's identifiers, without hyphens; empty if there is none."""
    for identifier in book.identifiers:
        isbn = _ISBN.search(identifier)
        if isbn is not None:
            number = isbn["after_name"] or isbn["alone"]
            return str(number).replace("-", "")
    return ""


def _address(book: Book) -> str:
    """The first identifier that is a web address; empty if there is none."""
    for identifier in book.identifiers:
        if _ADDRESS.fullmatch(identifier):
            return identifier
    return ""


def _escaped(text: str) -> str:
    """Text on one line without the signs of BibTeX."""
    line = " ".join(text.split())
    return "".join(_SPECIAL.get(character, character) for character in line)
