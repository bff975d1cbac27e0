"""A second, dumb extraction: all words of a file in order, without rules, to compare a book with.

A word counts as lost if neither it nor its parts, where tags divide it, are in the book.
"""

import html
import io
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import PurePosixPath

from gistread.book.model import Book
from gistread.word_patterns import UNSPACED_CHARACTER

_COMMENT = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[.*?\])?[^>]*>", re.S | re.I
)
_HEAD = re.compile(r"\A[^<]*(?:<html\b[^>]*>)?\s*<head\b.*?</head\s*>", re.S | re.I)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_DRAWN_INITIAL = re.compile(r"""<img\b[^>]*\balt=["'](\w)["'][^>]*>""")
_TAG = re.compile(r"""</?[a-zA-Z_](?:[^<>"']|"[^"]*"|'[^']*')*>""")
_BRACKETS = re.compile(r"[()\[\]{}]")
_BINARY = re.compile(r"<binary\b[^>]+>[^<]*</binary>", re.I)
_DESCRIPTION = re.compile(
    r"(<FictionBook\b[^>]*>\s*)<description\b.*?</description>", re.S
)
# Targets of links, labels of notes, numbers of items and the separators of cells.
_MARKDOWN_SIGNS = re.compile(
    r"(?<=\])\([^()\s]*\)|\[\^\w+\]:?|\||^\s*\d+[.)] ", re.MULTILINE
)
_WORD_TEXT = re.compile(
    r"<(?P<name>(?:\w+:)?(?:t|delText))(?:\s[^>]*)?(?<!/)>(?P<text>[^<]*)</(?P=name)>"
    r"|<(?P<gap>/w:p|w:br|w:tab|w:cr|/w:tc|/m:r|/a:p)\b[^>]*>"
)
_NOTICE_COUNT = re.compile(
    r"([\d,]+) (?:hidden |deleted )?(word|page number|line number)s?\b"
)
_MOST_PARTS = 8
_TAG_MARK = "\x00"
_PAGES = (".xhtml", ".html", ".htm")
_WORD_PARTS = re.compile(
    r"word/(?:document|footnotes|endnotes|header\d*|footer\d*)\.xml$"
)

Token = tuple[str, ...]  # The parts of a word between tags


def lost_words(source: Iterable[Token], book: Book) -> list[str]:
    """The words of the source that the book lacks."""
    has = Counter(
        token
        for text in (book.text, book.title, *book.authors)
        for (token,) in _tokens(text)
    )
    lost: list[str] = []
    for parts in source:
        left = parts
        while left and (chosen := _longest_found(left, has)):
            has["".join(left[index] for index in chosen)] -= 1
            left = tuple(part for index, part in enumerate(left) if index not in chosen)
        lost += left
    return _without_joined(lost, has)


def _without_joined(lost: Sequence[str], has: Counter[str]) -> list[str]:
    """The lost words without pairs that make a word of the book: "W" and "hen"."""
    left: list[str] = []
    for word in lost:
        if left and has[left[-1] + word] > 0:
            has[left.pop() + word] -= 1
        else:
            left.append(word)
    return left


def _longest_found(parts: Token, has: Counter[str]) -> Sequence[int]:
    """The indexes of the parts that make a word of the book, most of them first.

    Without the page number inside it, "en12ded" is "ended".
    """
    every = range(len(parts))
    if len(parts) > _MOST_PARTS:
        return next(([index] for index in every if has[parts[index]] > 0), ())
    for size in range(len(parts), 0, -1):
        for chosen in combinations(every, size):
            if has["".join(parts[index] for index in chosen)] > 0:
                return chosen
    return ()


def counted_words(book: Book) -> int:
    """The words that the notices of a book count."""
    counts = 0
    for notice in book.notices:
        for match in _NOTICE_COUNT.finditer(notice):
            # "Page 17" is one number of two words.
            counts += int(match[1].replace(",", "")) * (1 if match[2] == "word" else 2)
    return counts


def source_tokens(data: bytes, name: str) -> list[Token]:
    """All words of a file."""
    return list(_READERS[PurePosixPath(name).suffix.lower()](data))


def _tokens(text: str) -> Iterator[Token]:
    plain = unicodedata.normalize("NFKC", text.replace("\u00ad", "")).casefold()
    plain = _BRACKETS.sub(" ", plain)  # The book puts brackets around some words
    for word in UNSPACED_CHARACTER.sub(r" \g<0> ", plain).split():
        parts = ("".join(filter(str.isalnum, part)) for part in word.split(_TAG_MARK))
        kept = tuple(filter(None, parts))
        if kept:
            yield kept


def _markup(text: str) -> Iterator[Token]:
    text = _CDATA.sub(lambda match: html.escape(match[1]), text)
    text = _DRAWN_INITIAL.sub(r"\1", text)
    text = _HEAD.sub("", _COMMENT.sub("", text), count=1)
    yield from _tokens(html.unescape(_TAG.sub(_TAG_MARK, text)))


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def _html(data: bytes) -> Iterator[Token]:
    yield from _markup(_decoded(data))


def _text(data: bytes) -> Iterator[Token]:
    # A hyphen at the end of a line may belong to the word.
    yield from _tokens(re.sub(r"([-—])\r?\n *", rf"\1{_TAG_MARK}", _decoded(data)))


def _markdown(data: bytes) -> Iterator[Token]:
    text = _MARKDOWN_SIGNS.sub(" ", _COMMENT.sub("", _decoded(data)))
    yield from _tokens(html.unescape(_TAG.sub(" ", text)))


def _fb2(data: bytes) -> Iterator[Token]:
    yield from _markup(_DESCRIPTION.sub(r"\1", _BINARY.sub("", _decoded(data))))


def _epub(data: bytes) -> Iterator[Token]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        packages = [name for name in archive.namelist() if name.endswith(".opf")]
        navigation = (
            _navigation(_decoded(archive.read(packages[0]))) if packages else ""
        )
        for name in dict.fromkeys(archive.namelist()):
            is_navigation = navigation and name.endswith(navigation)
            if name.lower().endswith(_PAGES) and not is_navigation:
                yield from _markup(_decoded(archive.read(name)))


def _navigation(package: str) -> str:
    """The file with the table of contents, unless it is a page of the book."""
    package = _COMMENT.sub("", package)
    for item in re.findall(r"<(?:\w+:)?item\b[^>]*>", package):
        if re.search(r"""properties\s*=\s*["'][^"']*\bnav\b""", item):
            reference, own = (
                re.search(rf"""\b{key}\s*=\s*["']([^"']*)""", item)
                for key in ("href", "id")
            )
            in_spine = own and re.search(
                rf"""idref\s*=\s*["']{re.escape(own[1])}["']""", package
            )
            return reference[1] if reference and not in_spine else ""
    return ""


def _docx(data: bytes) -> Iterator[Token]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in filter(_WORD_PARTS.match, archive.namelist()):
            matches = _WORD_TEXT.finditer(_decoded(archive.read(name)))
            parts = (
                " " if each["gap"] else _TAG_MARK + html.unescape(each["text"])
                for each in matches
            )
            yield from _tokens("".join(parts))


_READERS: dict[str, Callable[[bytes], Iterator[Token]]] = {
    ".epub": _epub,
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".fb2": _fb2,
    ".docx": _docx,
    ".txt": _text,
    ".md": _markdown,
}
SUFFIXES = tuple(_READERS)
