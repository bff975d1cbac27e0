"""Reads Markdown: CommonMark with tables, footnotes, definition lists, HTML and front matter."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from gistread.book.builder import Metadata
from gistread.book.formats.elements.markup import parse_page, split_at_empty_lines
from gistread.book.formats.elements.single_document import book_from_tree
from gistread.book.formats.encoding import decode, encoding_notices
from gistread.book.formats.html import mark_backlinks
from gistread.book.formats.text import read_text
from gistread.book.model import Book
from gistread.book.normalise import clean, language_tag, one_line
from gistread.errors import BookError
from gistread.words import count_words

_SLUG_DROPPED = re.compile(r"[^\w\- ]")
_YAML = re.compile(
    r"\s*---[ \t]*\n(?![ \t]*\n)(.*?)^(?:---|\.\.\.)[ \t]*$\n?",
    re.DOTALL | re.MULTILINE,
)
_TOML = re.compile(r"\s*\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE)
# Title, authors and date as pandoc writes them, continued on indented lines.
_PERCENT_FIELD = r"%[ \t]*([^\n]*(?:\n[ \t]+\S[^\n]*)*)\n"
_PERCENT = re.compile(rf"{_PERCENT_FIELD}(?:{_PERCENT_FIELD})?(?:%[^\n]*\n)?")
_KEY = re.compile(r"[\w.-]{1,40}(?: [\w.-]{1,20})?")  # "cover-image", "Date created"
_AUTHOR_KEYS = ("author", "authors", "creator")
_KNOWN_FIELD = re.compile(
    r"[-+.]{3}|(?:title|authors?|creator|lang|language)\s*[:=]|cover", re.I
)
_LONGEST_FRONT_MATTER = 20_000
_MOST_BRACKETS_OF_YAML = 500
# An empty line, a marked line, a cell.
_BLOCK = re.compile(r"^[ \t]*(?:$|[#>*+|:-]|\d+[.)])|\|", re.MULTILINE)
# War and Peace has 25,000. The parser makes several objects of each.
_MOST_BLOCKS = 60_000
_MOST_BRACKETS = 40_000  # The parser looks for the end of each, at every level
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
    source = clean(decoded.text)
    text, metadata = split_front_matter(source)
    too_many = _too_many(text)
    if too_many:
        book = read_text(data, name)
        notice = f"It has too many {too_many} for Markdown and was read as plain text."
        return replace(book, notices=(*book.notices, notice))
    parser = _parser()
    env: dict[str, Any] = {}
    tokens = parser.parse(text, env)
    if any(token.level >= _USUAL_DEPTH - 2 for token in tokens):
        parser.options["maxNesting"] = _DEEPEST
        env = {}
        tokens = parser.parse(_TOO_DEEP.sub(r"\1 ", text), env)
    _number_headings(tokens)
    rendered = parser.renderer.render(tokens, parser.options, env)
    root = parse_page(f"<body>{rendered}</body>") if rendered.strip() else None
    if root is None:
        raise BookError(f"{name} contains no text, or too much.")
    mark_backlinks(root)
    split_at_empty_lines(root)
    return book_from_tree(
        root,
        name,
        "markdown",
        metadata,
        notices=encoding_notices(decoded),
        left_out=_left_out(tokens, env) | _left_out_metadata(source, text, metadata),
    )


def _too_many(text: str) -> str:
    """What a text has more of than the parser can take; empty if nothing."""
    if sum(1 for _ in _BLOCK.finditer(text)) > _MOST_BLOCKS:
        return "blocks"
    if text.count("[") > _MOST_BRACKETS:
        return "brackets"
    return ""


def _parser() -> MarkdownIt:
    # Any link and HTML is allowed: links are never followed unasked, and HTML is data.
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _USUAL_DEPTH})
    parser.enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(deflist_plugin)
    parser.core.ruler.before("footnote_tail", "unused_notes", _keep_unused_notes)
    return parser


def _left_out(tokens: Sequence[Token], env: Mapping[str, Any]) -> dict[str, int]:
    """Counts of what Markdown defines and nothing refers to, and of words that it does not show."""
    parts = [part for token in tokens for part in token.children or ()]
    types = [part.type for part in parts]
    empty = sum(pair == ("link_open", "link_close") for pair in pairwise(types))
    unused = _unused_links(parts, env)
    titles = [str(part.attrs.get("title", "")) for part in parts]
    titles += [definition["title"] for definition in unused.values()]
    # "[//]: # (...)" is a comment.
    named = [label for label, definition in unused.items() if definition["href"] != "#"]
    labels = [token.info for token in tokens if token.type == "fence"]
    return {
        "link(s) without words": empty,
        # Of each its name and its address
        "word(s) of unused links": sum(map(count_words, named)) + len(named),
        "word(s) of titles of links": sum(map(count_words, titles)),
        "word(s) of labels of code": sum(map(count_words, labels)),
    }


def _unused_links(
    parts: Sequence[Token], env: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """The definitions of links that no link or picture uses, by label."""
    used = {part.attrs.get("href") or part.attrs.get("src") for part in parts}
    definitions = env.get("references", {})
    return {
        label: definition
        for label, definition in definitions.items()
        if definition["href"] not in used
    }


def _left_out_metadata(source: str, text: str, metadata: Metadata) -> dict[str, int]:
    """Words of the front matter, without those of title and authors."""
    if len(text) == len(source):
        return {}
    from gistread.word_patterns import folded_words  # imported here: few texts need it

    front = source[: len(source) - len(text)]
    lines = [line for line in front.split("\n") if not _KNOWN_FIELD.match(line)]
    words = Counter(folded_words("\n".join(lines)))
    words.subtract(folded_words(" ".join((metadata.title, *metadata.authors))))
    return {"word(s) of metadata": sum(count for count in words.values() if count > 0)}


def _keep_unused_notes(state: StateCore) -> None:
    """Number the notes that no reference names, so that they are read after the others.

    Of notes with one label, the last is the one that references name.
    """
    definitions = [
        token for token in state.tokens if token.type == "footnote_reference_open"
    ]
    if not definitions:
        return
    notes = state.env["footnotes"]
    listed = notes.setdefault("list", {})
    used = {note.get("label") for note in listed.values()}
    last = {token.meta["label"]: token for token in definitions}
    for number, token in enumerate(definitions):
        label = token.meta["label"]
        if last[label] is not token:
            label = token.meta["label"] = f"{label} {number}"
        if label not in used:
            listed[len(listed)] = {"label": label, "count": 0}


def _number_headings(tokens: Sequence[Token]) -> None:
    """Give each heading the id that GitHub gives it: "the-storm", "the-storm-1"."""
    times: Counter[str] = Counter()
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            slug = _slug(inline)
            heading.attrSet("id", f"{slug}-{times[slug]}" if times[slug] else slug)
            times[slug] += 1


def _slug(heading: Token) -> str:
    parts = (
        part for part in heading.children or () if part.type in ("text", "code_inline")
    )
    words = "".join(part.content for part in parts).strip().lower()
    return _SLUG_DROPPED.sub("", words).replace(" ", "-")


def split_front_matter(text: str) -> tuple[str, Metadata]:
    head = text[:_LONGEST_FRONT_MATTER]
    with suppress(yaml.YAMLError, RecursionError, ValueError, OverflowError):
        if match := _YAML.match(head):
            fields = _yaml_fields(match[1])
            if fields:
                return text[match.end() :], _metadata(fields)
        elif match := _TOML.match(head):
            return text[match.end() :], _metadata(tomllib.loads(match[1]))
        elif match := _PERCENT.match(head):
            return text[match.end() :], _metadata(_percent_fields(match))
    return text, Metadata()


def _yaml_fields(source: str) -> dict[str, object]:
    """The fields of front matter; empty if it is none. Raises YAMLError, ValueError."""
    # A few hundred bytes of aliases can stand for gigabytes, and nested brackets take quadratic
    # time.
    if source.count("[") + source.count("{") > _MOST_BRACKETS_OF_YAML:
        return {}
    events = yaml.parse(source, Loader=yaml.BaseLoader)
    if any(isinstance(event, yaml.AliasEvent) for event in events):
        return {}
    fields = yaml.load(source, Loader=yaml.BaseLoader)
    # A rule, prose and another rule are not metadata.
    if not isinstance(fields, dict) or not all(map(_is_key, fields)):
        return {}
    return fields


def _percent_fields(match: re.Match[str]) -> dict[str, object]:
    lines = (match[2] or "").split("\n")
    authors = [part for line in lines for part in re.split(r";|\band\b", line)]
    return {"title": match[1], "author": authors}


def _is_key(name: object) -> bool:
    """Whether a text before a colon is the name of a field and not prose."""
    return isinstance(name, str) and bool(_KEY.fullmatch(name))


def _texts(value: object) -> list[str]:
    """The texts of a field: a text, a mapping with a name, or a list of these."""
    texts = []
    for item in value if isinstance(value, list) else [value]:
        text = item.get("name") or item.get("text") if isinstance(item, dict) else item
        if isinstance(text, (str, int)) and str(text).strip():
            texts.append(one_line(str(text)))
    return texts


def _metadata(fields: Mapping[str, object]) -> Metadata:
    values = {str(key).lower(): _texts(value) for key, value in fields.items()}

    def first(*names: str) -> str:
        return next((values[name][0] for name in names if values.get(name)), "")

    names = [name for key in _AUTHOR_KEYS for name in values.get(key, ())]
    return Metadata(
        title=first("title"),
        authors=tuple(dict.fromkeys(names)),
        language=language_tag(first("lang", "language")),
        cover=first("cover-image", "cover", "cover_image"),
    )
