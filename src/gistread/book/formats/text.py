"""Reads plain text: encoding, Project Gutenberg header, paragraphs, chapters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from gistread.book.builder import BookBuilder, Metadata, left_out_notices
from gistread.book.formats.encoding import decode, encoding_notices
from gistread.book.formats.headings import (
    heading_candidate,
    is_short_line,
    split_heading,
)
from gistread.book.formats.outline import Outline, outline
from gistread.book.formats.text_blocks import TextBlock, split_into_blocks
from gistread.book.model import Book, ParagraphKind
from gistread.book.normalise import clean, language_named, one_line
from gistread.book.sniff import SUPPORTED_FORMATS
from gistread.errors import BookError
from gistread.words import count_words

# "*** START OF THE PROJECT GUTENBERG EBOOK THE TIME MACHINE ***"
_START = re.compile(
    r"^[ \t]*\*\*\*? ?START OF (?:THIS|THE) PROJECT GUTENBERG[^*]{0,400}\*\*\*[ \t]*$"
    r"|^[ \t]*\*END[ *]*THE SMALL PRINT.*$",
    re.MULTILINE | re.IGNORECASE,
)
# "*** END OF THE PROJECT GUTENBERG EBOOK …", "End of Project Gutenberg's …"
_END = re.compile(
    r"^[ \t]*\*\*\*? ?END OF (?:THIS|THE) PROJECT GUTENBERG"
    r"|^[ \t]*End of (?:this |the )?Project Gutenberg(?:'s|’s)?\b"
    r"|^[ \t]*\*{3} ?START: FULL LICENSE",
    re.MULTILINE | re.IGNORECASE,
)
_MENTION = re.compile(r"Project Gutenberg", re.IGNORECASE)
_HEADER_CHARACTERS = 30_000
_OLD_HEADER_CHARACTERS = 600  # Of a header without a line that ends it

# "Title: The Time Machine", continued on indented lines.
_FIELD = re.compile(
    r"^(Title|Author|Language):[ \t]*(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE
)
# "The Project Gutenberg EBook of The Time Machine, by H. G. Wells"
_FIRST_LINE = re.compile(
    r"Project Gutenberg(?:'s|’s)? (?:E-?(?:text|book) (?:of |, )|)(?P<title>.+?),? by "
    r"(?P<author>[^\n]+)",
    re.IGNORECASE,
)
# Credits of volunteers between the header and the book.
_CREDIT = re.compile(
    r"\s*(?:E-?text (?:prepared|produced|typed|scanned)"
    r"|(?:This (?:e-?text|e-?book) was )?(?:produced|prepared|transcribed) (?:by|from)"
    r"|(?:HTML version|scanned|proofread|typed|converted) by)\b[^\n]*(?:\n[^\n]+)*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class BookBounds:
    """The paragraphs `[first, end)` are the book; `header` is what Project Gutenberg states."""

    first: int
    end: int
    header: Metadata


def find_bounds(paragraphs: Sequence[str]) -> BookBounds:
    """The paragraphs inside the header and the licence of Project Gutenberg; all without them."""
    count = len(paragraphs)
    first = _paragraphs_of_header(paragraphs)
    while first < count and _CREDIT.fullmatch(paragraphs[first]):
        first += 1
    end = first
    while end < count and not _END.search(paragraphs[end]):
        end += 1
    if first == end:  # No header, or nothing between header and footer
        return BookBounds(0, count, Metadata())
    stripped = strip_gutenberg("\n".join(paragraphs[:first]))
    return BookBounds(first, end, stripped.header)


def _paragraphs_of_header(paragraphs: Sequence[str]) -> int:
    """The number of paragraphs up to the line that starts the book; all if there is none."""
    characters = 0
    for number, text in enumerate(paragraphs, start=1):
        if characters > _HEADER_CHARACTERS:
            break
        if _START.search(text):
            return number
        characters += len(text)
    return len(paragraphs)


@dataclass(frozen=True, slots=True)
class GutenbergText:
    """A text of Project Gutenberg, or any other text as its own body."""

    body: str
    header: Metadata
    licence: str  # Header, credits, footer and licence: whole lines around the body


def strip_gutenberg(text: str) -> GutenbergText:
    """Split a text into its body and what Project Gutenberg has put around it."""
    head = text[:_HEADER_CHARACTERS]
    start_line = _START.search(head)
    old_header = head[:_OLD_HEADER_CHARACTERS]
    if start_line:
        header = head[: start_line.start()]
        first = start_line.end()
    elif _MENTION.search(old_header):
        # No line ends it: all of it stays in the body.
        header = old_header
        first = 0
    else:
        return GutenbergText(text, Metadata(), licence="")
    while credit := _CREDIT.match(text, first):
        first = credit.end()
    footer = _END.search(text, first)
    end = footer.start() if footer else len(text)
    body = text[first:end].strip("\n")
    licence = f"{text[:first]}\n{text[end:]}"
    return GutenbergText(body, _header_metadata(header), licence)


def _header_metadata(header: str) -> Metadata:
    """Title, authors and language by the fields of a header, else by its first line."""
    fields: dict[str, list[str]] = {"Title": [], "Author": [], "Language": []}
    for match in _FIELD.finditer(header):
        name, value = match.groups()
        if value.strip():
            fields[name].append(one_line(value))
    first_line = _FIRST_LINE.search(header)
    if first_line:
        fields["Title"] = fields["Title"] or [one_line(first_line["title"])]
        fields["Author"] = fields["Author"] or [one_line(first_line["author"])]
    return Metadata(
        title=_first(fields["Title"]),
        authors=tuple(filter(None, fields["Author"])),
        language=language_named(_first(fields["Language"])),
    )


def _first(values: list[str]) -> str:
    return values[0] if values else ""


# _Emphasis_ as Project Gutenberg writes it; not inside words, so that snake_case stays.
_EMPHASIS = re.compile(r"(?<![\w_])_(?=[^\s_])([^_]{1,2000}?)(?<=[^\s_])_(?![\w_])")
# A line that ends with a hyphen or dash continues without a space.
_DASH_AT_LINE_END = re.compile(r"(?<=\w)(--|[-—])\n *(?=\w)")
_BYLINE = re.compile(r"by (?P<author>\w[^,:;!?]{1,79})", re.IGNORECASE)
_SIGNS_OF_AOZORA = ("［＃", "【テキスト中に現れる記号について】")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
# Colours of a terminal, and the addresses of its links.
_ESCAPE_SEQUENCE = re.compile(
    "\x1b(?:\\[[0-9;:]*m|\\]8;[^\x07\x1b\n]*(?:\x07|\x1b\\\\))"
)
# Typewriters struck a letter twice to make it bold, and "_" below it to underline it.
_OVERSTRUCK = re.compile("_\x08(?=[^\n\x08])|[^\n\x08]\x08(?=[^\n_\x08])|\x08_")


def read_text(data: bytes, name: str) -> Book:
    """The book in `data`.

    `name` is its title if it has no other. Raises BookError for binary or blank data.
    """
    decoded = decode(data)
    if decoded is None:
        raise BookError(
            f"{name} is not a book but unknown binary data.",
            f"gistread reads {SUPPORTED_FORMATS}.",
        )
    content = _content_of(decoded.text)
    header = content.header
    blocks: list[TextBlock] = []
    for block in split_into_blocks(content.body):
        blocks += split_heading(block)
    text_outline = outline(blocks)
    builder = BookBuilder()
    _add_blocks(builder, blocks, text_outline)
    if not builder.characters:
        raise BookError(f"{name} contains only white space.")
    return builder.build(
        title=header.title
        or text_outline.title
        or _first_line(blocks)
        or PurePath(name).stem,
        authors=header.authors or _byline(blocks),
        language=header.language,
        source_format="text",
        notices=(*encoding_notices(decoded), *left_out_notices(content.left_out)),
    )


@dataclass(frozen=True, slots=True)
class _Content:
    """The text of a book, and what stands around it in its file."""

    body: str
    header: Metadata
    left_out: dict[str, int]  # For `left_out_notices`


def _content_of(text: str) -> _Content:
    """A text without terminal codes, licence and the marks of Aozora Bunko."""
    stripped = strip_gutenberg(clean(_without_terminal_codes(text)))
    left_out = {
        "control character(s)": _count_controls(text),
        "word(s) of the licence": count_words(stripped.licence),
    }
    may_be_aozora = any(sign in stripped.body for sign in _SIGNS_OF_AOZORA)
    if may_be_aozora:
        # imported here: few texts need it
        from gistread.book.formats.aozora import read_aozora

        aozora = read_aozora(stripped.body)
        if aozora is not None:
            left_out["word(s) of notes for typesetters"] = aozora.left_out
            return _Content(aozora.text, aozora.metadata, left_out)
    return _Content(stripped.body, stripped.header, left_out)


_END_OF_FILE = "\x1a"


def _without_terminal_codes(text: str) -> str:
    """The text that a terminal or a typewriter shows: manual pages and RFCs have such codes."""
    if "\x1b" in text:
        text = _ESCAPE_SEQUENCE.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text)
    return text


def _count_controls(text: str) -> int:
    return len(_CONTROLS.findall(text)) - text.count(_END_OF_FILE)


def _byline(blocks: list[TextBlock]) -> tuple[str, ...]:
    """The author, if the second block is like "by Jane Austen"; else empty."""
    if len(blocks) < 2 or not is_short_line(blocks[1]):
        return ()
    match = _BYLINE.fullmatch(one_line(blocks[1].text))
    if not match:
        return ()
    return (match["author"],)


def _add_blocks(
    builder: BookBuilder, blocks: list[TextBlock], text_outline: Outline
) -> None:
    """Add all blocks; those of a chapter's heading as its heading."""
    chapters = {chapter.index: chapter for chapter in text_outline.chapters}
    heading_end = 0
    heading_level = 0
    for index, block in enumerate(blocks):
        chapter = chapters.get(index)
        if chapter is not None:
            builder.chapter(_remove_emphasis(chapter.title), chapter.level)
            heading_end = index + chapter.blocks
            heading_level = chapter.level
        text = _remove_emphasis(block.text)
        if index < heading_end:
            # The heading may be written "## Title", or with "=====" below it.
            without_markdown = text.strip().lstrip("#").strip("=\n ")
            builder.add(without_markdown, ParagraphKind.HEADING, heading_level)
            continue
        if not block.keeps_lines:
            text = _DASH_AT_LINE_END.sub(r"\1", text)
        builder.add(text, block.kind)


def _remove_emphasis(text: str) -> str:
    """Remove the underscores around emphasised words: they disturb reading, speech and models."""
    if "_" not in text:
        return text
    return _EMPHASIS.sub(r"\1", text)


_LONGEST_TITLE = 80


def _first_line(blocks: list[TextBlock]) -> str:
    """The first line, if it may be the book's title; else empty."""
    if len(blocks) < 2 or not is_short_line(blocks[0]):
        return ""
    if heading_candidate(0, blocks[0]):
        return ""
    text = _remove_emphasis(one_line(blocks[0].text))
    is_sentence = text[-1] in ".,;:!?…。！？」』" and not text.isupper()
    if is_sentence or len(text) > _LONGEST_TITLE:
        return ""
    return text
