"""Reads the metadata before a Markdown text: YAML, TOML or Pandoc's percent lines."""

import re
import tomllib
from collections.abc import Mapping

import yaml

from gistread.book.formats.elements.single_document import Metadata
from gistread.book.normalise import language_tag, one_line

_YAML = re.compile(r"\s*---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\s*\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_PERCENT = re.compile(
    r"%[ \t]*([^\n]*(?:\n[ \t]+\S[^\n]*)*)\n(?:%[ \t]*([^\n]*(?:\n[ \t]+\S[^\n]*)*)\n)?(?:%[^\n]*\n)?"
)
_LONGEST = 20_000


def split_front_matter(text: str) -> tuple[str, Metadata]:
    """The text without its front matter, and the metadata found there."""
    head = text[:_LONGEST]
    if match := _YAML.match(head):
        fields = _yaml(match[1])
        # A rule, prose and another rule are not metadata.
        if fields:
            return text[match.end() :], _metadata(fields)
    elif match := _TOML.match(head):
        try:
            return text[match.end() :], _metadata(tomllib.loads(match[1]))
        except tomllib.TOMLDecodeError:
            return text, Metadata()
    elif match := _PERCENT.match(head):
        authors = [part for line in (match[2] or "").split("\n") for part in re.split(r"[;]|\band\b", line)]
        return text[match.end() :], _metadata({"title": match[1], "author": authors})
    return text, Metadata()


def _yaml(block: str) -> Mapping[str, object]:
    try:
        found = yaml.load(block, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> list[str]:
    """The texts in a value: a text, a list of texts, or a list of mappings with a name."""
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
