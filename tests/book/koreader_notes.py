"""Highlights of an EPUB as KOReader stores them, made with nothing of gistread.

Paths and characters are those of its engine: white space in a run counts once, and is no text node
between blocks. Pages where text nodes of white space stand between inline elements are left out.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.dom import minidom

from tests.book.cfi_resolver import Resolver

_BLOCKS = frozenset(
    """address article aside blockquote body caption dd div dl dt figcaption figure footer h1 h2 h3
    h4 h5 h6 header hgroup hr li main nav ol p pre section table tbody td tfoot th thead tr
    ul""".split()
)
_LEFT_OUT = frozenset("head math script style svg".split())
_WORD = re.compile(r"\w+")
_SPACE = re.compile(r"[ \t\r\n]+")
# Characters around a highlight that tell it from others with the same words
_CONTEXT = 60


@dataclass(frozen=True)
class Highlight:
    start: str  # XPointers
    end: str
    text: str
    before: str  # What stands around it, to check where it is found
    after: str

    def as_lua(self, number: int) -> str:
        """The entry of `metadata.epub.lua`."""
        text = self.text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\\n")
        return f"""
        [{number}] = {{
            ["chapter"] = "",
            ["color"] = "yellow",
            ["datetime"] = "2026-03-04 10:10:{number % 60:02}",
            ["drawer"] = "lighten",
            ["page"] = "{self.start}",
            ["pos0"] = "{self.start}",
            ["pos1"] = "{self.end}",
            ["text"] = "{text}",
        }},"""


def as_metadata(title: str, highlights: list[Highlight]) -> str:
    """The file that KOReader keeps beside a book."""
    entries = "".join(each.as_lua(number) for number, each in enumerate(highlights, 1))
    return f"""-- book.sdr/metadata.epub.lua
return {{
    ["annotations"] = {{{entries}
    }},
    ["doc_props"] = {{
        ["title"] = "{title}",
    }},
    ["percent_finished"] = 0.5,
}}
"""


def random_highlights(path: Path, count: int, seed: int) -> list[Highlight]:
    """From one word to some lines long, each at another place."""
    chance = random.Random(seed)
    pages = [page for page in _pages(path) if len(page.words) > _CONTEXT]
    sizes = [len(page.words) for page in pages]
    made: dict[str, Highlight] = {}
    while len(made) < count:
        (page,) = chance.choices(pages, sizes)
        first = chance.randrange(len(page.words))
        last = min(len(page.words) - 1, first + chance.choice((0, 1, 3, 10, 40)))
        highlight = page.highlight(page.words[first][0], page.words[last][1])
        made[highlight.start] = highlight
    return list(made.values())


@dataclass
class _Page:
    """The text of one document as the engine has it, with the path of each text node."""

    fragment: int
    text: str = ""
    starts: list[int] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    # Without text nodes of white space whose number might be another
    is_plain: bool = True

    @property
    def words(self) -> list[tuple[int, int]]:
        return [word.span() for word in _WORD.finditer(self.text)]

    def highlight(self, start: int, end: int) -> Highlight:
        return Highlight(
            self._pointer(start),
            self._pointer(end - 1, extra=1),
            self.text[start:end],
            self.text[max(0, start - _CONTEXT) : start],
            self.text[end : end + _CONTEXT],
        )

    def _pointer(self, offset: int, extra: int = 0) -> str:
        number = max(at for at, start in enumerate(self.starts) if start <= offset)
        within = offset - self.starts[number] + extra
        return f"/body/DocFragment[{self.fragment}]{self.paths[number]}.{within}"

    def read(self, element: minidom.Element, path: str) -> None:
        name = element.tagName.lower()
        if name in _BLOCKS:
            self._break()
        children = list(_children(element))
        names = [_name(child) for child in children]
        totals, so_far = Counter(names), Counter[str]()
        for child, child_name in zip(children, names, strict=True):
            so_far[child_name] += 1
            number = f"[{so_far[child_name]}]" if totals[child_name] > 1 else ""
            below = f"{path}/{child_name}{number}"
            if isinstance(child, minidom.Element):
                if child_name not in _LEFT_OUT:
                    self.read(child, below)
            else:
                self._add(child, below, is_block=name in _BLOCKS)
        if name in _BLOCKS or name == "br":
            self._break()

    def _add(self, written: str, path: str, *, is_block: bool) -> None:
        text = _SPACE.sub(" ", written)
        if text == " " and not is_block:
            self.is_plain = False
        self.starts.append(len(self.text))
        self.paths.append(path)
        self.text += text

    def _break(self) -> None:
        if self.text and not self.text.endswith("\n"):
            self.text += "\n"


def _children(element: minidom.Element) -> Iterator[minidom.Element | str]:
    """Elements and texts; comments part no text here, and white space beside a block is none."""
    items: list[minidom.Element | str] = []
    for child in element.childNodes:
        if isinstance(child, minidom.Text):
            joined = items.pop() if items and isinstance(items[-1], str) else ""
            items.append(f"{joined}{child.data}")
        elif isinstance(child, minidom.Element):
            items.append(child)
    is_block = element.tagName.lower() in _BLOCKS
    has_blocks = any(_name(item) in _BLOCKS for item in items)
    for item in items:
        is_white = isinstance(item, str) and not item.strip(" \t\r\n")
        if not (is_white and is_block and has_blocks):
            yield item


def _name(child: minidom.Element | str) -> str:
    return "text()" if isinstance(child, str) else child.tagName.lower()


def _pages(path: Path) -> Iterator[_Page]:
    for number, root in enumerate(Resolver(path).documents(), 1):
        page = _Page(number)
        bodies = root.getElementsByTagName("body")
        if bodies:
            page.read(bodies[0], "/body")
        if page.is_plain:
            yield page
