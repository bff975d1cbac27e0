"""MemWalker's walk down the tree from the whole book to pages, with the branches it left."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from gistread.readers.events import (
    Branched,
    LookedUp,
    ReaderEvent,
    Refused,
    Stopped,
    TreeBranch,
    TurnedBack,
    Unfit,
    Walked,
)
from gistread.tui.text import Span
from gistread.tui.work.lines import Places, ToPage, WorkLine, numbered, pages_words, short
from gistread.units import counted

Node = tuple[int, int, int]  # level, first and last page
_TOP: Node = (-1, 0, 0)
_SUMMARY = 54  # characters of a summary that are shown


@dataclass(frozen=True, slots=True)
class Walk:
    # Events that other readers show as steps
    SHOWS: ClassVar[tuple[type, ...]] = (LookedUp, Unfit, Refused)
    parts: dict[Node, tuple[TreeBranch, ...]] = field(default_factory=dict)  # The branches of each visited node
    path: tuple[Node, ...] = (_TOP,)  # From the top to the current node
    walked: frozenset[Node] = frozenset()
    left: frozenset[Node] = frozenset()
    unfit: dict[int, float] = field(default_factory=dict)  # Share read of each page that does not fit the window
    refused: frozenset[int] = frozenset()  # Pages, by the person
    over: bool = False

    def after(self, event: ReaderEvent) -> "Walk":
        match event:
            case Branched(parts=parts):
                return replace(self, parts={**self.parts, self.path[-1]: parts})
            case Walked(level=level, first=first, last=last):
                node = level, first, last
                return replace(self, path=(*self.path, node), walked=self.walked | {node})
            case TurnedBack(level=level, first=first, last=last):
                node = level, first, last
                path = self.path[: self.path.index(node)] if node in self.path else self.path
                return replace(self, path=path, left=self.left | {node})
            case Refused(pages=pages):
                return replace(self, refused=self.refused.union(pages))
            case Unfit(page=page, shown=shown):
                return replace(self, unfit={**self.unfit, page: shown})
            case Stopped():
                return replace(self, over=True)
        return self

    @property
    def current(self) -> Node:
        return self.path[-1]

    def summary(self) -> str:
        pages = sum(node[0] == 0 and self.unfit.get(node[1], 1.0) > 0 for node in self.walked)
        left = sum(node[0] > 0 for node in self.left)
        way = " ▸ ".join(pages_words(first, last) for _, first, last in self.path[1:])
        back = "down the tree, and up again" if self.walked else "at the top of the tree"
        said = [f"down the tree: {way}" if way else back, f"{counted(pages, 'page')} read"]
        return " · ".join([*said, *([f"{counted(left, 'part')} left again"] if left else [])])

    def lines(self, places: Places) -> list[WorkLine]:
        top = self.parts.get(_TOP, ())
        pages = pages_words(top[0].first, top[-1].last) if top else ""
        here = "" if self.over or self.path != (_TOP,) else "here: choosing a part"
        return [WorkLine(_TOP, f"the whole book  {pages}", tail=here), *self._below(_TOP, 1)]

    def _below(self, node: Node, depth: int) -> Iterator[WorkLine]:
        here = node == self.path[-1] and not self.over
        passed: list[TreeBranch] = []
        for part in self.parts.get(node, ()):
            key = part.level, part.first, part.last
            if key in self.walked or here or self.refused.issuperset(range(part.first, part.last + 1)):
                yield self._line(key, part, depth)
                if key in self.walked:
                    yield from self._below(key, depth + 1)
            else:
                passed.append(part)
        if passed and len(passed) < len(self.parts[node]):
            pages = numbered("page", [page for part in passed for page in range(part.first, part.last + 1)])
            yield WorkLine(("passed", *node), f"{pages}, not gone into", "·", depth, ToPage(passed[0].first))

    def _line(self, key: Node, part: TreeBranch, depth: int) -> WorkLine:
        sign, state = self._state(key)
        pages = ", ".join(filter(None, (pages_words(part.first, part.last), state)))
        text = f"{pages}  {short(part.summary, _SUMMARY - 2 * depth - len(state))}"
        spans = (Span(0, len(pages), "strong"),) if key in self.path else ()
        return WorkLine(key, text, sign, depth, ToPage(part.first), spans=spans)

    def _state(self, key: Node) -> tuple[str, str]:
        if self.refused.issuperset(range(key[1], key[2] + 1)):
            return "×", "refused by you"
        is_page = key[0] == 0
        shown = self.unfit.get(key[1], 1.0) if is_page else 1.0
        if not shown:
            return "×", "does not fit the model's window"
        read = "read" if shown == 1.0 else f"read to {shown:.0%}, no more fits"
        if key in self.left:
            return "×", f"{read}: no answer in it" if is_page else "left: no answer in it"
        if key not in self.walked:
            return "·", ""
        if key == self.path[-1] and not self.over:
            return "▸", f"being {read}" if is_page else "here: choosing"
        return "▸", f"{read}: it helps" if is_page else "gone into"
