"""Decides which heading candidates of a plain text are headings, and their levels.

Drops tables of contents.
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
    chapters: tuple[ChapterStart, ...]
    title: str = ""


# Headings closer together than this are contents entries.
_ENTRY_CHARACTERS = 200
# Between "Contents" and the first entry.
_MOST_BEFORE_ENTRIES = 4 * _ENTRY_CHARACTERS
_FEWEST_ENTRIES = 4  # Of a table of contents that is not called so
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
# If a short line follows so many of the chapters, those lines are the titles.
_FEWEST_SUBTITLES = 4
_LEAST_WITH_SUBTITLE = 0.8


@dataclass(frozen=True)
class _Text:
    """The blocks of a text, and how far apart they are."""

    blocks: Sequence[TextBlock]

    @cached_property
    def _starts(self) -> list[int]:
        """The characters before each block, and all."""
        lengths = (sum(map(len, block.lines)) for block in self.blocks)
        return [*accumulate(lengths, initial=0)]

    @cached_property
    def contents(self) -> list[int]:
        """The blocks that say "Contents"."""
        return [i for i, block in enumerate(self.blocks) if headings.is_contents(block)]

    def characters(self, first: int, end: int | None = None) -> int:
        """The length of the blocks `[first, end)`, by default of all from `first`."""
        return (
            self._starts[len(self.blocks) if end is None else end] - self._starts[first]
        )

    def characters_under(self, candidates: list[Candidate], i: int) -> int:
        """The length of the text between a candidate and the next one."""
        end = candidates[i + 1].index if i + 1 < len(candidates) else None
        return self.characters(candidates[i].index + 1, end)


def outline(blocks: Sequence[TextBlock]) -> Outline:
    text = _Text(blocks)
    listed = (
        headings.heading_candidate(index, block) for index, block in enumerate(blocks)
    )
    candidates = [candidate for candidate in listed if candidate]
    in_markdown = [
        candidate for candidate in candidates if candidate.family == "markdown"
    ]
    if len(in_markdown) >= 2:
        return _markdown_outline(in_markdown)
    candidates = [
        candidate for candidate in candidates if candidate.family != "markdown"
    ]
    candidates = _without_names_of_chapters(candidates)
    candidates = _without_contents(candidates, text)
    candidates = _without_stray_numerals(candidates, text)
    has_chapters = any(candidate.rank is Rank.CHAPTER for candidate in candidates)
    if not has_chapters and len(candidates) <= _MOST_PARTS:
        candidates = _with_unnumbered(candidates, text)
    levels = _levels(candidates)
    titles = _titles(candidates, blocks)
    return Outline(
        tuple(
            ChapterStart(candidate.index, title.words, level, title.blocks)
            for candidate, level, title in zip(candidates, levels, titles, strict=True)
        )
    )


def _markdown_outline(candidates: list[Candidate]) -> Outline:
    """Markdown states levels. A single top heading at the start is the book's title."""
    highest = min(candidate.level for candidate in candidates)
    first, *others = candidates
    title = ""
    if (
        first.level == highest < min(other.level for other in others)
        and len(others) >= 2
    ):
        title = first.title
        candidates = others
        highest = min(candidate.level for candidate in candidates)
    chapters = (
        ChapterStart(candidate.index, candidate.title, candidate.level - highest + 1)
        for candidate in candidates
    )
    return Outline(tuple(chapters), title)


def _levels(candidates: list[Candidate]) -> list[int]:
    """Parts above chapters above sections; each kind of part has a level of its own."""
    containers = (
        candidate.family for candidate in candidates if candidate.rank is Rank.CONTAINER
    )
    level_of_part = {
        family: level for level, family in enumerate(dict.fromkeys(containers), 1)
    }
    has_chapters = any(candidate.rank is Rank.CHAPTER for candidate in candidates)
    below_parts = len(level_of_part) + 1
    # An epilogue with chapters of its own stands beside the parts, like a prologue.
    level_of_rank = {
        Rank.NAMED: 1,
        Rank.CHAPTER: below_parts,
        Rank.SECTION: below_parts + has_chapters,
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
        if candidate.bare and candidate.number
    }
    return [
        candidate
        for candidate in candidates
        if not (candidate.rank is Rank.NAMED and candidate.index - 1 in numbered)
    ]


def _without_contents(candidates: list[Candidate], text: _Text) -> list[Candidate]:
    """Drop the entries of a table of contents.

    Many headings in a row, up to the first entry's second occurrence.
    """
    kept: list[Candidate] = []
    first = 0
    while first < len(candidates):
        last = first
        while (
            last + 1 < len(candidates)
            and text.characters_under(candidates, last) < _ENTRY_CHARACTERS
        ):
            last += 1
        run = candidates[first : last + 1]
        if _are_entries(run, text):
            is_followed = text.characters_under(candidates, last) >= _ENTRY_CHARACTERS
            run = _true_headings(run) if is_followed else []
        kept += run
        first = last + 1
    return kept


def _are_entries(run: list[Candidate], text: _Text) -> bool:
    index = run[0].index
    is_headed = any(
        start < index and text.characters(start, index) < _MOST_BEFORE_ENTRIES
        for start in text.contents
    )
    chapters = sum(candidate.rank is not Rank.CONTAINER for candidate in run)
    return chapters >= _FEWEST_ENTRIES or (is_headed and len(run) > 1)


def _true_headings(run: list[Candidate]) -> list[Candidate]:
    """The headings after the entries of a table of contents.

    They begin at the first entry's second occurrence, else at the last with a part right above.
    """
    first, *others = run
    for i, candidate in enumerate(others, start=1):
        if _is_named_alike(candidate, first):
            return run[i:]
    *_, before, last = run
    has_part = before.rank is Rank.CONTAINER and last.rank is not Rank.CONTAINER
    return [before, last] if has_part else [last]


def _is_named_alike(heading: Candidate, entry: Candidate) -> bool:
    """Whether a heading and an entry name one chapter, even if their wording differs."""
    if (heading.rank, heading.number) != (entry.rank, entry.number):
        return False
    return heading.number is not None or heading.family == entry.family


def _without_stray_numerals(
    candidates: list[Candidate], text: _Text
) -> list[Candidate]:
    """Keep numerals without a keyword only in sequence.

    Years, page numbers and the pronoun "I" are not headings.
    """
    numerals = [
        candidate for candidate in candidates if candidate.family in headings.NUMERALS
    ]
    others = [
        candidate
        for candidate in candidates
        if candidate.family not in headings.NUMERALS
    ]
    keywords = sum(candidate.rank is Rank.CHAPTER for candidate in others)
    longest: list[Candidate] = []
    for style in dict.fromkeys(candidate.family for candidate in numerals):
        sequence = _sequence(
            [candidate for candidate in numerals if candidate.family == style]
        )
        if len(sequence) > len(longest) and _is_plausible(
            style, sequence, keywords, text
        ):
            longest = sequence
    rank = Rank.SECTION if keywords >= 2 else Rank.CHAPTER
    chosen = [replace(candidate, rank=rank) for candidate in longest]
    return _in_order([*others, *chosen])


def _sequence(candidates: list[Candidate]) -> list[Candidate]:
    """The numerals that count up, also by chapter, with at most one missing."""
    chosen: list[Candidate] = []
    expected = 1
    for candidate in candidates:
        starts_again = candidate.number == 1 and expected > 2
        if candidate.number in (expected, expected + 1) or starts_again:
            chosen.append(candidate)
            expected = (candidate.number or 0) + 1
    return chosen


def _is_plausible(
    style: str, sequence: list[Candidate], keywords: int, text: _Text
) -> bool:
    if len(sequence) < _FEWEST_NUMERALS:
        return False
    mean = text.characters(sequence[0].index) / len(sequence)
    if mean < _LEAST_BETWEEN_NUMERALS:
        return False
    if style == "digits":
        are_pages = (
            len(sequence) > _MANY_NUMERALS and mean < _CHARACTERS_OF_A_PRINTED_PAGE
        )
        return not keywords and not are_pages
    return not keywords or style.startswith("roman")


def _with_unnumbered(candidates: list[Candidate], text: _Text) -> list[Candidate]:
    """In a book without numbered chapters: lines that its contents name, or in capitals."""
    with_entries = _with_entries(candidates, text)
    if len(with_entries) > len(candidates):
        return with_entries
    return _with_capitals(candidates, text)


def _with_entries(candidates: list[Candidate], text: _Text) -> list[Candidate]:
    """Add the lines that the table of contents names."""
    if not text.contents:
        return candidates
    entries, end = _entries(text, text.contents[0] + 1)
    known = {candidate.index for candidate in candidates}
    lines = [
        _line_heading(index, block, "entry")
        for index, block in enumerate(text.blocks)
        if index >= end and index not in known and _is_entry(block, entries)
    ]
    if len(lines) < _FEWEST_UNNUMBERED:
        return candidates
    after_contents = (candidate for candidate in candidates if candidate.index >= end)
    return _in_order([*after_contents, *lines])


def _entries(text: _Text, first: int) -> tuple[set[str], int]:
    """The entries of the table of contents that begins at a block, and the block after it."""
    entries: set[str] = set()
    index = first
    while index < len(text.blocks):
        lines = text.blocks[index].lines
        may_be_table = len(lines) >= _FEWEST_LINES_OF_A_TABLE
        limit = _TABLE_CHARACTERS if may_be_table else _ENTRY_CHARACTERS
        if text.characters(index, index + 1) >= limit:
            break
        keys = {headings.entry_key(line) for line in lines} - {""}
        if keys <= entries:
            break  # The first heading named by the contents
        entries |= keys
        index += 1
    return entries, index


def _is_entry(block: TextBlock, entries: set[str]) -> bool:
    if len(block.lines) > _MOST_LINES_OF_AN_ENTRY:
        return False
    key = headings.entry_key(" ".join(block.lines))
    return key in entries and len(headings.entry_key(block.text)) >= _SHORTEST_ENTRY


def _line_heading(index: int, block: TextBlock, family: str) -> Candidate:
    title = one_line(block.text).strip("_")
    return Candidate(index, Rank.CHAPTER, family, number=None, title=title, bare=False)


def _with_capitals(candidates: list[Candidate], text: _Text) -> list[Candidate]:
    """Add the lines in capitals that stand alone over text."""
    known = {candidate.index for candidate in candidates}
    lines = [
        _line_heading(index, block, "capitals")
        for index, block in enumerate(text.blocks)
        if index not in known
        and headings.is_capitals(block)
        and not headings.is_contents(block)
    ]
    merged = _in_order([*candidates, *lines])
    chosen = [
        candidate
        for i, candidate in enumerate(merged)
        if candidate.family == "capitals"
        and text.characters_under(merged, i) >= _LEAST_AFTER_CAPITALS
    ]
    if len(chosen) < _FEWEST_UNNUMBERED:
        return candidates
    return _in_order([*candidates, *chosen])


def _in_order(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: candidate.index)


@dataclass(frozen=True, slots=True)
class _Title:
    words: str
    blocks: int  # Of which it is made


def _titles(candidates: list[Candidate], blocks: Sequence[TextBlock]) -> list[_Title]:
    """The title of each heading, with the subtitle in the block below it."""
    taken = {candidate.index for candidate in candidates}
    below = {c.index: _short_line_below(c, taken, blocks) for c in candidates}
    bare = [
        c for c in candidates if c.bare and c.rank in (Rank.CHAPTER, Rank.CONTAINER)
    ]
    with_line_below = sum(below[candidate.index] is not None for candidate in bare)
    always = with_line_below >= max(_FEWEST_SUBTITLES, len(bare) * _LEAST_WITH_SUBTITLE)
    titles = []
    for candidate in candidates:
        line = None if candidate.rank is Rank.NAMED else below[candidate.index]
        if line and (always or headings.may_be_subtitle(line)):
            subtitle = one_line(line.text).strip("_ ")
            joint = " " if candidate.title[-1] in ".:—–" else ". "
            titles.append(_Title(candidate.title + joint + subtitle, blocks=2))
        else:
            titles.append(_Title(candidate.title.strip("_ "), blocks=1))
    return titles


def _short_line_below(
    candidate: Candidate, taken: set[int], blocks: Sequence[TextBlock]
) -> TextBlock | None:
    """The line below a number without a title, which may be the title."""
    index = candidate.index + 1
    if not candidate.bare or index in taken or index >= len(blocks):
        return None
    if not headings.is_short_line(blocks[index]):
        return None
    return blocks[index]
