"""What a page of the web is to an agent: elements that can be acted on, and snippets that they stand in.

Data alone. How a file becomes it, and how an action is chosen, other modules know.
"""

from dataclasses import dataclass
from enum import StrEnum

from gistread.engine.protocol import Usage


class Operation(StrEnum):
    """What can be done with an element (Mind2Web's three)."""

    CLICK = "click"
    TYPE = "type"
    SELECT = "select"


@dataclass(frozen=True, slots=True)
class Element:
    """Something on the page that a person could act on."""

    index: int
    """From 1, in the order of the page."""
    tag: str
    role: str
    """What it is to a person: `link`, `button`, `text field`, `list`, …"""
    name: str
    """Its words: label, text or placeholder; empty where it has none."""
    attributes: tuple[tuple[str, str], ...]
    """Those that tell it from others: id, name, type, href, value."""
    xpath: str
    """Selects this element alone in the file."""
    css: str
    """Likewise, for a browser."""
    operations: tuple[Operation, ...]
    """What is legal with it; at least one."""
    options: tuple[str, ...] = ()
    """Of a list: what can be selected, in words."""

    @property
    def told(self) -> str:
        """As it stands in a snippet."""
        name = f' "{self.name}"' if self.name else ""
        options = f": {' | '.join(self.options)}" if self.options else ""
        return f"[{self.index}] {self.role}{name}{options}"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of the page: neighbours in its tree of elements. What a page is to a book."""

    number: int
    """From 1."""
    text: str
    """Lines of words and of elements that can be acted on, each of these with its index."""
    words: int
    elements: tuple[int, ...]
    """Indices of the elements in it."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page, in snippets. Every element stands in exactly one."""

    title: str
    elements: tuple[Element, ...]
    snippets: tuple[Snippet, ...]
    depth: int
    """Of the tree, at which it was cut into snippets."""

    @property
    def words(self) -> int:
        return sum(snippet.words for snippet in self.snippets)

    def element(self, index: int) -> Element:
        return self.elements[index - 1]

    def snippet(self, number: int) -> Snippet:
        return self.snippets[number - 1]


@dataclass(frozen=True, slots=True)
class Action:
    """The next step of a task."""

    element: Element
    operation: Operation
    value: str
    """What is typed or selected; empty for a click."""
    lookups: tuple[int, ...]
    """Snippets that the model opened, in that order."""
    shown: tuple[int, ...]
    """Snippets that stood before the model, shortened or in full."""
    compression_rate: float
    """100·(1 − words in context ÷ words of the page)."""
    usage: Usage
