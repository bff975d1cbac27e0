"""Reads Markdown: CommonMark with tables, footnotes, definition lists, embedded HTML and front matter."""

import re
import tomllib
from collections.abc import Mapping

import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from gistread.book.formats.elements.markup import parse_page
from gistread.book.formats.elements.single_document import Metadata, book_from_tree
from gistread.book.formats.encoding import decode, encoding_notices
from gistread.book.formats.html_cleanup import mark_backlinks, split_at_empty_lines
from gistread.book.model import Book
from gistread.book.normalise import clean, language_tag, one_line
from gistread.errors import BookError

_SLUG_DROPPED = re.compile(r"[^\w\- ]")
_YAML = re.compile(r"\s*---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\s*\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_PERCENT = re.compile(
    r"%[ \t]*([^\n]*(?:\n[ \t]+\S[^\n]*)*)\n(?:%[ \t]*([^\n]*(?:\n[ \t]+\S[^\n]*)*)\n)?(?:%[^\n]*\n)?"
)
_LONGEST_FRONT_MATTER = 20_000
# Levels, counting a list and its item. The parser drops deeper text, and nested signs slow it down.
_USUAL_DEPTH = 20
_DEEPEST = 100
# Indents, and signs of quotes and lists: deeper nesting.
_SIGN = r"(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))"
_TOO_DEEP = re.compile(f"^({_SIGN}{{24}}){_SIGN}+", re.MULTILINE)


def read_markdown(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode(data)
    if decoded is None:
        raise BookError(f"{name} is not a book but unknown binary data.")
    text, metadata = split_front_matter(clean(decoded.text))
    # Any link and HTML is allowed: links are never followed unasked, and HTML is data.
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _USUAL_DEPTH}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(deflist_plugin).use(anchors_plugin, max_level=6, slug_func=_slug)
    env: dict[str, object] = {}
    tokens = parser.parse(text, env)
    if any(token.level >= _USUAL_DEPTH - 2 for token in tokens):
        parser.options["maxNesting"] = _DEEPEST
        tokens = parser.parse(_TOO_DEEP.sub(r"\1 ", text), env := {})
    root = parse_page(parser.renderer.render(tokens, parser.options, env))
    if root is None:
        raise BookError(f"{name} contains no text, or too much.")
    mark_backlinks(root)
    split_at_empty_lines(root)
    return book_from_tree(root, name, "markdown", metadata, notices=encoding_notices(decoded))


def _slug(title: str) -> str:
    return _SLUG_DROPPED.sub("", title.strip().lower()).replace(" ", "-")


def split_front_matter(text: str) -> tuple[str, Metadata]:
    head = text[:_LONGEST_FRONT_MATTER]
    if match := _YAML.match(head):
        try:
            fields = yaml.load(match[1], Loader=yaml.BaseLoader)
        except (yaml.YAMLError, RecursionError):
            return text, Metadata()
        # A rule, prose and another rule are not metadata.
        if fields and isinstance(fields, dict):
            return text[match.end() :], _metadata(fields)
    elif match := _TOML.match(head):
        try:
            return text[match.end() :], _metadata(tomllib.loads(match[1]))
        except tomllib.TOMLDecodeError:
            return text, Metadata()
    elif match := _PERCENT.match(head):
        authors = [part for line in (match[2] or "").split("\n") for part in re.split(r";|\band\b", line)]
        return text[match.end() :], _metadata({"title": match[1], "author": authors})
    return text, Metadata()


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        value = value.get("name") or value.get("text")
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [one_line(str(value))] if isinstance(value, (str, int)) and str(value).strip() else []


def _metadata(fields: Mapping[str, object]) -> Metadata:
    values = {str(key).lower(): _texts(value) for key, value in fields.items()}

    def first(*names: str) -> str:
        return next((values[name][0] for name in names if values.get(name)), "")

    isbn, identifier = first("isbn"), first("identifier", "doi", "id")
    return Metadata(
        title=first("title"),
        authors=tuple(dict.fromkeys(name for key in ("author", "authors", "creator") for name in values.get(key, ()))),
        language=language_tag(first("lang", "language")),
        identifiers=tuple(filter(None, (f"isbn:{isbn}" if isbn else "", identifier))),
        cover=first("cover-image", "cover", "cover_image"),
    )
