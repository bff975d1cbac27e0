"""Reads the metadata before a Markdown text: YAML, TOML or Pandoc's percent lines.

YAML is limited to one key a line with plain values and lists; nested values are skipped.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gistread.book.formats.elements.single_document import Metadata
from gistread.book.normalise import one_line

_YAML = re.compile(r"\s*---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\s*\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_PERCENT = re.compile(
    r"%[ \t]*([^\n]*(?:\n[ \t]+\S[^\n]*)*)\n(?:%[ \t]*([^\n]*(?:\n[ \t]+\S[^\n]*)*)\n)?(?:%[^\n]*\n)?"
)
_LONGEST = 20_000
_KEY = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")
_QUOTED = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')\s*(?:#.*)?$""")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
_NAME_IN_ITEM = re.compile(r"(?:name|text)[ \t]*:[ \t]*(.*)$")


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
            return text[match.end() :], _metadata(_flat(tomllib.loads(match[1])))
        except tomllib.TOMLDecodeError:
            return text, Metadata()
    elif match := _PERCENT.match(head):
        authors = [part for line in (match[2] or "").split("\n") for part in re.split(r"[;]|\band\b", line)]
        return text[match.end() :], _metadata({"title": [match[1]], "author": authors})
    return text, Metadata()


def _yaml(block: str) -> dict[str, list[str]]:
    """Top-level keys and their values; empty if the block is not YAML metadata."""
    fields: dict[str, list[str]] = {}
    key = ""
    for line in block.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _KEY.match(line)
        item = _ITEM.match(line)
        if match:
            key = match[1].lower()
            fields[key] = _values(match[2] or "")
        elif not key:
            return {}
        elif item:
            named = _NAME_IN_ITEM.match(item[1])
            fields[key] += _values(named[1] if named else item[1])
        elif line[0] in " \t":
            _continue(fields[key], line.strip())
        else:
            return {}
    return fields


def _continue(values: list[str], line: str) -> None:
    """Add a continuation line of a value (`>`, `|` or plain); nested keys are skipped."""
    named = _NAME_IN_ITEM.match(line)
    if named:
        values += _values(named[1])
    elif values and values[-1] in (">", "|", ">-", "|-"):
        values[-1] = line
    elif values and not _KEY.match(line):
        values[-1] = f"{values[-1]} {line}"


def _values(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_unquoted(part) for part in text[1:-1].split(",")]
    return [_unquoted(text)] if text else []


def _unquoted(text: str) -> str:
    """A plain value without quotes and trailing comment."""
    text = text.strip()
    quoted = _QUOTED.match(text)
    if quoted:
        return quoted[1].replace('\\"', '"') if quoted[1] is not None else quoted[2].replace("''", "'")
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def _flat(table: Mapping[str, object]) -> dict[str, list[str]]:
    return {
        key.lower(): [str(each) for each in value] if isinstance(value, list) else [str(value)]
        for key, value in table.items()
        if isinstance(value, (str, int, list))
    }


def _metadata(fields: Mapping[str, Sequence[str]]) -> Metadata:
    def first(*names: str) -> str:
        return next((one_line(fields[name][0]) for name in names if fields.get(name)), "")

    authors = [one_line(name) for key in ("author", "authors", "creator") for name in fields.get(key, ())]
    language = first("lang", "language").replace("_", "-")
    isbn, identifier = first("isbn"), first("identifier", "doi", "id")
    metadata = Metadata(
        title=first("title"),
        authors=tuple(dict.fromkeys(author for author in authors if author)),
        language=language if _LANGUAGE.fullmatch(language) else "",
        cover=first("cover-image", "cover", "cover_image"),
    )
    return replace(metadata, identifiers=tuple(filter(None, (f"isbn:{isbn}" if isbn else "", identifier))))
