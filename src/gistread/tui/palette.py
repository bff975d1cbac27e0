"""A theme's colours: roles, defaults derived from others, and conversion to Textual.

A colour is `#rrggbb`, or the name of one of the terminal's sixteen colours (`bright-blue`; `default` for its background
and text).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from textual.theme import Theme

NEEDED = {
    "background": "behind the book",
    "surface": "behind the memory and panels",
    "panel": "behind the status line, keys and inputs",
    "text": "the book's own words",
    "muted": "words about words: page numbers, notes",
    "accent": "headings, keys, what has the focus",
    "rule": "lines and scroll bars; no text",
    "cursor": "behind the row the cursor is on",
    "mark": "behind words that a source or a search points to",
    "success": "something went well",
    "warning": "something to look at",
    "error": "something is wrong",
}
"""Required roles and their purpose, unless the theme extends another."""
HIGHLIGHTS = ("highlight-yellow", "highlight-green", "highlight-blue", "highlight-red")
"""Backgrounds of highlights."""
DERIVED = {
    "link": "words that lead somewhere; else accent",
    "emphasis": "words the author stressed, in italics; else text",
    "on-mark": "text on cursor, mark and highlights; else text",
    "highlight-yellow": "behind highlighted words, mostly yellow",
    "highlight-green": "mostly green",
    "highlight-blue": "mostly blue",
    "highlight-red": "mostly red",
}
"""Optional roles and their purpose."""
ROLES = (*NEEDED, *DERIVED)

TEXT_ROLES = ("text", "muted", "accent", "link", "emphasis", "success", "warning", "error")
GROUND_ROLES = ("background", "surface", "panel")
MARK_ROLES = ("cursor", "mark", *HIGHLIGHTS)
TERMINAL_COLORS = (
    *("default", "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"),
    *("bright-black", "bright-red", "bright-green", "bright-yellow"),
    *("bright-blue", "bright-magenta", "bright-cyan", "bright-white"),
)

_HUES = {
    "highlight-yellow": "#e0b400",
    "highlight-green": "#2fa84f",
    "highlight-blue": "#3a8fd0",
    "highlight-red": "#d0527f",
}
_TERMINAL_HIGHLIGHTS = dict(zip(HIGHLIGHTS, ("yellow", "green", "cyan", "magenta"), strict=True))
_LEAST_CONTRAST = 7.0


@dataclass(frozen=True, slots=True)
class Palette:
    """A theme with all its colours."""

    name: str
    title: str
    dark: bool
    colors: Mapping[str, str]

    @property
    def terminal(self) -> bool:
        """Whether any colour is the terminal's own, with unknown contrast."""
        return any(color in TERMINAL_COLORS for color in self.colors.values())

    def theme(self) -> Theme:
        """The Textual theme. Variables that begin with `gr-` are ours."""
        terminal = self.terminal
        c = {role: _css(color) for role, color in self.colors.items()}
        variables = {f"gr-{role}": color for role, color in c.items()}
        # The terminal's own text and ground, exchanged, can be read in every terminal; a colour of its choice may not.
        variables["gr-cursor-style"] = "bold reverse" if terminal else "bold"
        on_cursor = c["text"] if terminal else c["on-mark"]
        # Textual derives these from primary and foreground by blending; blends lose the checked contrast.
        variables |= {
            "text": c["text"],
            "text-muted": c["muted"],
            "text-disabled": c["muted"],
            "text-primary": c["accent"],
            "text-accent": c["accent"],
            "text-warning": c["warning"],
            "text-error": c["error"],
            "text-success": c["success"],
            "border": c["accent"],
            "border-blurred": c["rule"],
            "scrollbar": c["rule"],
            "scrollbar-hover": c["muted"],
            "scrollbar-active": c["accent"],
            "scrollbar-background": c["background"],
            "scrollbar-background-hover": c["background"],
            "scrollbar-background-active": c["background"],
            "scrollbar-corner-color": c["background"],
            "block-cursor-background": c["cursor"],
            "block-cursor-foreground": on_cursor,
            "block-cursor-text-style": variables["gr-cursor-style"],
            "block-cursor-blurred-background": c["cursor"],
            "block-cursor-blurred-foreground": on_cursor,
            "block-cursor-blurred-text-style": variables["gr-cursor-style"],
            "block-hover-background": c["panel"],
            "input-cursor-background": c["text"],
            "input-cursor-foreground": c["background"],
            "input-cursor-text-style": "reverse" if terminal else "none",
            "input-selection-background": c["mark" if terminal else "cursor"],
            "input-selection-foreground": c["on-mark"],
            # Unlike any highlight: what is selected may lie on one.
            "screen-selection-background": c["mark" if terminal else "accent"],
            "screen-selection-foreground": c["on-mark" if terminal else "background"],
            "ansi-background": c["background"],
            "ansi-foreground": c["text"],
        }
        return Theme(
            name=self.name,
            primary=c["accent"],
            secondary=c["muted"],
            accent=c["accent"],
            foreground=c["text"],
            background=c["background"],
            surface=c["surface"],
            panel=c["panel"],
            success=c["success"],
            warning=c["warning"],
            error=c["error"],
            dark=self.dark,
            text_alpha=1.0,
            variables=variables,
            ansi=terminal,
        )


def variable_defaults() -> dict[str, str]:
    """Defaults of our variables, for parsing the style sheet before a theme is set."""
    return {f"gr-{role}": "#808080" for role in ROLES} | {"gr-cursor-style": "bold"}


def completed(colors: Mapping[str, str]) -> dict[str, str]:
    """Every role; missing ones of `DERIVED` are derived."""
    all_of_them = {"link": colors["accent"], "emphasis": colors["text"], "on-mark": colors["text"], **colors}
    for role in HIGHLIGHTS:
        all_of_them.setdefault(role, _highlight(role, colors["background"], all_of_them["on-mark"]))
    return {role: all_of_them[role] for role in ROLES}


@lru_cache
def contrast(first: str, second: str) -> float:
    """Contrast ratio of two `#rrggbb` colours, from 1 to 21 (WCAG 2.2, 1.4.3)."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _highlight(role: str, ground: str, text: str) -> str:
    if not (ground.startswith("#") and text.startswith("#")):
        return _TERMINAL_HIGHLIGHTS[role]
    for strength in range(45, 5, -5):
        tint = _blended(ground, _HUES[role], strength / 100)
        if contrast(tint, text) >= _LEAST_CONTRAST:
            return tint
    return ground


def _blended(first: str, second: str, share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(_rgb(first), _rgb(second), strict=True))


def _rgb(color: str) -> tuple[int, ...]:
    return tuple(int(color[at : at + 2], 16) for at in (1, 3, 5))


def _luminance(color: str) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(part / 255) for part in _rgb(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _css(color: str) -> str:
    return color if color.startswith("#") else "ansi_" + color.replace("-", "_")
