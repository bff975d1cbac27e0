"""A book as an entry of a bibliography: BibTeX, and the JSON of the Citation Style Language.

https://citeproc-js.readthedocs.io/en/latest/csl-json/markup.html
"""

import re
from typing import Any

from gistread.book.model import Book

_ISBN = re.compile(
    r"(?:urn:)?isbn[:\s]*([\dXx-]{10,17})|(97[89][\d-]{10,14})", re.IGNORECASE
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
    """An entry of the type `book`; names in the order in which BibTeX divides them itself."""
    fields = {
        "title": book.title,
        "author": " and ".join(book.authors),
        "language": book.language,
        "isbn": _isbn(book),
        "url": _address(book),
    }
    lines = [
        f"  {name} = {{{_escaped(value)}}}," for name, value in fields.items() if value
    ]
    return "\n".join([f"@book{{{_key(book)},", *lines, "}"]) + "\n"


def as_csl(book: Book) -> list[dict[str, Any]]:
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
    """`Ludwig van Beethoven` and `van Beethoven, Ludwig`: family `van Beethoven`.

    A name of one word, or in another script than Latin, is not divided.
    """
    family, _, given = name.partition(",")
    if given.strip():
        return {"family": family.strip(), "given": given.strip()}
    words = name.split()
    if len(words) == 1 or not words[-1][:1].isascii():
        return {"literal": name}
    first = len(words) - 1
    while first > 1 and words[first - 1].islower():
        first -= 1
    return {"family": " ".join(words[first:]), "given": " ".join(words[:first])}


def _key(book: Book) -> str:
    """`shelley-frankenstein-modern`, in ASCII; the same for every copy of a book."""
    family = _csl_name(book.authors[0]).get("family", "") if book.authors else ""
    most = _KEY_WORDS + 1 if family else _KEY_WORDS
    words = re.findall(r"[a-z0-9]+", f"{family} {book.title}".lower())[:most]
    if not words:
        return f"book-{book.sha256[:8]}"
    return "-".join(words)


def _isbn(book: Book) -> str:
    for identifier in book.identifiers:
        isbn = _ISBN.search(identifier)
        if isbn is not None:
            return (isbn[1] or isbn[2]).replace("-", "")
    return ""


def _address(book: Book) -> str:
    return next(filter(_ADDRESS.fullmatch, book.identifiers), "")


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(sign, sign) for sign in " ".join(text.split()))
