"""The contents of a book as a tree: filter, fold, and go to a chapter."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from gistread.book.formats.numerals import parse_number
from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.search.tokens import folded as without_diacritics
from gistread.tui.commands import own_keys
from gistread.tui.progress import reading_time
from gistread.tui.reading.position import ReadingPosition
from gistread.tui.screens.listing import RowsPanel
from gistread.tui.text import Block, Clicked, LongText, clean

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

    @cached_property
    def _words(self) -> list[int]:
        return [count_words(self.book.text[chapter.start : chapter.end]) for chapter in self.book.chapters]

    @cached_property
    def _ends(self) -> list[int]:
        ends = list(range(1, len(self.parents) + 1))
        for index in range(len(self.parents) - 1, -1, -1):
            parent = self.parents[index]
            if parent is not None:
                ends[parent] = max(ends[parent], ends[index])
        return ends

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

    def fold_everything(self, *, fold: bool) -> None:
        self.folded = set(self._with_children) if fold else set()

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

    def words(self, index: int) -> int:
        return sum(self._words[index : self._ends[index]])

    def holds(self, index: int, places: Iterable[tuple[int, int]]) -> int:
        start, end = self.extent(index)
        return sum(first < end and start < last for first, last in places)

    def extent(self, index: int) -> tuple[int, int]:
        """Start and end of a chapter and its descendants."""
        return self.book.chapters[index].start, self.book.chapters[self._ends[index] - 1].end


def _plain(text: str) -> str:
    return without_diacritics(text.casefold())


_ALL_READ = 0.97  # share from which a chapter counts as read: its last lines need not leave the screen
_STEP = 2  # indent of a chapter under its parent, in cells


class ContentsScreen(RowsPanel[int | None]):
    """Dismissed with the index of a chapter."""

    BINDINGS = own_keys(
        ("escape", "leave", "Close"),
        ("ctrl+home", "edge(False)"),
        ("ctrl+end", "edge(True)"),
        ("left", "fold"),
        ("right", "unfold"),
        ("shift+left", "fold_all(True)"),
        ("shift+right", "fold_all(False)"),
        priority=True,
    )

    def __init__(
        self,
        tree: ContentsTree,
        place: int,
        words_per_minute: float,
        position: ReadingPosition,
        shown: tuple[tuple[int, int], ...],
    ) -> None:
        """`place`: offset of the view; `shown`: places given to the model for the last answer."""
        super().__init__()
        self._position = position
        self._shown = shown
        self._tree = tree
        self._words_per_minute = words_per_minute
        self._here = tree.book.chapter_index(place)
        self._lines: list[Node] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="contents-panel"):
            yield Static(clean(self._tree.book.title or "Contents"), classes="panel-title", markup=False)
            yield Input(
                placeholder="Type to filter · ← → fold, with Shift all · Enter", compact=True, id="contents-filter"
            )
            yield LongText(cursor=True, side_margin=0, id="rows")

    def on_mount(self) -> None:
        self._draw(self._here)

    def _draw(self, cursor: int) -> None:
        self._lines = self._tree.nodes(self.wanted)
        shown = {node.index for node in self._lines}
        # Mark where the person is: the chapter itself, or the folded one that contains it.
        here = next((index for index in (self._here, *self._tree.above(self._here)) if index in shown), None)
        if self._lines:
            self.rows.show([self._block(node, here) for node in self._lines], keep_position=False)
            at = next((index for index in (cursor, *self._tree.above(cursor)) if index in shown), self._lines[0].index)
            self.rows.set_cursor(at, scroll=False)
            self.rows.scroll_to_key(at, top=0.4)
        else:
            self.rows.show([Block("No chapter is called that.", style="muted", blank_before=0)], keep_position=False)

    def _block(self, node: Node, here: int | None) -> Block:
        tree = self._tree
        share = self._position.share_read(*tree.extent(node.index))
        read = "read" if share >= _ALL_READ else f"{max(1, round(100 * share))}%" if share > 0 else ""
        minutes = reading_time(tree.words(node.index) / max(1.0, self._words_per_minute))
        you = "← you" if node.index == here else ""
        marker = ("▸" if node.is_folded else "▾") if node.has_children else ""
        shown = tree.holds(node.index, self._shown)
        model = f"■ {shown} given to the model" if shown else ""
        tail = "  ".join(filter(None, (model, you, f"{read:>4}", f"{minutes:>8} ")))
        return Block(
            tree.book.chapters[node.index].title or "Untitled",
            key=node.index,
            style="strong" if node.index == here else "text",
            indent=_STEP * (node.depth + 1),
            hanging=" " * (_STEP * node.depth) + marker if marker else "",
            tail=tail,
            blank_before=0,
        )

    @on(Input.Changed, "#contents-filter")
    def _filtered(self) -> None:
        chapters = range(len(self._tree.book.chapters)) if self.wanted.strip() else ()
        self._draw(next((index for index in chapters if self._tree.matches(index, self.wanted)), self._here))

    @property
    def _at(self) -> int:
        key = self.rows.cursor_key
        return key if isinstance(key, int) else self._here

    @property
    def _node(self) -> Node | None:
        return None if self.wanted.strip() else next((one for one in self._lines if one.index == self._at), None)

    def action_edge(self, last: bool) -> None:
        if self._lines:
            self.rows.set_cursor(self._lines[-1 if last else 0].index)

    def action_fold(self) -> None:
        if (node := self._node) is None:
            return
        if node.has_children and not node.is_folded:
            self._toggle(node.index)
        elif (parent := next(self._tree.above(node.index), None)) is not None:
            self.rows.set_cursor(parent)

    def action_unfold(self) -> None:
        if (node := self._node) is None or not node.has_children:
            return
        if node.is_folded:
            self._toggle(node.index)
        else:
            self.rows.move_cursor(1)

    def action_fold_all(self, fold: bool) -> None:
        self._tree.fold_everything(fold=fold)
        self._draw(self._at)

    def _toggle(self, index: int) -> None:
        self._tree.toggle(index)
        top = self.rows.scroll_offset.y
        self._draw(index)
        self.rows.scroll_to(y=top, animate=False, force=True)

    @on(Input.Submitted, "#contents-filter")
    def _entered(self) -> None:
        if self._lines:
            self.dismiss(self._at)

    @on(Clicked, "#rows")
    def _clicked(self, event: Clicked) -> None:
        if not isinstance(event.block_key, int):
            return
        if event.offset_in_block is None and event.block_key in {one.index for one in self._lines if one.has_children}:
            self._toggle(event.block_key)
        else:
            self.dismiss(event.block_key)
