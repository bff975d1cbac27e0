"""A web page for an agent: its interactive elements, and the snippets that contain them.

Pure data.
"""

from dataclasses import dataclass
from enum import StrEnum

from gistread.engine.protocol import Usage


class Operation(StrEnum):
    """The operations of Mind2Web."""

    CLICK = "click"
    TYPE = "type"
    SELECT = "select"


@dataclass(frozen=True, slots=True)
class Element:
    index: int  # From 1, in the order of the page
    tag: str
    role: str  # For people: `link`, `button`, `text field`, `list`, …
    name: str  # Its label, text or placeholder; may be empty
    # Identifying attributes: id, name, type, href, value
    attributes: tuple[tuple[str, str], ...]
    xpath: str  # Selects only this element in the file
    operations: tuple[Operation, ...]  # Legal operations, at least one
    options: tuple[str, ...] = ()  # The options of a list

    @property
    def heading(self) -> str:
        name = f' "{self.name}"' if self.name else ""
        return f"[{self.index}] {self.role}{name}"

    @property
    def label(self) -> str:
        if self.options:
            return f"{self.heading}: {' | '.join(self.options)}"
        return self.heading


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of the page: neighbouring elements of its tree. Corresponds to a page of a book."""

    number: int  # From 1
    text: str  # Lines of text and of interactive elements with their indices
    words: int
    elements: tuple[int, ...]  # Indices of its interactive elements


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page in snippets. Every element is in exactly one."""

    title: str
    elements: tuple[Element, ...]
    snippets: tuple[Snippet, ...]

    @property
    def words(self) -> int:
        return sum(snippet.words for snippet in self.snippets)

    def element(self, index: int) -> Element:
        return self.elements[index - 1]

    def snippet(self, number: int) -> Snippet:
        return self.snippets[number - 1]


@dataclass(frozen=True, slots=True)
class Action:
    element: Element
    operation: Operation
    value: str  # The text typed or option selected; empty for a click
    lookups: tuple[int, ...]  # Snippets that the model opened, in order
    shown: tuple[int, ...]  # Snippets that the model saw, as gists or in full
    compression_rate: float  # 100·(1 − words in context ÷ words of the page)
    usage: Usage
