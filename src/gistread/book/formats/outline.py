"""Decides which heading candidates of a plain text are headings, and on which level.

Entries of tables of contents are dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from gistread.book.builder import ChapterStart
from gistread.book.formats import headings
from gistread.book.formats.headings import Candidate, Rank
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.normalise import one_line


@dataclass(frozen=True, slots=True)
class Outline:
    """The chapters of a text, and its title if the headings state one."""

    chapters: tuple[ChapterStart, ...]
    title: str = ""


# Tables of contents. Headings closer together than this are entries.
_ENTRY_CHARACTERS = 200
# Between "Contents" and the first entry.
_MOST_BEFORE_ENTRIES = 4 * _ENTRY_CHARACTERS
_FEWEST_ENTRIES = 4  # Of a table of contents without the heading "Contents"
# A block with this many lines may be a whole table of contents, which is longer than an entry.
_FEWEST_LINES_OF_A_TABLE = 3
_TABLE_CHARACTERS = 20 * _ENTRY_CHARACTERS
_SHORTEST_ENTRY = 3
_MOST_LINES_OF_AN_ENTRY = 2

# With more parts, the parts are the chapters, as the books of the Odyssey.
_MOST_PARTS = 5
_FEWEST_UNNUMBERED = 3
_FEWEST_NUMERALS = 3
_LEAST_BETWEEN_NUMERALS = 2 * _ENTRY_CHARACTERS
_LEAST_AFTER_CAPITALS = 2 * _ENTRY_CHARACTERS
# Page numbers left in a scan: many, and a printed page apart.
_MANY_NUMERALS = 30
_CHARACTERS_OF_A_PRINTED_PAGE = 2600
# If a short line follows at least this many and this share of the chapters, the lines are titles.
_FEWEST_SUBTITLES = 4
_LEAST_WITH_SUBTITLE = 0.8


@dataclass(frozen=True)
class _Text:
    """The blocks of a text, and how far apart they are."""

    blocks: Sequence[TextBlock]

    @cached_property
    def _starts(self) -> list[int]:
        """The characters before each block; last, of the whole text."""
        lengths = (sum(map(len, block.lines)) for block in self.blocks)
        return [*accumulate(lengths, initial=0)]

    @cached_property
    def contents(self) -> list[int]:
        """The blocks that say "Contents"."""
        return [i for i, block in enumerate(self.blocks) if headings.is_contents(block)]

    def characters(self, first: int, end: int) -> int:
        """The length of the blocks `[first, end)`."""
        return self._starts[end] - self._starts[first]

    def characters_from(self, first: int) -> int:
        """The length of the block `first` and all after it."""
        return self.characters(first, len(self.blocks))

    def characters_under(self, candidates: list[Candidate], i: int) -> int:
        """The length of the text between a candidate and the next one."""
        first = candidates[i].index + 1
        if i + 1 < len(candidates):
            return self.characters(first, candidates[i + 1].index)
        return self.characters_from(first)


def outline(blocks: Sequence[TextBlock]) -> Outline:
    """The chapters of a plain text, by its headings."""
    text = _Text(blocks)
    in_markdown: list[Candidate] = []
    candidates: list[Candidate] = []
    for index, block in enumerate(blocks):
        candidate = headings.heading_candidate(index, block)
        if candidate is None:
            continue
        if candidate.family == "markdown":
            in_markdown.append(candidate)
        else:
            candidates.append(candidate)
    # A single line that begins with "#" may be something else.
    if len(in_markdown) >= 2:
        return _markdown_outline(in_markdown)
    candidates = _without_names_of_chapters(candidates)
    candidates = _without_contents(candidates, text)
    candidates = _without_stray_numerals(candidates, text)
    if not _has_chapters(candidates) and len(candidates) <= _MOST_PARTS:
        candidates = _with_unnumbered(candidates, text)
    levels = _levels(candidates)
    titles = _titles(candidates, blocks)
    chapters = [
        ChapterStart(candidate.index, title.words, level, title.blocks)
        for candidate, level, title in zip(candidates, levels, titles, strict=True)
    ]
    return Outline(tuple(chapters))


def _has_chapters(candidates: list[Candidate]) -> bool:
    return any(candidate.rank is Rank.CHAPTER for candidate in candidates)


def _markdown_outline(candidates: list[Candidate]) -> Outline:
    """Markdown states levels. A single top heading over several others is the book's title."""
    first, *others = candidates
    highest = min(other.level for other in others)
    is_single_top = first.level < highest
    if is_single_top and len(others) >= 2:
        title = first.title
        chapters = others
    else:
        title = ""
        chapters = candidates
        highest = min(first.level, highest)
    starts = [
        ChapterStart(chapter.index, chapter.title, chapter.level - highest + 1)
        for chapter in chapters
    ]
    return Outline(tuple(starts), title)


def _levels(candidates: list[Candidate]) -> list[int]:
    """Parts above chapters above sections; each kind of part has a level of its own."""
    level_of_part: dict[str, int] = {}
    for candidate in candidates:
        if candidate.rank is Rank.CONTAINER:
            level_of_part.setdefault(candidate.family, len(level_of_part) + 1)
    below_parts = len(level_of_part) + 1
    below_chapters = below_parts + 1 if _has_chapters(candidates) else below_parts
    level_of_rank = {
        # An epilogue with chapters of its own stands beside the parts, like a prologue.
        Rank.NAMED: 1,
        Rank.CHAPTER: below_parts,
        Rank.SECTION: below_chapters,
    }
    return [
        level_of_rank.get(candidate.rank) or level_of_part[candidate.family]
        for candidate in candidates
    ]


def _without_names_of_chapters(candidates: list[Candidate]) -> list[Candidate]:
    """Drop names that are titles: "Conclusion" below "CHAPTER LIII"."""
    numbered = {
        candidate.index
        for candidate in candidates
        if candidate.is_bare and candidate.number
    }
    remaining: list[Candidate] = []
    for candidate in candidates:
        is_below_number = candidate.index - 1 in numbered
        if candidate.rank is not Rank.NAMED or not is_below_number:
            remaining.append(candidate)
    return remaining


def _without_contents(candidates: list[Candidate], text: _Text) -> list[Candidate]:
    """Drop the entries of a table of contents: many headings in a row without text between."""
    remaining: list[Candidate] = []
    run: list[Candidate] = []
    for i, candidate in enumerate(candidates):
        run.append(candidate)
        has_text = text.characters_under(candidates, i) >= _ENTRY_CHARACTERS
        is_last = i + 1 == len(candidates)
        if not has_text and not is_last:
            continue
        if not _are_entries(run, text):
            remaining += run
        elif has_text:
            # The last headings of the run stand over the text.
            remaining += _headings_after_entries(run)
        run = []
    return remaining


def _are_entries(run: list[Candidate], text: _Text) -> bool:
    """Whether headings without text between them are entries of a table of contents."""
    first = run[0].index
    follows_contents = any(
        heading < first and text.characters(heading, first) < _MOST_BEFORE_ENTRIES
        for heading in text.contents
    )
    if follows_contents and len(run) > 1:
        return True
    entries = [candidate for candidate in run if candidate.rank is not Rank.CONTAINER]
    return len(entries) >= _FEWEST_ENTRIES


def _headings_after_entries(run: list[Candidate]) -> list[Candidate]:
    """The headings after the entries of a table of contents, in a run of both.

    They begin where the first entry is repeated; else only the last is one, with a part right
    above it.
    """
    first, *others = run
    for i, candidate in enumerate(others, start=1):
        if _is_named_alike(candidate, first):
            return run[i:]
    *_, previous, last = run
    has_part = previous.rank is Rank.CONTAINER and last.rank is not Rank.CONTAINER
    return [previous, last] if has_part else [last]


def _is_named_alike(heading: Candidate, entry: Candidate) -> bool:
    """Whether a heading and an entry name one chapter, even if their wording differs."""
    if (heading.rank, heading.number) != (entry.rank, entry.number):
        return False
    return heading.number is not None or heading.family == entry.family


def _without_stray_numerals(
    candidates: list[Candidate], text: _Text
) -> list[Candidate]:
    """Drop numerals without a keyword, except the longest plausible sequence.

    Years, page numbers and the pronoun "I" are not headings.
    """
    others: list[Candidate] = []
    numerals_by_style: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.family in headings.NUMERALS:
            numerals_by_style.setdefault(candidate.family, []).append(candidate)
        else:
            others.append(candidate)
    chapter_count = sum(candidate.rank is Rank.CHAPTER for candidate in others)
    has_chapters = chapter_count > 0
    longest: list[Candidate] = []
    for style, numerals in numerals_by_style.items():
        sequence = _sequence(numerals)
        is_longer = len(sequence) > len(longest)
        if is_longer and _is_plausible(style, sequence, has_chapters, text):
            longest = sequence
    # One chapter beside the numerals may be a stray line.
    rank = Rank.SECTION if chapter_count >= 2 else Rank.CHAPTER
    numbered = [replace(candidate, rank=rank) for candidate in longest]
    return _in_order([*others, *numbered])


def _sequence(numerals: list[Candidate]) -> list[Candidate]:
    """The numerals that count up, with at most one missing. They may begin at 1 again."""
    sequence: list[Candidate] = []
    expected = 1
    for numeral in numerals:
        # A second 1 at once is rather a stray numeral than another part.
        begins_again = numeral.number == 1 and expected > 2
        if numeral.number in (expected, expected + 1) or begins_again:
            sequence.append(numeral)
            expected = (numeral.number or 0) + 1
    return sequence


def _is_plausible(
    style: str, sequence: list[Candidate], has_chapters: bool, text: _Text
) -> bool:
    """Whether a sequence of numerals may be headings.

    `has_chapters`: whether there are other headings, with the word "chapter" or the like.
    """
    if len(sequence) < _FEWEST_NUMERALS:
        return False
    mean_characters = text.characters_from(sequence[0].index) / len(sequence)
    if mean_characters < _LEAST_BETWEEN_NUMERALS:
        return False
    if style.startswith("roman"):
        return True
    if has_chapters:
        return False
    are_page_numbers = (
        style == "digits"
        and len(sequence) > _MANY_NUMERALS
        and mean_characters < _CHARACTERS_OF_A_PRINTED_PAGE
    )
    return not are_page_numbers


def _with_unnumbered(candidates: list[Candidate], text: _Text) -> list[Candidate]:
    """Add lines that the contents name, or those in capitals: a book without numbered chapters."""
    with_entries = _with_entries(candidates, text)
    if len(with_entries) > len(candidates):
        return with_entries
    return _with_capitals(candidates, text)


def _with_entries(candidates: list[Candidate], text: _Text) -> list[Candidate]:
    """Add the lines that the table of contents names."""
    if not text.contents:
        return candidates
    entries, contents_end = _entries(text, text.contents[0] + 1)
    known = {candidate.index for candidate in candidates}
    lines: list[Candidate] = []
    for index, block in enumerate(text.blocks):
        if index < contents_end or index in known:
            continue
        if _is_entry(block, entries):
            lines.append(_line_heading(index, block, "entry"))
    if len(lines) < _FEWEST_UNNUMBERED:
        return candidates
    # Candidates before are only entries of the contents.
    after_contents = [c for c in candidates if c.index >= contents_end]
    return _in_order([*after_contents, *lines])


def _entries(text: _Text, first: int) -> tuple[set[str], int]:
    """The entries of the table of contents that begins at a block, and the block after it."""
    entries: set[str] = set()
    for index in range(first, len(text.blocks)):
        lines = text.blocks[index].lines
        may_be_table = len(lines) >= _FEWEST_LINES_OF_A_TABLE
        limit = _TABLE_CHARACTERS if may_be_table else _ENTRY_CHARACTERS
        if text.characters(index, index + 1) >= limit:
            return entries, index
        keys = {headings.entry_key(line) for line in lines} - {""}
        if keys <= entries:
            # A repeated entry is the heading that it names.
            return entries, index
        entries |= keys
    return entries, len(text.blocks)


def _is_entry(block: TextBlock, entries: set[str]) -> bool:
    """Whether a block is a heading that the contents name."""
    if len(block.lines) > _MOST_LINES_OF_AN_ENTRY:
        return False
    key = headings.entry_key(" ".join(block.lines))
    return key in entries and len(headings.entry_key(block.text)) >= _SHORTEST_ENTRY


def _line_heading(index: int, block: TextBlock, family: str) -> Candidate:
    title = one_line(block.text).strip("_")
    return Candidate(
        index, Rank.CHAPTER, family, number=None, title=title, is_bare=False
    )


def _with_capitals(candidates: list[Candidate], text: _Text) -> list[Candidate]:
    """Add the lines in capitals that stand alone over text."""
    known = {candidate.index for candidate in candidates}
    lines: list[Candidate] = []
    for index, block in enumerate(text.blocks):
        if index in known or headings.is_contents(block):
            continue
        if headings.is_capitals(block):
            lines.append(_line_heading(index, block, "capitals"))
    # The text under a line ends at the next one, even if that one is dropped.
    merged = _in_order([*candidates, *lines])
    lines_over_text = [
        candidate
        for i, candidate in enumerate(merged)
        if candidate.family == "capitals"
        and text.characters_under(merged, i) >= _LEAST_AFTER_CAPITALS
    ]
    if len(lines_over_text) < _FEWEST_UNNUMBERED:
        return candidates
    return _in_order([*candidates, *lines_over_text])


def _in_order(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: candidate.index)


@dataclass(frozen=True, slots=True)
class _Title:
    words: str
    blocks: int  # Number of blocks that it stands in


def _titles(candidates: list[Candidate], blocks: Sequence[TextBlock]) -> list[_Title]:
    """The title of each heading, with the subtitle in the block below it."""
    heading_indices = {candidate.index for candidate in candidates}
    lines_below = [
        _short_line_below(candidate, heading_indices, blocks)
        for candidate in candidates
    ]
    lines_below_numbers = [
        line
        for candidate, line in zip(candidates, lines_below, strict=True)
        if candidate.is_bare and candidate.rank in (Rank.CHAPTER, Rank.CONTAINER)
    ]
    has_subtitles = _are_subtitles(lines_below_numbers)
    titles: list[_Title] = []
    for candidate, line in zip(candidates, lines_below, strict=True):
        is_subtitle = (
            line is not None
            and candidate.rank is not Rank.NAMED
            and (has_subtitles or headings.may_be_subtitle(line))
        )
        if line is not None and is_subtitle:
            titles.append(_Title(_with_subtitle(candidate.title, line), blocks=2))
        else:
            titles.append(_Title(candidate.title.strip("_ "), blocks=1))
    return titles


def _are_subtitles(lines_below: list[TextBlock | None]) -> bool:
    """Whether the short lines below numbers are titles: nearly each number has one."""
    count = sum(line is not None for line in lines_below)
    least = max(_FEWEST_SUBTITLES, len(lines_below) * _LEAST_WITH_SUBTITLE)
    return count >= least


def _with_subtitle(title: str, line: TextBlock) -> str:
    subtitle = one_line(line.text).strip("_ ")
    joint = " " if title[-1] in ".:—–" else ". "
    return title + joint + subtitle


def _short_line_below(
    candidate: Candidate, heading_indices: set[int], blocks: Sequence[TextBlock]
) -> TextBlock | None:
    """The line below a number without a title, which may be the title."""
    index = candidate.index + 1
    if not candidate.is_bare or index in heading_indices or index >= len(blocks):
        return None
    if not headings.is_short_line(blocks[index]):
        return None
    return blocks[index]
