"""Removes Project Gutenberg's header and footer, in their old and new forms, and reads the metadata in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from gistread.book.normalise import one_line

_START = re.compile(
    r"^[ \t]*\*\*\*? ?START OF (?:THIS|THE) PROJECT GUTENBERG[^*]{0,400}\*\*\*[ \t]*$"
    r"|^[ \t]*\*END[ *]*THE SMALL PRINT.*$",
    re.MULTILINE | re.IGNORECASE,
)
_END = re.compile(
    r"^[ \t]*\*\*\*? ?END OF (?:THIS|THE) PROJECT GUTENBERG"
    r"|^[ \t]*End of (?:this |the )?Project Gutenberg(?:'s|’s)?\b"
    r"|^[ \t]*\*{3} ?START: FULL LICENSE",
    re.MULTILINE | re.IGNORECASE,
)
_MENTION = re.compile(r"Project Gutenberg", re.IGNORECASE)
_HEADER_CHARACTERS = 30_000

# "Title: The Time Machine", continued on indented lines.
_FIELD = re.compile(r"^(Title|Author|Language):[ \t]*(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_FIRST_LINE = re.compile(
    r"Project Gutenberg(?:'s|’s)? (?:E-?(?:text|book) (?:of |, )|)(?P<title>.+?),? by (?P<author>[^\n]+)", re.IGNORECASE
)
# Credits of volunteers between the header and the book.
_CREDIT = re.compile(
    r"\s*(?:E-?text (?:prepared|produced|typed|scanned)"
    r"|(?:This (?:e-?text|e-?book) was )?(?:produced|prepared|transcribed) (?:by|from)"
    r"|(?:HTML version|scanned|proofread|typed|converted) by)\b[^\n]*(?:\n[^\n]+)*",
    re.IGNORECASE,
)

_LANGUAGES: dict[str, str] = dict(
    re.findall(
        r"(\w+)=(\w+)",
        """arabic=ar bulgarian=bg catalan=ca chinese=zh czech=cs danish=da dutch=nl english=en esperanto=eo finnish=fi
        french=fr german=de greek=el hebrew=he hungarian=hu icelandic=is irish=ga italian=it japanese=ja latin=la
        norwegian=no polish=pl portuguese=pt romanian=ro russian=ru spanish=es swedish=sv tagalog=tl turkish=tr
        welsh=cy""",
    )
)


@dataclass(frozen=True, slots=True)
class GutenbergText:
    """A book without header and footer, and the header's metadata."""

    text: str
    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""


def find_bounds(paragraphs: Sequence[str]) -> tuple[int, int, GutenbergText]:
    """`strip_gutenberg` for paragraphs: the range `[first, end)` of the book, and the header's metadata."""
    sizes = accumulate(map(len, paragraphs), initial=0)
    header = takewhile(lambda one: one[0] <= _HEADER_CHARACTERS, zip(sizes, paragraphs, strict=False))
    first = next((number for number, (_, text) in enumerate(header, start=1) if _START.search(text)), len(paragraphs))
    while first < len(paragraphs) and _CREDIT.fullmatch(paragraphs[first]):
        first += 1
    end = next((n for n in range(first, len(paragraphs)) if _END.search(paragraphs[n])), len(paragraphs))
    if first == end:
        return 0, len(paragraphs), GutenbergText("")
    return first, end, strip_gutenberg("\n".join(paragraphs[:first]))


def strip_gutenberg(text: str) -> GutenbergText:
    """`text` without header, credits, footer and licence; unchanged if it has none."""
    head = text[:_HEADER_CHARACTERS]
    start = _START.search(head)
    if start is None and not _MENTION.search(head[:600]):
        return GutenbergText(text)
    header = head[: start.start()] if start else head[:600]
    first = start.end() if start else 0
    while credit := _CREDIT.match(text, first):
        first = credit.end()
    end = _END.search(text, first)
    body = text[first : end.start() if end else len(text)]
    fields: dict[str, list[str]] = {}
    for match in _FIELD.finditer(header):
        value = one_line(match[2])
        if value:
            fields.setdefault(match[1], []).append(value)
    line = _FIRST_LINE.search(header)
    title = fields.get("Title", [line["title"] if line else ""])[0]
    authors = fields.get("Author", [line["author"] if line else ""])
    return GutenbergText(
        text=body.strip("\n"),
        title=one_line(title),
        authors=tuple(author for author in (one_line(author) for author in authors) if author),
        language=_LANGUAGES.get(fields.get("Language", [""])[0].lower(), ""),
    )
