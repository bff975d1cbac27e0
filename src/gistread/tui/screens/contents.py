"""The contents of a book as a tree: filter, fold, and go to a chapter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from textual import on

from gistread.book.model import Book
from gistread.book.numbers import parse_number
from gistread.search.tokens import folded as without_diacritics
from gistread.tui.commands import own_keys
from gistread.tui.progress import reading_time
from gistread.tui.reading.position import ReadingPosition
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Clicked

_ALL_OPEN = 60  # a book with more chapters starts folded except for the current part


@dataclass(frozen=True, slots=True)
class Node:
    index: int  # Index of the chapter
    depth: int  # Number of ancestors
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

    def above(self, index: int) -> Iterator[int]:
        parent = self.parents[index]
        while parent is not None:
            yield parent
            parent = self.parents[parent]

    def fold_all_but(self, here: int) -> None:
        """Fold a long tree, except for the ancestors of the chapter `here`."""
        if len(self.book.chapters) <= _ALL_OPEN:
            return
        self.folded = self._with_children - {here, *self.above(here)}
        # A book is often one part with all chapters in it: unfold whole levels while they fit.
        for level in sorted({self.book.chapters[index].level for index in self.folded}):
            before = set(self.folded)
            self.folded -= {index for index in before if self.book.chapters[index].level == level}
            if len(self.nodes()) > _ALL_OPEN:
                self.folded = before
                return

    def toggle(self, index: int) -> None:
        self.folded ^= {index} & self._with_children

    def nodes(self, wanted: str = "") -> list[Node]:
        """The visible lines; with a filter, the chapters that match and their ancestors."""
        chapters, folded = range(len(self.book.chapters)), set() if wanted.strip() else self.folded
        if wanted.strip():
            found = {index for index in chapters if self.matches(index, wanted)}
            shown = found | {above for index in found for above in self.above(index)}
        else:
            shown = {index for index in chapters if folded.isdisjoint(self.above(index))}
        return [
            Node(index, sum(1 for _ in self.above(index)), index in self._with_children, index in folded)
            for index in sorted(shown)
        ]

    def matches(self, index: int, wanted: str) -> bool:
        """Whether the title has all words; `4` also finds `IV` and `Four`."""
        title = _plain(self.book.chapters[index].title)
        numbers = {parse_number(word.strip(".:")) for word in title.split()}
        return all(word in title or (word.isdecimal() and int(word) in numbers) for word in _plain(wanted).split())


def _plain(text: str) -> str:
    return without_diacritics(text.casefold())


_ALL_READ = 0.97  # share from which a chapter counts as read: its last lines need not leave the screen
_STEP = 2  # indent of a chapter under its parent, in cells


class ContentsScreen(ListScreen[int]):
    """Dismissed with the index of a chapter."""

    KEYS = (("left", "fold(True)", "fold"), ("right", "fold(False)", "unfold"))
    BINDINGS = own_keys(*KEYS, priority=True)
    ENTER = "go there"
    TALL = True

    def __init__(
        self,
        tree: ContentsTree,
        place: int,
        words_per_minute: float,
        position: ReadingPosition,
        shown: tuple[tuple[int, int], ...],
    ) -> None:
        """`place`: offset of the view; `shown`: places given to the model for the last answer."""
        self._here = tree.book.chapter_index(place)
        super().__init__(tree.book.title or "Contents", at=self._here, placeholder="type to find a chapter")
        self._position = position
        self._given = shown
        self._tree = tree
        self._words_per_minute = words_per_minute

    def rows_for(self, typed: str) -> Sequence[Row[int]]:
        nodes = self._tree.nodes(typed)
        here = self._nearest(self._here, {node.index for node in nodes})
        return [self._row(node, is_here=node.index == here) for node in nodes]

    def show_rows(self, at: int | None) -> None:
        """Put the cursor on the first chapter that matches, or on this one, or on the folded one that contains it."""
        shown = {node.index for node in self._tree.nodes(self.typed)}
        matching = (index for index in sorted(shown) if at is None and self._tree.matches(index, self.typed))
        super().show_rows(next(matching, None) if at is None else self._nearest(at, shown))

    def _nearest(self, index: int, shown: set[int]) -> int | None:
        return next((one for one in (index, *self._tree.above(index)) if one in shown), None)

    def _row(self, node: Node, *, is_here: bool) -> Row[int]:
        book, chapter = self._tree.book, self._tree.book.chapters[node.index]
        start, end = chapter.start, book.chapter_end(node.index)
        share = self._position.share_read(start, end)
        read = "read" if share >= _ALL_READ else f"{max(1, round(100 * share))}%" if share > 0 else ""
        words = book.words * (end - start) / max(1, len(book.text))
        minutes = reading_time(words / max(1.0, self._words_per_minute))
        given = sum(first < end and start < last for first, last in self._given)
        model = f"■ {given} given to the model" if given else ""
        marker = ("▸" if node.is_folded else "▾") if node.has_children else ""
        return Row(
            node.index,
            chapter.title or "Untitled",
            tail="  ".join(filter(None, (model, "← you" if is_here else "", f"{read:>4}", f"{minutes:>8} "))),
            indent=_STEP * (node.depth + 1),
            hanging=" " * (_STEP * node.depth) + marker if marker else "",
        )

    @property
    def _node(self) -> Node | None:
        """The chapter under the cursor, in a tree that can be folded."""
        nodes = () if self.typed else self._tree.nodes()
        return next((one for one in nodes if one.index == self.chosen), None)

    def action_fold(self, fold: bool) -> None:
        """Fold or unfold the chapter; where that is done already, go to its parent or first child."""
        if (node := self._node) is None:
            return
        if node.has_children and node.is_folded is not fold:
            self._tree.toggle(node.index)
            self.show_rows(node.index)
        elif not fold and node.has_children:
            self.list.move_cursor(1)
        elif fold and (parent := next(self._tree.above(node.index), None)) is not None:
            self.show_rows(parent)

    @on(Clicked, "#rows")
    def _fold_clicked(self, event: Clicked) -> None:
        """A click on the sign before a title folds."""
        node = self._node
        if event.offset_in_block is None and node is not None and node.has_children:
            event.prevent_default()
            self._tree.toggle(node.index)
            self.show_rows(node.index)
