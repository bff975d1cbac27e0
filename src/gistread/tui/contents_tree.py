"""The contents of a book as a tree: hierarchy, folding, and progress of each chapter."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.search.tokens import folded as without_diacritics

_ALL_OPEN = 60  # a book with more chapters starts folded, except for the current part


@dataclass(frozen=True, slots=True)
class Node:
    index: int
    """Of the chapter."""
    depth: int
    """Number of ancestors."""
    has_children: bool
    is_folded: bool


@dataclass
class ContentsTree:
    book: Book
    folded: set[int] = field(default_factory=set)

    @cached_property
    def parents(self) -> list[int | None]:
        """Parent of each chapter: the last one before it of a higher level."""
        parents: list[int | None] = []
        above: list[int] = []
        for index, chapter in enumerate(self.book.chapters):
            while above and self.book.chapters[above[-1]].level >= chapter.level:
                above.pop()
            parents.append(above[-1] if above else None)
            above.append(index)
        return parents

    @cached_property
    def _with_children(self) -> set[int]:
        return {parent for parent in self.parents if parent is not None}

    @cached_property
    def _words(self) -> list[int]:
        return [count_words(self.book.text[chapter.start : chapter.end]) for chapter in self.book.chapters]

    @cached_property
    def _ends(self) -> list[int]:
        """End index of the descendants of each chapter."""
        ends = list(range(1, len(self.parents) + 1))
        for index in range(len(self.parents) - 1, -1, -1):
            parent = self.parents[index]
            if parent is not None:
                ends[parent] = max(ends[parent], ends[index])
        return ends

    def above(self, index: int) -> Iterator[int]:
        """The ancestors of a chapter, from the nearest."""
        parent = self.parents[index]
        while parent is not None:
            yield parent
            parent = self.parents[parent]

    def fold_all_but(self, here: int) -> None:
        """Fold a long tree, except for the ancestors of the chapter `here`."""
        if len(self.book.chapters) > _ALL_OPEN:
            self.folded = self._with_children - {here, *self.above(here)}

    def toggle(self, index: int) -> None:
        if index in self._with_children:
            self.folded ^= {index}

    def fold_everything(self, *, fold: bool) -> None:
        self.folded = set(self._with_children) if fold else set()

    def nodes(self, wanted: str = "") -> list[Node]:
        """The visible lines; with a filter, chapters with all its words, and their ancestors."""
        words = _plain(wanted).split()
        chapters = self.book.chapters
        if words:
            found = {i for i, one in enumerate(chapters) if all(word in _plain(one.title) for word in words)}
            shown = found | {above for index in found for above in self.above(index)}
        else:
            shown = {i for i in range(len(chapters)) if not any(above in self.folded for above in self.above(i))}
        return [
            Node(
                index,
                sum(1 for _ in self.above(index)),
                index in self._with_children,
                not words and index in self.folded,
            )
            for index in sorted(shown)
        ]

    def matches(self, index: int, wanted: str) -> bool:
        """Whether the chapter's own title matches."""
        title = _plain(self.book.chapters[index].title)
        return all(word in title for word in _plain(wanted).split())

    def words(self, index: int) -> int:
        """Words of a chapter and its descendants."""
        return sum(self._words[index : self._ends[index]])

    def holds(self, index: int, places: Iterable[tuple[int, int]]) -> int:
        """Number of places that overlap a chapter or its descendants."""
        start, end = self.book.chapters[index].start, self.book.chapters[self._ends[index] - 1].end
        return sum(first < end and start < last for first, last in places)

    def share_read(self, index: int, place: int) -> float:
        """Share (0 to 1) of a chapter and its descendants before `place`."""
        start = self.book.chapters[index].start
        end = self.book.chapters[self._ends[index] - 1].end
        return min(1.0, max(0.0, (place - start) / max(1, end - start)))


def _plain(text: str) -> str:
    return without_diacritics(text.casefold())
