"""The shape of the memory tree (MemWalker, section 3.1): which pages belong together.

It follows the book: the pages of a chapter are joined first, then the chapters of a part, then the parts; in a series
the volumes last. Where more than eight are side by side, neighbours are grouped evenly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from gistread.book.model import Book
from gistread.memory.model import GistMemory, Page

MAX_CHILDREN = 8
"""MemWalker has 5 to 8 (Table 4)."""


@dataclass(frozen=True, slots=True)
class PageRange:
    """A page, or neighbouring ranges that belong together."""

    level: int
    """0 for a page, else one more than the highest of its children."""
    first: int
    """Number of its first page."""
    last: int
    children: tuple["PageRange", ...] = ()


def outline(memory: GistMemory) -> PageRange:
    """All pages read so far; the top has children. There must be a page."""
    paths = _paths(memory.book)
    pages = [(entry.page.number, paths[chapter_of(memory.book, entry.page)]) for entry in memory.entries]
    if memory.book.volumes:
        volumes = groupby(pages, key=lambda page: memory.book.volume_index(memory.entry(page[0]).page.start))
        top = _over([_volume(list(inside)) for _, inside in volumes])
    else:
        top = _section(pages, 0)
    return top if top.children else PageRange(1, top.first, top.last, (top,))


def chapter_of(book: Book, page: Page) -> int:
    """Index of the chapter that a page belongs to, that of its end: it may begin with the titles of parts."""
    return book.chapter_index(max(page.start, page.end - 1))


def inner_ranges(pages: PageRange) -> Iterator[PageRange]:
    """The ranges with children, each after those inside it."""
    for child in pages.children:
        yield from inner_ranges(child)
    if pages.children:
        yield pages


def group_sizes(count: int) -> list[int]:
    """Sizes of the fewest even groups of `count` neighbours, at most `MAX_CHILDREN` each."""
    parents = -(-count // MAX_CHILDREN)
    return [count // parents + (index < count % parents) for index in range(parents)] if count else []


def _paths(book: Book) -> list[tuple[int, ...]]:
    """For each chapter, the indices of the chapters around it, outermost first, and its own."""
    paths: list[tuple[int, ...]] = []
    around: list[tuple[int, int]] = []
    for index, chapter in enumerate(book.chapters):
        while around and around[-1][0] >= chapter.level:
            around.pop()
        around.append((chapter.level, index))
        paths.append(tuple(number for _, number in around))
    return paths


_Placed = tuple[int, tuple[int, ...]]
"""A page number and the path of its chapter."""


def _section(pages: Sequence[_Placed], depth: int) -> PageRange:
    """The range of neighbours that share the first `depth` steps of their paths."""
    children: list[PageRange] = []
    for step, group in groupby(pages, key=lambda page: page[1][depth : depth + 1]):
        inside = list(group)
        if step:
            children.append(_section(inside, depth + 1))
        elif len(inside) == len(pages):
            children = [PageRange(0, number, number) for number, _ in inside]
        else:  # text of a part before its first chapter
            children.append(_over([PageRange(0, number, number) for number, _ in inside]))
    return _over(children)


def _volume(pages: Sequence[_Placed]) -> PageRange:
    """A volume of a series: the shape of its own book, after its title page."""
    (title, _), *inside = pages
    page = PageRange(0, title, title)
    if not inside:
        return page
    body = _section(inside, 1)
    return PageRange(max(1, body.level), title, body.last, (page, *(body.children or (body,))))


def _over(neighbours: list[PageRange]) -> PageRange:
    """The range above these, with as many levels between as needed."""
    while len(neighbours) > MAX_CHILDREN:
        grouped: list[PageRange] = []
        at = 0
        for size in group_sizes(len(neighbours)):
            grouped.append(_parent(neighbours[at : at + size]))
            at += size
        neighbours = grouped
    return _parent(neighbours)


def _parent(children: list[PageRange]) -> PageRange:
    if len(children) == 1:
        return children[0]
    level = 1 + max(child.level for child in children)
    return PageRange(level, children[0].first, children[-1].last, tuple(children))
