"""What the classes of a style sheet mean for words: italic, bold, small capitals and the like.

Converters write `<span class="calibre5">` and say in a style sheet that it is italic. Only rules for one class are
read (`.name`, `span.name`), which is what they write; a selector of more parts, and all that sets pages, colours or
sizes, is passed over. Fetches nothing: it is given the text of a sheet.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gistread.book.model import Style

MOST_CHARACTERS = 1_000_000
"""Of a sheet; what is larger is no style sheet of a book."""

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_OF_A_CLASS = re.compile(r"([a-z][a-z0-9]*)?\.(-?[_a-z][\w-]*)", re.IGNORECASE)
_DECLARATIONS: tuple[tuple[re.Pattern[str], Style], ...] = tuple(
    (re.compile(rf"(?:^|;)\s*{pattern}", re.IGNORECASE), style)
    for pattern, style in (
        (r"font-style\s*:\s*(?:italic|oblique)", Style.EMPHASIS),
        # Dots beside the words are how Chinese and Japanese stress.
        (r"(?:-[a-z]+-)?text-emphasis(?:-style)?\s*:\s*(?!none)\S", Style.EMPHASIS),
        (r"font-weight\s*:\s*(?:bold|[6-9]00)", Style.STRONG),
        (r"text-decoration(?:-line)?\s*:[^;]*underline", Style.UNDERLINE),
        (r"text-decoration(?:-line)?\s*:[^;]*line-through", Style.STRIKE),
        (r"vertical-align\s*:\s*(?:super|text-top)", Style.SUPERSCRIPT),
        (r"vertical-align\s*:\s*sub\b", Style.SUBSCRIPT),
        (r"font-variant(?:-caps)?\s*:[^;]*small-caps", Style.SMALL_CAPITALS),
    )
)
_UNDONE: tuple[tuple[re.Pattern[str], Style], ...] = tuple(
    (re.compile(rf"(?:^|;)\s*{pattern}", re.IGNORECASE), style)
    for pattern, style in (
        (r"font-style\s*:\s*normal", Style.EMPHASIS),
        (r"font-weight\s*:\s*(?:normal|[1-5]00)", Style.STRONG),
        (r"text-decoration(?:-line)?\s*:\s*none", Style.UNDERLINE),
        (r"vertical-align\s*:\s*baseline", Style.SUPERSCRIPT),
        (r"vertical-align\s*:\s*baseline", Style.SUBSCRIPT),
    )
)

INHERITED = frozenset((Style.EMPHASIS, Style.STRONG, Style.SMALL_CAPITALS))
"""What a block hands down to the words in it."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What declarations add to the style of words, and what they take from what the element means by itself."""

    adds: frozenset[Style] = frozenset()
    undoes: frozenset[Style] = frozenset()


Sheet = Mapping[str, Meaning]
"""By class, as `.name` for any element and `span.name` for one; names of elements in lower case."""


def meaning_of(declarations: str) -> Meaning:
    """What a `style` attribute, or the inside of a rule, says of words."""
    return Meaning(
        frozenset(style for pattern, style in _DECLARATIONS if pattern.search(declarations)),
        frozenset(style for pattern, style in _UNDONE if pattern.search(declarations)),
    )


def read_sheet(text: str) -> Sheet:
    """The classes of a style sheet that mean something for words."""
    if len(text) > MOST_CHARACTERS:
        return {}
    found: dict[str, Meaning] = {}
    for rule in _COMMENT.sub("", text).split("}"):
        before, _, declarations = rule.rpartition("{")
        meaning = meaning_of(declarations) if before else Meaning()
        if meaning == Meaning():
            continue
        # Before the selectors there may be an `@import ...;`, or the beginning of an `@media` around the rule.
        for selector in before.rpartition("{")[2].rpartition(";")[2].split(","):
            match = _OF_A_CLASS.fullmatch(selector.strip())
            if match:
                name = f"{(match[1] or '').lower()}.{match[2]}"
                found[name] = _both(found.get(name, Meaning()), meaning)
    return found


def together(sheets: Iterable[Sheet]) -> Sheet:
    """The sheets of a document as one: what comes later has the last word."""
    found: dict[str, Meaning] = {}
    for sheet in sheets:
        for name, meaning in sheet.items():
            found[name] = _both(found.get(name, Meaning()), meaning)
    return found


def _both(earlier: Meaning, later: Meaning) -> Meaning:
    return Meaning(earlier.adds - later.undoes | later.adds, earlier.undoes - later.adds | later.undoes)
