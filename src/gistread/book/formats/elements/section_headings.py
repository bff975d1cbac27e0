"""Decides which headings of a marked-up text start chapters, their levels, and which belong together."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from gistread.book.builder import ChapterStart
from gistread.book.formats.headings import Candidate, Rank, heading_candidate
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.model import ParagraphKind
from gistread.book.normalise import join_title, one_line


@dataclass(frozen=True)
class HeadingParagraph:
    index: int
    text: str
    size: int  # 1 is the largest

    @cached_property
    def candidate(self) -> Candidate | None:
        """Its number and rank, by its words."""
        return heading_candidate(self.index, TextBlock((one_line(self.text),), ParagraphKind.TEXT, 1))


_BYLINE = re.compile(r"(?:by|von|par|de|di|av|от|translated|edited|illustrated|a novel|written)\b", re.IGNORECASE)
_CHAPTER_LEVELS = 3  # Deeper headings stay inside chapters
# Number, title, subtitle and the like.
_MOST_TOGETHER = 4
_MOST_ON_TITLE_PAGE = 8
_LONGEST_TITLE = 300


def find_chapters(headings: Sequence[HeadingParagraph], title: str, authors: Sequence[str]) -> tuple[ChapterStart, ...]:
    """The chapters that these headings start, in order, without the book's `title` and `authors` at the start."""
    runs: list[list[HeadingParagraph]] = []
    for one in headings:
        if runs and runs[-1][-1].index + 1 == one.index:
            runs[-1].append(one)
        else:
            runs.append([one])
    if not runs:
        return ()
    # Sizes of headings that usually follow text, not a larger heading.
    under = Counter(one.size for run in runs for before, one in pairwise(run) if before.size < one.size)
    following = Counter(one.size for run in runs for one in run) - under
    alone = frozenset(size for size, count in following.items() if count >= under[size])
    if _is_title(runs, title):
        runs[0] = _without_title_page(runs[0], alone, frozenset(map(_letters, authors)))
    groups = [group for run in runs if run for group in _groups(run, alone)]
    keys = _keys([group[0] for group in groups])
    levels = {key: level for level, key in enumerate(sorted(set(keys)), start=1)}
    return tuple(
        ChapterStart(group[0].index, _title(group), levels[key])
        for group, key in zip(groups, keys, strict=True)
        if levels[key] <= _CHAPTER_LEVELS
    )


def _is_title(runs: list[list[HeadingParagraph]], title: str) -> bool:
    """Whether the first run is the title page: the book's title, or the only heading of the largest size."""
    first = runs[0][0]
    if len(runs) < 2 or len(runs[0]) > _MOST_ON_TITLE_PAGE:
        return False
    if _letters(first.text) and _letters(first.text) == _letters(title):
        return True
    sizes = [one.size for run in runs for one in run]
    is_largest = first.size == min(sizes) and sizes.count(first.size) == 1
    return is_largest and first.index < 2 and first.candidate is None and len(sizes) > 2


def _without_title_page(
    run: list[HeadingParagraph], alone: frozenset[int], authors: frozenset[str]
) -> list[HeadingParagraph]:
    """The headings of the first run that follow title and authors and belong to a chapter."""
    is_name = False
    for at, one in enumerate(run[1:], start=1):
        byline = _BYLINE.match(one.text)
        if one.candidate:
            return run[at:]
        stands_alone = one.size in alone and one.size > run[0].size
        if stands_alone and not (byline or is_name or _letters(one.text) in authors):
            return run[at:]
        # "By" with the name in a separate heading.
        is_name = byline is not None and byline.end() == len(one.text.rstrip())
    return []


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _groups(run: list[HeadingParagraph], alone: frozenset[int]) -> list[list[HeadingParagraph]]:
    groups = [[run[0]]]
    for one in run[1:]:
        before = groups[-1][0]
        deeper = one.size > before.size and one.size in alone
        wider = one.size < before.size
        if deeper or wider or _starts_division(before.candidate, one.candidate) or len(groups[-1]) == _MOST_TOGETHER:
            groups.append([one])
        else:
            groups[-1].append(one)
    return groups


def _starts_division(before: Candidate | None, one: Candidate | None) -> bool:
    """Whether `one` starts a division of its own, as CHAPTER I under BOOK ONE."""
    if before is None or one is None or one.number is None:
        return False
    return before.rank < one.rank or (before.rank is one.rank and before.family == one.family)


def _keys(firsts: list[HeadingParagraph]) -> list[tuple[int, int]]:
    ranks = {(one.size, one.candidate.rank) for one in firsts if one.candidate and one.candidate.number is not None}
    keys: list[tuple[int, int]] = []
    inside = False
    for one in firsts:
        below = 0
        if {(one.size, Rank.CONTAINER), (one.size, Rank.CHAPTER)} <= ranks:
            if one.candidate and one.candidate.rank in (Rank.CONTAINER, Rank.NAMED):
                inside = one.candidate.rank is Rank.CONTAINER
            else:
                below = int(inside)
        keys.append((one.size, below))
    return keys


def _title(group: list[HeadingParagraph]) -> str:
    parts = [one_line(one.text) for one in group]
    text = join_title(parts)
    return text if len(text) <= _LONGEST_TITLE else parts[0][:_LONGEST_TITLE]
