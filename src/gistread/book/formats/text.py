"""Reads plain text: encoding, Project Gutenberg header, paragraphs, chapters."""

import re
from pathlib import PurePath

from gistread.book.builder import BookBuilder, left_out_notices
from gistread.book.formats.encoding import decode, encoding_notices
from gistread.book.formats.gutenberg import strip_gutenberg
from gistread.book.formats.headings import heading_candidate, is_short_line, split_heading
from gistread.book.formats.outline import Outline, outline
from gistread.book.formats.text_blocks import TextBlock, split_into_blocks
from gistread.book.model import Book, ParagraphKind
from gistread.book.normalise import clean, one_line
from gistread.book.sniff import SUPPORTED_FORMATS
from gistread.errors import BookError

# _Emphasis_ as Project Gutenberg writes it; not inside words, so that snake_case stays.
_EMPHASIS = re.compile(r"(?<![\w_])_(?=[^\s_])([^_]{1,2000}?)(?<=[^\s_])_(?![\w_])")
# A line that ends with a hyphen or dash continues without a space.
_DASH_AT_LINE_END = re.compile(r"(?<=\w)(--|[-—])\n *(?=\w)")
_BYLINE = re.compile(r"by (?P<author>\w[^,:;!?]{1,79})", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


def read_text(data: bytes, name: str) -> Book:
    """The book in `data`. `name` is its title if it has no other. Raises BookError for binary or blank data."""
    decoded = decode(data)
    if decoded is None:
        raise BookError(f"{name} is not a book but unknown binary data.", f"gistread reads {SUPPORTED_FORMATS}.")
    unwrapped = strip_gutenberg(clean(decoded.text))
    found = [part for block in split_into_blocks(unwrapped.text) for part in split_heading(block)]
    shape = outline(found)
    builder = BookBuilder()
    _add_blocks(builder, found, shape)
    if not builder.characters:
        raise BookError(f"{name} contains only white space.")
    byline = _BYLINE.fullmatch(one_line(found[1].text)) if len(found) > 1 and is_short_line(found[1]) else None
    controls = len(_CONTROLS.findall(decoded.text)) - decoded.text.count("\x1a")
    return builder.build(
        title=unwrapped.title or shape.title or _first_line(found) or PurePath(name).stem,
        authors=unwrapped.authors or ((byline["author"],) if byline else ()),
        language=unwrapped.language,
        source_format="text",
        notices=(*encoding_notices(decoded), *left_out_notices({"control character(s)": controls})),
    )


def _add_blocks(builder: BookBuilder, found: list[TextBlock], shape: Outline) -> None:
    chapters = {chapter.index: chapter for chapter in shape.chapters}
    heading_until = 0
    level = 0
    for index, block in enumerate(found):
        if chapter := chapters.get(index):
            builder.chapter(_remove_emphasis(chapter.title), chapter.level)
            heading_until = index + chapter.blocks
            level = chapter.level
        text = _remove_emphasis(block.text)
        if index < heading_until:
            builder.add(text.strip().lstrip("#").strip("=\n "), ParagraphKind.HEADING, level)
        else:
            builder.add(text if block.keeps_lines else _DASH_AT_LINE_END.sub(r"\1", text), block.kind)


def _remove_emphasis(text: str) -> str:
    """Remove the underscores around emphasised words: they disturb reading, speech and models."""
    return _EMPHASIS.sub(r"\1", text) if "_" in text else text


def _first_line(found: list[TextBlock]) -> str:
    if len(found) < 2 or not is_short_line(found[0]) or heading_candidate(0, found[0]):
        return ""
    text = _remove_emphasis(one_line(found[0].text))
    return "" if len(text) > 80 or (text[-1] in ".,;:!?…" and not text.isupper()) else text
