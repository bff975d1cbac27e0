"""Joins lines into paragraphs by gaps, indents, short lines and sizes, across columns and pages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gistread.book.formats.pdf.layout import PageLayout
from gistread.book.formats.pdf.lines import Column, TextLine, is_raised
from gistread.book.formats.pdf.pages import HYPHEN
from gistread.book.model import ParagraphKind

_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’»)\]]*\d{0,3}$")
_BULLET = re.compile(r"[•‣◦▪■●○∙·–*-]\s+\S|[•‣◦▪■●○∙]\S")
_NUMBERED = re.compile(r"(?:\(?\d{1,2}[.)]|\(?[a-z]\)|\(?[ivx]{1,4}\))\s+\S")
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)|illustration|plate|scheme|abbildung|abb\.|ilustración|figura|рис(?:унок|\.)|図)\s*[\dIVX]+(?:[.–-]\d+)*\s*(?:[.:|—–]|$)",
    re.IGNORECASE,
)
_BREAK = re.compile(r"(?:[*•·#~⁂–—-]\s*){1,7}$")
_SIGNS = "*†‡§¶∗"
_NOTE_NUMBER = re.compile(r"(\d{1,3})(?=[.)\s]|[^\W\d_])")
_NOTE_SIGN = re.compile(rf"[{_SIGNS}]{{1,3}}(?=\s?\S)")
_RAISED_LABEL = re.compile(rf"\d{{1,3}}|[a-z]|[{_SIGNS}]{{1,3}}")
_LEADERS = re.compile(r"(?:\s?\.){4,}\s*|(?:\s?…){2,}\s*")

_RUNNING = frozenset({ParagraphKind.TEXT, ParagraphKind.QUOTE, ParagraphKind.LIST})
_SIZE_STEP = 0.07
_SMALL_PRINT = 0.95
_HEADING_RATIO = 1.12
_WINDOW = 7


@dataclass(slots=True)
class Block:
    lines: list[TextLine]
    kind: ParagraphKind = ParagraphKind.TEXT
    label: str = ""  # A note's number or sign
    left: float = 0.0
    right: float = 0.0  # Edges of its last column
    keeps_lines: bool = False
    notes: list["Block"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)


def split_into_blocks(columns: Sequence[Column], layout: PageLayout) -> list[Block]:
    """The paragraphs in reading order, with notes after the paragraph they interrupt."""
    found: list[Block] = []
    last: Block | None = None  # The paragraph of earlier columns that may continue
    for column in columns:
        body, foot = _split_footnotes(column, layout.size)
        own = _column_blocks(replace(column, lines=tuple(body)), layout)
        if foot and not foot[0].label:
            # It continues a note of the previous page.
            for block in [block for block in found[-6:] if block.notes][-1:]:
                block.notes[-1].lines += foot.pop(0).lines
        owner = own[-1] if own else None
        rest = _continuation(last, own, layout) if last else None
        if last and rest:
            last.lines += rest.lines
            last.left, last.right = rest.left, rest.right
            own.remove(rest)
            owner = own[-1] if own and own[-1] is owner else last
        found += own
        if owner:
            owner.notes += foot
        else:
            found += foot
        last = _continuable(own, last, found, layout)
    return [one for block in _merge_verse(found, layout) for one in (block, *block.notes)]


def _continuable(
    own: list[Block], before: Block | None, found: list[Block], layout: PageLayout
) -> Block | None:
    is_body = before and abs(before.lines[-1].size - layout.size) <= _SIZE_STEP * layout.size
    cut = before if before and is_body and _breaks_off(before) else None
    block = next((block for block in reversed(own) if not _is_float(block)), None)
    if (
        block
        and block.kind in _RUNNING
        and not (cut and block.lines[-1].size < _SMALL_PRINT * layout.size)
    ):
        return block
    return cut if cut and found and found[-1].lines[-1].page <= cut.lines[-1].page + 1 else None


def _breaks_off(block: Block) -> bool:
    text = block.lines[-1].text
    return text.endswith(HYPHEN) or not _SENTENCE_END.search(text)


def _continuation(last: Block, own: Sequence[Block], layout: PageLayout) -> Block | None:
    for index, block in enumerate(block for block in own if not _is_float(block)):
        if _continues(last, block, layout):
            fits = block.lines[0].text[0].islower() or last.lines[-1].text.endswith(HYPHEN)
            return block if index == 0 or (fits and _breaks_off(last)) else None
        if not _breaks_off(last) or block.lines[0].size > last.lines[-1].size:
            return None
    return None


def _is_float(block: Block) -> bool:
    return block.kind in (ParagraphKind.IMAGE, ParagraphKind.TABLE)


def _continues(last: Block, first: Block, layout: PageLayout) -> bool:
    above, below = last.lines[-1], first.lines[0]
    if first.kind not in _RUNNING or abs(above.size - below.size) > _SIZE_STEP * above.size:
        return False
    if first.kind is ParagraphKind.LIST and _starts_item(below):
        return False
    if above.text.endswith(HYPHEN):
        return True
    if below.left > first.left + 0.6 * below.size and layout.indents:
        return False
    starts_small = below.text[0].islower()
    ended = bool(_SENTENCE_END.search(above.text))
    if _is_short(above, below, last.right):
        return starts_small and not ended
    if above.size < _SMALL_PRINT * layout.size and not starts_small:
        return False  # cells of a table, labels of a figure
    return starts_small or not ended or (layout.indents and last.kind is first.kind)


def _column_blocks(column: Column, layout: PageLayout) -> list[Block]:
    left, right = layout.edges(column)
    found: list[Block] = []
    lines = column.lines
    for index, line in enumerate(lines):
        if not index or _begins_block(lines, index, layout, found[-1]):
            found.append(Block([line], left=left, right=right))
        else:
            found[-1].lines.append(line)
    for block in found:
        block.kind = _kind(block, layout)
        block.keeps_lines = block.kind in (ParagraphKind.TABLE, ParagraphKind.CODE)
    return _merge_labels(_merge_rows(found, layout), layout)


def _begins_block(lines: Sequence[TextLine], index: int, layout: PageLayout, block: Block) -> bool:
    above, line, left, right = lines[index - 1], lines[index], block.left, block.right
    size = max(above.size, line.size)
    gap = above.bottom - line.baseline
    if abs(above.size - line.size) > _SIZE_STEP * size:
        return True
    if gap > 1.28 * layout.leading(line.size) + 0.5 and gap > 1.1 * line.size:
        return True
    if _is_bold(above) != _is_bold(line) or _is_code(line, layout) != _is_code(above, layout):
        return True
    if above.text.endswith(HYPHEN):
        return False
    if bool(above.cells) != bool(line.cells) and _is_short(above, line, right):
        return True
    short = _is_short(above, line, right)
    ended = bool(_SENTENCE_END.search(above.text))
    if _starts_item(line) and (short or ended or above.left > line.left + 2):
        return True
    indent = line.left - above.left
    shift = line.left + line.right - above.left - above.right
    if line.size >= _HEADING_RATIO * layout.size and abs(indent) > 0.6 * line.size > abs(shift):
        return short and ended  # The first line of a centred title may fill the column
    if indent > 0.6 * line.size:
        if _is_centred(above, left, right) and _is_centred(line, left, right):
            return short and ended
        if _has_hanging_indent(lines, index, right):
            return False
        return short or ended or line.text[0].isupper() or line.text[0] in "\"“‘'«„—–"
    if indent < -0.6 * line.size:
        if len(block.lines) == 1:  # the second line of an indented paragraph, as a rule
            return short and ended and not _is_centred(above, left, right)
        return (
            short
            or (ended and line.left < left + 0.6 * line.size)
            or _has_hanging_indent(lines, index - 1, right)
        )
    if short:
        return True
    # Dialogue: a full line, and the next one indented like it.
    set_in = line.left > left + 0.6 * line.size
    return set_in and ended and layout.indents and len(block.lines) == 1


def _is_short(above: TextLine, below: TextLine, right: float) -> bool:
    """Whether the first word of `below` would fit, if its letters had equal widths."""
    word = len(below.text.partition(" ")[0]) * (below.right - below.left) / max(1, len(below.text))
    return right - above.right > word * 1.1 + 0.9 * above.size


def _has_hanging_indent(lines: Sequence[TextLine], index: int, right: float) -> bool:
    continuing = starting = 0
    low, high = max(1, index - _WINDOW), min(len(lines), index + _WINDOW + 1)
    for above, line in zip(lines[low - 1 : high - 1], lines[low:high], strict=True):
        if 0.6 * line.size < line.left - above.left < 4 * line.size:
            ended = bool(_SENTENCE_END.search(above.text)) or _is_short(above, line, right)
            starting += ended
            continuing += not ended
    return continuing > starting


def _starts_item(line: TextLine) -> bool:
    return bool(_BULLET.match(line.text) or _NUMBERED.match(line.text))


def _is_bold(line: TextLine) -> bool:
    lettered = [run for run in line.runs if any(map(str.isalnum, run.text))]
    return bool(lettered) and all(run.font.is_bold for run in lettered)


def _is_code(line: TextLine, layout: PageLayout) -> bool:
    return not layout.is_fixed and all(run.font.is_fixed for run in line.runs)


def _is_centred(line: TextLine, left: float, right: float) -> bool:
    before, after = line.left - left, right - line.right
    return before > 2 * line.size and abs(before - after) < 0.1 * (right - left)


def _kind(block: Block, layout: PageLayout) -> ParagraphKind:
    first, text = block.lines[0], block.text
    if len(block.lines) == 1 and len(text) < 20 and _BREAK.match(text):
        return ParagraphKind.BREAK
    if _CAPTION.match(text):
        return ParagraphKind.IMAGE
    if is_heading(block, layout):
        return ParagraphKind.HEADING
    if all(_is_code(line, layout) for line in block.lines):
        return ParagraphKind.CODE
    if len(block.lines) > 1 and sum(bool(line.cells) for line in block.lines) > 0.6 * len(
        block.lines
    ):
        return ParagraphKind.TABLE
    if any(line.stacks for line in block.lines) and all(
        line.stacks or _is_narrow(line, block) for line in block.lines
    ):
        return ParagraphKind.TABLE
    if _starts_item(first) and (
        len(block.lines) > 1 or first.left > block.left or _BULLET.match(first.text)
    ):
        return ParagraphKind.LIST
    margin = min(line.left for line in block.lines) - block.left
    if len(block.lines) > 1 and margin > 1.2 * first.size:
        return ParagraphKind.QUOTE
    return ParagraphKind.TEXT


def is_heading(block: Block, layout: PageLayout) -> bool:
    first, text = block.lines[0], block.text
    if len(text) > 250 or len(block.lines) > 5 or not any(map(str.isalnum, text)):
        return False
    if text.count(",") > 3:
        return False  # a list of names
    if first.size >= _HEADING_RATIO * layout.size:
        return any(map(str.isalpha, text)) or len(text) < 6
    if len(block.lines) > 3 or first.size < 0.95 * layout.size or text[-1] in ".,;:":
        return False
    return all(_is_bold(line) and not line.cells for line in block.lines)


def _merge_rows(found: list[Block], layout: PageLayout) -> list[Block]:
    merged: list[Block] = []
    for block in found:
        before = merged[-1] if merged else None
        rows = block.kind in (ParagraphKind.TABLE, ParagraphKind.CODE)
        single_row = (
            block.kind is ParagraphKind.TEXT and len(block.lines) == 1 and block.lines[0].cells
        )
        continues_table = before and (
            (single_row and before.lines[-1].cells)
            or (_is_fragment(before) and _has_stacks(block))
            or (_has_stacks(before) and _is_fragment(block))
        )
        if (
            before
            and ((rows and before.kind is block.kind) or continues_table)
            and _is_close(before, block, layout)
        ):
            before.lines += block.lines
            if continues_table:
                before.kind, before.keeps_lines = ParagraphKind.TABLE, True
        else:
            merged.append(block)
    return merged


def _has_stacks(block: Block) -> bool:
    return block.kind is ParagraphKind.TABLE and any(line.stacks for line in block.lines)


def _is_fragment(block: Block) -> bool:
    """Whether the block may be a cell of a table."""
    return block.kind in _RUNNING and all(_is_narrow(line, block) for line in block.lines)


def _is_narrow(line: TextLine, block: Block) -> bool:
    return line.right - line.left < 0.6 * (block.right - block.left)


def _merge_labels(found: list[Block], layout: PageLayout) -> list[Block]:
    """Join the labels inside a figure, above its caption, into one paragraph."""
    merged: list[Block] = []
    for block in found:
        labels: list[TextLine] = []
        while block.kind is ParagraphKind.IMAGE and merged and _is_label(merged[-1], layout):
            labels[:0] = merged.pop().lines
        if labels:
            merged.append(Block(labels, ParagraphKind.IMAGE, left=block.left, right=block.right))
        merged.append(block)
    return merged


def _is_label(block: Block, layout: PageLayout) -> bool:
    is_other_size = abs(block.lines[0].size - layout.size) > _SIZE_STEP * layout.size
    is_short = all(len(line.text) <= 40 for line in block.lines)
    return (
        is_other_size
        and is_short
        and block.kind in (ParagraphKind.TEXT, ParagraphKind.QUOTE, ParagraphKind.TABLE)
    )


def _is_close(above: Block, below: Block, layout: PageLayout) -> bool:
    gap = above.lines[-1].bottom - below.lines[0].baseline
    return 0 < gap < 2.2 * layout.leading(below.lines[0].size)


def _merge_verse(found: list[Block], layout: PageLayout) -> Iterator[Block]:
    runs: list[list[Block]] = []
    for block in found:
        last = runs[-1][-1] if runs else None
        if last and _may_be_verse(last) and _may_be_verse(block) and _follows(last, block, layout):
            runs[-1].append(block)
        else:
            runs.append([block])
    for run in runs:
        if _is_verse(run):
            lines = [line for one in run for line in one.lines]
            notes = [note for one in run for note in one.notes]
            yield Block(
                lines,
                ParagraphKind.VERSE,
                left=run[0].left,
                right=run[0].right,
                keeps_lines=True,
                notes=notes,
            )
        else:
            yield from run


def _may_be_verse(block: Block) -> bool:
    return (
        block.kind in (ParagraphKind.TEXT, ParagraphKind.QUOTE)
        and len(block.lines) <= 2
        and not block.lines[0].cells
        and not any(line.text.endswith((HYPHEN, "-")) for line in block.lines)
        and block.lines[-1].right < block.right - 1.5 * block.lines[0].size
    )


def _follows(above: Block, below: Block, layout: PageLayout) -> bool:
    gap = above.lines[-1].bottom - below.lines[0].baseline
    same_page = above.lines[-1].page == below.lines[0].page
    size = below.lines[0].size
    return (
        same_page
        and abs(above.lines[0].size - size) < 0.3
        and 0 < gap < 1.15 * layout.leading(size)
    )


def _is_verse(run: list[Block]) -> bool:
    if len(run) < 3:
        return False
    ended = sum(bool(_SENTENCE_END.search(block.text)) for block in run)
    capital = sum(block.text[0].isupper() or not block.text[0].isalnum() for block in run)
    set_in = all(block.lines[0].left > block.left + 0.9 * block.lines[0].size for block in run)
    leaders = sum(bool(_LEADERS.search(block.text)) or block.text[-1].isdigit() for block in run)
    return (
        capital > 0.6 * len(run)
        and leaders < 0.4 * len(run)
        and ended < (0.75 if set_in else 0.5) * len(run)
    )


def without_leaders(text: str) -> str:
    """Replace the leader dots of a table of contents by one sign."""
    return _LEADERS.sub(" … ", text)


def _split_footnotes(column: Column, body_size: float) -> tuple[Sequence[TextLine], list[Block]]:
    lines = column.lines
    start = len(lines)
    while start and lines[start - 1].size < 0.94 * body_size:
        start -= 1
    small = lines[start:]
    # A whole page of small print is no footnote. An unlabelled first line may continue the previous
    # page.
    labelled = [index for index, line in enumerate(small) if _note_label(line)]
    if not start or not labelled or len(small) > 0.8 * len(lines):
        return lines, []
    first = labelled[0]
    if first and small[0].size != small[first].size:
        start, small = start + first, small[first:]
        labelled = [index - first for index in labelled]
    cuts = sorted({0, *labelled})
    return lines[:start], [
        Block(
            list(small[cut:end]),
            ParagraphKind.NOTE,
            _note_label(small[cut]),
            column.left,
            column.right,
        )
        for cut, end in zip(cuts, [*cuts[1:], len(small)], strict=True)
    ]


def _note_label(line: TextLine) -> str:
    first = line.runs[0]
    text = first.text.strip()
    if len(line.runs) > 1 and is_raised(line, first) and _RAISED_LABEL.fullmatch(text):
        return text
    found = _NOTE_SIGN.match(line.text) or _NOTE_NUMBER.match(line.text)
    return found[0] if found else ""
