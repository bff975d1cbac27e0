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
# Front matter between lines "---", in YAML; between lines "+++", in TOML.
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
# Lines of front matter that are not reported as left out: "title: …", "---".
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
# Levels, where a list and its item count as two. The parser drops deeper text, and nested signs
# slow it down.
_USUAL_DEPTH = 20
_DEEPEST = 100
# A line that begins with more than 24 indents and signs of quotes and lists: "> > - 1. …".
_SIGN = r"(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))"
_TOO_DEEP = re.compile(f"^({_SIGN}{{24}}){_SIGN}+", re.MULTILINE)


def read_markdown(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode(data)
    if decoded is None:
        raise BookError(f"{name} is not a book but unknown binary data.")
    source = clean(decoded.text)
    text, metadata = split_front_matter(source)
    excess = _excess(text)
    if excess:
        book = read_text(data, name)
        notice = f"It has too many {excess} for Markdown and was read as plain text."
        return replace(book, notices=(*book.notices, notice))
    parser = _parser()
    tokens, env = _parse(parser, text)
    _set_heading_ids(tokens)
    page = parser.renderer.render(tokens, parser.options, env)
    root = parse_page(f"<body>{page}</body>") if page.strip() else None
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


def _excess(text: str) -> str:
    """The things of which a text has too many for the parser; empty if there are none."""
    blocks = sum(1 for _ in _BLOCK.finditer(text))
    if blocks > _MOST_BLOCKS:
        return "blocks"
    if text.count("[") > _MOST_BRACKETS:
        return "brackets"
    return ""


def _parser() -> MarkdownIt:
    """A parser of CommonMark with tables, notes and lists of definitions."""
    # Any link and HTML is allowed: links are never followed unasked, and HTML is data.
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _USUAL_DEPTH})
    parser.enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(deflist_plugin)
    parser.core.ruler.before("footnote_tail", "unused_notes", _keep_unused_notes)
    return parser


def _parse(parser: MarkdownIt, text: str) -> tuple[list[Token], dict[str, Any]]:
    """The tokens of a text, and what the parser notes beside them: definitions of links, notes."""
    env: dict[str, Any] = {}
    tokens = parser.parse(text, env)
    is_deep = any(token.level >= _USUAL_DEPTH - 2 for token in tokens)
    if not is_deep:
        return tokens, env
    # Deeper text may be missing: allow more levels, which is slower.
    parser.options["maxNesting"] = _DEEPEST
    env = {}
    tokens = parser.parse(_TOO_DEEP.sub(r"\1 ", text), env)
    return tokens, env


def _left_out(tokens: Sequence[Token], env: Mapping[str, Any]) -> dict[str, int]:
    """Counts of definitions that nothing refers to, and of words that are not shown."""
    parts: list[Token] = []
    for token in tokens:
        parts += token.children or ()
    types = [part.type for part in parts]
    empty_links = sum(pair == ("link_open", "link_close") for pair in pairwise(types))
    unused = _unused_links(parts, env)
    link_titles = [str(part.attrs.get("title", "")) for part in parts]
    link_titles += [definition["title"] for definition in unused.values()]
    # "[//]: # (...)" is a comment.
    link_labels = [
        label for label, definition in unused.items() if definition["href"] != "#"
    ]
    words_of_labels = sum(map(count_words, link_labels))
    words_of_addresses = len(link_labels)  # An address counts as one word
    code_labels = [token.info for token in tokens if token.type == "fence"]
    return {
        "link(s) without words": empty_links,
        "word(s) of unused links": words_of_labels + words_of_addresses,
        "word(s) of titles of links": sum(map(count_words, link_titles)),
        "word(s) of labels of code": sum(map(count_words, code_labels)),
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

    front_matter = source[: len(source) - len(text)]
    lines = [line for line in front_matter.split("\n") if not _KNOWN_FIELD.match(line)]
    words = Counter(folded_words("\n".join(lines)))
    title_and_authors = " ".join((metadata.title, *metadata.authors))
    words -= Counter(folded_words(title_and_authors))
    return {"word(s) of metadata": words.total()}


def _keep_unused_notes(state: StateCore) -> None:
    """Number the notes that no reference names, so that they are read after the others.

    References name the last of several notes with the same label.
    """
    # A token that opens the definition of a note is called "reference" too.
    definitions = [
        token for token in state.tokens if token.type == "footnote_reference_open"
    ]
    if not definitions:
        return
    numbered_notes = state.env["footnotes"].setdefault("list", {})
    used_labels = {note.get("label") for note in numbered_notes.values()}
    last_of_label = {token.meta["label"]: token for token in definitions}
    for number, token in enumerate(definitions):
        label = token.meta["label"]
        if token is not last_of_label[label]:
            label = f"{label} {number}"
            token.meta["label"] = label
        if label not in used_labels:
            numbered_notes[len(numbered_notes)] = {"label": label, "count": 0}


def _set_heading_ids(tokens: Sequence[Token]) -> None:
    """Give each heading the id that GitHub gives it: "the-storm", "the-storm-1"."""
    uses: Counter[str] = Counter()
    for token, following in pairwise(tokens):
        if token.type != "heading_open":
            continue
        slug = _slug(following)
        uses_before = uses[slug]
        heading_id = f"{slug}-{uses_before}" if uses_before else slug
        token.attrSet("id", heading_id)
        uses[slug] += 1


def _slug(heading: Token) -> str:
    """The words of a heading as an id: "the-storm"."""
    texts = [
        part.content
        for part in heading.children or ()
        if part.type in ("text", "code_inline")
    ]
    words = "".join(texts).strip().lower()
    return _SLUG_DROPPED.sub("", words).replace(" ", "-")


def split_front_matter(text: str) -> tuple[str, Metadata]:
    """The text after the front matter, and the metadata in it.

    >>> split_front_matter("---\\ntitle: Moby-Dick\\n---\\nCall me Ishmael.")[1].title
    'Moby-Dick'
    """
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
    """The fields of front matter; empty if the text is something else.

    Raises YAMLError, ValueError.
    """
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
    """The fields of a match of `_PERCENT`; "Ann; Bob and Eve" are three authors."""
    title, authors = match.groups(default="")
    return {"title": title, "author": re.split(r";|\band\b|\n", authors)}


def _is_key(name: object) -> bool:
    """Whether a text before a colon is the name of a field and not prose."""
    return isinstance(name, str) and bool(_KEY.fullmatch(name))


def _texts(value: object) -> list[str]:
    """The texts of a field: a text, a mapping with a name, or a list of these."""
    items = value if isinstance(value, list) else [value]
    texts: list[str] = []
    for item in items:
        if isinstance(item, dict):
            item = item.get("name") or item.get("text")
        if isinstance(item, (str, int)):
            texts.append(one_line(str(item)))
    return [text for text in texts if text]


def _metadata(fields: Mapping[str, object]) -> Metadata:
    texts_of = {str(key).lower(): _texts(value) for key, value in fields.items()}

    def first_text(*keys: str) -> str:
        for key in keys:
            if texts_of.get(key):
                return texts_of[key][0]
        return ""

    authors: list[str] = []
    for key in _AUTHOR_KEYS:
        authors += texts_of.get(key, ())
    return Metadata(
        title=first_text("title"),
        authors=tuple(dict.fromkeys(authors)),
        language=language_tag(first_text("lang", "language")),
        cover=first_text("cover-image", "cover", "cover_image"),
    )
