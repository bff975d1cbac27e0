"""Decides which heading candidates of a plain text are headings, and their levels.

Drops tables of contents.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
_FEWEST_CAPITALS = 3
_CHARACTERS_OF_A_PRINTED_PAGE = 2600


def outline(blocks: Sequence[TextBlock]) -> Outline:
    found = [
        c for c in (headings.heading_candidate(i, block) for i, block in enumerate(blocks)) if c
    ]
    sizes = [0, *accumulate(sum(map(len, block.lines)) for block in blocks)]
    markdown = [c for c in found if c.family == "markdown"]
    if len(markdown) >= 2:
        return _markdown_outline(markdown)
    found = [c for c in found if c.family != "markdown"]
    # "Conclusion" may be the title of the "CHAPTER LIII" above it.
    numbered = {c.index for c in found if c.bare and c.number}
    found = [c for c in found if not (c.rank is Rank.NAMED and c.index - 1 in numbered)]
    found = _without_contents(found, blocks, sizes)
    found = _without_stray_numerals(found, sizes)
    # With more parts, the parts are the chapters, as the books of the Odyssey.
    if not any(c.rank is Rank.CHAPTER for c in found) and len(found) <= 5:
        named = _with_entries(found, blocks, sizes)
        found = named if len(named) > len(found) else _with_capitals(found, blocks, sizes)
    containers = [c.family for c in found if c.rank is Rank.CONTAINER]
    order = {family: n for n, family in enumerate(dict.fromkeys(containers), 1)}
    has_chapters = any(c.rank is Rank.CHAPTER for c in found)
    below = len(order) + 1
    # An epilogue with chapters of its own stands beside the parts, like a prologue.
    by_rank = {Rank.CHAPTER: below, Rank.SECTION: below + has_chapters, Rank.NAMED: 1}
    levels = [order[c.family] if c.rank is Rank.CONTAINER else by_rank[c.rank] for c in found]
    titled = _with_subtitles(found, blocks)
    return Outline(
        tuple(
            ChapterStart(c.index, title, level, count)
            for c, level, (title, count) in zip(found, levels, titled, strict=True)
        )
    )


def _markdown_outline(found: list[Candidate]) -> Outline:
    """Markdown states levels. A single top heading at the start is the book's title."""
    highest = min(c.level for c in found)
    tops = [c for c in found if c.level == highest]
    title = ""
    if len(tops) == 1 and found[0] is tops[0] and len(found) > 2:
        title = tops[0].title
        found = found[1:]
        highest = min(c.level for c in found)
    return Outline(
        tuple(ChapterStart(c.index, c.title, c.level - highest + 1) for c in found), title
    )


def _characters_after(found: list[Candidate], i: int, sizes: list[int]) -> int:
    end = found[i + 1].index if i + 1 < len(found) else len(sizes) - 1
    return sizes[end] - sizes[found[i].index + 1]


def _key(c: Candidate) -> tuple[Rank, str, int | None]:
    """A key shared by a heading and its contents entry, even if their wording differs."""
    return c.rank, c.family if c.number is None else "", c.number


def _without_contents(
    found: list[Candidate], blocks: Sequence[TextBlock], sizes: list[int]
) -> list[Candidate]:
    """Drop the entries of a table of contents.

    Many headings in a row, up to the first entry's second occurrence.
    """
    starts = [i for i, block in enumerate(blocks) if headings.is_contents(block)]
    kept: list[Candidate] = []
    i = 0
    while i < len(found):
        j = i
        while j + 1 < len(found) and _characters_after(found, j, sizes) < _ENTRY_CHARACTERS:
            j += 1
        run = found[i : j + 1]
        headed = any(
            start < run[0].index and sizes[run[0].index] - sizes[start] < 4 * _ENTRY_CHARACTERS
            for start in starts
        )
        chapters = sum(c.rank is not Rank.CONTAINER for c in run)
        if (headed and len(run) > 1) or chapters >= 4:
            run = _true_headings(
                run, followed=_characters_after(found, j, sizes) >= _ENTRY_CHARACTERS
            )
        kept += run
        i = j + 1
    return kept


def _true_headings(run: list[Candidate], *, followed: bool) -> list[Candidate]:
    if not followed:
        return []
    first = _key(run[0])
    for i in range(1, len(run)):
        if _key(run[i]) == first:
            return run[i:]
    i = len(run) - 1
    while i > 0 and run[i - 1].rank is Rank.CONTAINER and run[i].rank is not Rank.CONTAINER:
        i -= 1
    return run[i:]


def _without_stray_numerals(found: list[Candidate], sizes: list[int]) -> list[Candidate]:
    """Keep numerals without a keyword only in sequence.

    Years, page numbers and the pronoun "I" are not headings.
    """
    keywords = sum(c.rank is Rank.CHAPTER and c.family not in headings.NUMERALS for c in found)
    styles = dict.fromkeys(c.family for c in found if c.family in headings.NUMERALS)
    sequences = {style: _sequence([c for c in found if c.family == style]) for style in styles}
    plausible = (
        sequence
        for style, sequence in sequences.items()
        if _is_plausible(style, sequence, keywords, sizes)
    )
    rank = Rank.SECTION if keywords >= 2 else Rank.CHAPTER
    chosen = {c.index for c in max(plausible, key=len, default=[])}
    return [
        replace(c, rank=rank) if c.index in chosen else c
        for c in found
        if c.family not in headings.NUMERALS or c.index in chosen
    ]


def _sequence(found: list[Candidate]) -> list[Candidate]:
    chosen: list[Candidate] = []
    expected = 1
    for c in found:
        if c.number in (expected, expected + 1) or (c.number == 1 and expected > 2):
            chosen.append(c)
            expected = (c.number or 0) + 1
    return chosen


def _is_plausible(style: str, sequence: list[Candidate], keywords: int, sizes: list[int]) -> bool:
    if len(sequence) < 3:
        return False
    mean = (sizes[-1] - sizes[sequence[0].index]) / len(sequence)
    if mean < _ENTRY_CHARACTERS * 2:
        return False
    if style == "digits":
        # Page numbers left in a scan: many, and a printed page apart.
        return not keywords and not (len(sequence) > 30 and mean < _CHARACTERS_OF_A_PRINTED_PAGE)
    return not keywords or style.startswith("roman")


def _with_entries(
    found: list[Candidate], blocks: Sequence[TextBlock], sizes: list[int]
) -> list[Candidate]:
    """In a book without numbered chapters: lines named by its table of contents."""
    start = next((i for i, block in enumerate(blocks) if headings.is_contents(block)), None)
    if start is None:
        return found
    entries: set[str] = set()
    i = start + 1
    while i < len(blocks) and sizes[i + 1] - sizes[i] < _ENTRY_CHARACTERS * (
        1 if len(blocks[i].lines) < 3 else 20
    ):
        keys = {headings.entry_key(line) for line in blocks[i].lines} - {""}
        if keys <= entries:
            break  # the first heading named by the contents
        entries |= keys
        i += 1
    known = {c.index for c in found}
    lines = [
        _line_heading(n, blocks[n], "entry")
        for n in range(i, len(blocks))
        if n not in known
        and len(blocks[n].lines) <= 2
        and headings.entry_key(" ".join(blocks[n].lines)) in entries
        if len(headings.entry_key(blocks[n].text)) >= 3
    ]
    if len(lines) < _FEWEST_CAPITALS:
        return found
    return sorted([*(c for c in found if c.index >= i), *lines], key=lambda c: c.index)


def _line_heading(index: int, block: TextBlock, family: str) -> Candidate:
    return Candidate(index, Rank.CHAPTER, family, None, one_line(block.text).strip("_"), False)


def _with_capitals(
    found: list[Candidate], blocks: Sequence[TextBlock], sizes: list[int]
) -> list[Candidate]:
    """In a book without numbered chapters: lines in capitals that stand alone over text."""
    known = {c.index for c in found}
    lines = [
        _line_heading(i, block, "capitals")
        for i, block in enumerate(blocks)
        if i not in known and headings.is_capitals(block) and not headings.is_contents(block)
    ]
    merged = sorted([*found, *lines], key=lambda c: c.index)
    chosen = [
        c
        for i, c in enumerate(merged)
        if c.family == "capitals" and _characters_after(merged, i, sizes) >= 2 * _ENTRY_CHARACTERS
    ]
    if len(chosen) < _FEWEST_CAPITALS:
        return found
    return sorted([*found, *chosen], key=lambda c: c.index)


def _with_subtitles(found: list[Candidate], blocks: Sequence[TextBlock]) -> list[tuple[str, int]]:
    taken = {c.index for c in found}
    bare = [c for c in found if c.bare and c.rank in (Rank.CHAPTER, Rank.CONTAINER)]
    following = [
        c
        for c in bare
        if _has_next(c, blocks, taken) and headings.is_short_line(blocks[c.index + 1])
    ]
    # If a short line follows nearly every chapter, those lines are the titles.
    always = len(following) >= max(4, len(bare) * 0.8)
    result = []
    for c in found:
        fits = c.bare and c.rank is not Rank.NAMED and _has_next(c, blocks, taken)
        after = blocks[c.index + 1] if fits else None
        if after and headings.is_short_line(after) and (always or headings.may_be_subtitle(after)):
            subtitle = one_line(after.text).strip("_ ")
            joint = " " if c.title[-1] in ".:—–" else ". "
            result.append((c.title + joint + subtitle, 2))
        else:
            result.append((c.title.strip("_ "), 1))
    return result


def _has_next(c: Candidate, blocks: Sequence[TextBlock], taken: set[int]) -> bool:
    return c.index + 1 < len(blocks) and c.index + 1 not in taken
