"""Reads the text styles of CSS classes (`.calibre5`, `span.calibre5`): italic, bold, small capitals and the like."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gistread.book.model import Style

MOST_CHARACTERS = 1_000_000  # Larger style sheets are ignored

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_OF_A_CLASS = re.compile(r"([a-z][a-z0-9]*)?\.(-?[_a-z][\w-]*)", re.IGNORECASE)
_ADDED = (
    (r"font-style\s*:\s*(?:italic|oblique)", Style.EMPHASIS),
    # Emphasis dots in Chinese and Japanese.
    (r"(?:-[a-z]+-)?text-emphasis(?:-style)?\s*:\s*(?!none)\S", Style.EMPHASIS),
    (r"font-weight\s*:\s*(?:bold|[6-9]00)", Style.STRONG),
    (r"text-decoration(?:-line)?\s*:[^;]*underline", Style.UNDERLINE),
    (r"text-decoration(?:-line)?\s*:[^;]*line-through", Style.STRIKE),
    (r"vertical-align\s*:\s*(?:super|text-top)", Style.SUPERSCRIPT),
    (r"vertical-align\s*:\s*sub\b", Style.SUBSCRIPT),
    (r"font-variant(?:-caps)?\s*:[^;]*small-caps", Style.SMALL_CAPITALS),
)
_UNDONE = (
    (r"font-style\s*:\s*normal", Style.EMPHASIS),
    (r"font-weight\s*:\s*(?:normal|[1-5]00)", Style.STRONG),
    (r"text-decoration(?:-line)?\s*:\s*none", Style.UNDERLINE),
    (r"vertical-align\s*:\s*baseline", Style.SUPERSCRIPT),
    (r"vertical-align\s*:\s*baseline", Style.SUBSCRIPT),
)

INHERITED = frozenset((Style.EMPHASIS, Style.STRONG, Style.SMALL_CAPITALS))  # Styles that a block passes to its words


@dataclass(frozen=True, slots=True)
class StyleEffect:
    """Styles that declarations add, and those they remove."""

    adds: frozenset[Style] = frozenset()
    undoes: frozenset[Style] = frozenset()


StyleSheet = Mapping[str, StyleEffect]  # By class: `.name` for any element, `span.name` for one


def style_effect(declarations: str) -> StyleEffect:
    return StyleEffect(
        *(
            frozenset(s for pattern, s in table if re.search(rf"(?:^|;)\s*{pattern}", declarations, re.IGNORECASE))
            for table in (_ADDED, _UNDONE)
        )
    )


def read_sheet(text: str) -> StyleSheet:
    """The classes of a style sheet that affect text style."""
    if len(text) > MOST_CHARACTERS:
        return {}
    found: list[StyleSheet] = []
    for rule in _COMMENT.sub("", text).split("}"):
        before, _, declarations = rule.rpartition("{")
        meaning = style_effect(declarations) if before else StyleEffect()
        if meaning == StyleEffect():
            continue
        # An `@import ...;` or the start of an `@media` block may precede the selectors.
        for selector in before.rpartition("{")[2].rpartition(";")[2].split(","):
            match = _OF_A_CLASS.fullmatch(selector.strip())
            if match:
                found.append({f"{(match[1] or '').lower()}.{match[2]}": meaning})
    return merge_sheets(found)


def merge_sheets(sheets: Iterable[StyleSheet]) -> StyleSheet:
    found: dict[str, StyleEffect] = {}
    for sheet in sheets:
        for name, later in sheet.items():
            earlier = found.get(name, StyleEffect())
            adds, undoes = earlier.adds - later.undoes | later.adds, earlier.undoes - later.adds | later.undoes
            found[name] = StyleEffect(adds, undoes)
    return found
