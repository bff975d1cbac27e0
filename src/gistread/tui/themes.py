"""Themes: TOML files of the package and the user.

A colour is `#rrggbb`, or one of the terminal's by name.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from textual.theme import Theme

# Required roles and their purpose, unless the theme extends another.
NEEDED = {
    "background": "behind the book",
    "surface": "behind the memory and panels",
    "panel": "behind the status line, keys and inputs",
    "text": "the book's own words",
    "muted": "words about words: page numbers, notes",
    "accent": "keys, and what can be acted on",
    "rule": "lines and scroll bars; no text",
    "cursor": "behind the row the cursor is on",
    "mark": "behind words that a source or a search points to",
    "success": "something went well",
    "warning": "something to look at",
    "error": "something is wrong",
}
# Backgrounds of highlights: the hue that tints them, and the terminal's colour for them
HIGHLIGHTS = {
    "highlight-yellow": ("#e0b400", "yellow"),
    "highlight-green": ("#2fa84f", "green"),
    "highlight-blue": ("#3a8fd0", "cyan"),
    "highlight-red": ("#d0527f", "magenta"),
}
# Optional roles: their purpose, and what they are derived from
DERIVED = {
    "link": "words that lead somewhere; else accent",
    "emphasis": "words the author stressed, in italics; else text",
    "on-mark": "text on cursor, mark and highlights; else text",
    "faint": (
        "the quietest words: counters, sources' places, what keys do; "
        "else muted, nearer to the ground"
    ),
    "highlight-yellow": "behind highlighted words, mostly yellow",
    "highlight-green": "mostly green",
    "highlight-blue": "mostly blue",
    "highlight-red": "mostly red",
}
ROLES = (*NEEDED, *DERIVED)
GROUND_ROLES = ("background", "surface", "panel")
_BASIC_COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
TERMINAL_COLORS = (
    "default",
    *_BASIC_COLORS,
    *(f"bright-{color}" for color in _BASIC_COLORS),
)

_LEAST_CONTRAST = 7.0
_FAINT_CONTRAST = 4.6
# Textual's variables for each role. Textual would blend them from primary and foreground, and lose
# the contrast that was checked.
_TEXTUAL = {
    "text": ("text", "input-cursor-background", "ansi-foreground"),
    "muted": ("text-muted", "text-disabled", "scrollbar-hover"),
    "accent": ("text-primary", "text-accent", "border", "scrollbar-active"),
    "success": ("text-success",),
    "warning": ("text-warning",),
    "error": ("text-error",),
    "rule": ("border-blurred", "scrollbar"),
    "cursor": ("block-cursor-background", "block-cursor-blurred-background"),
    "panel": ("block-hover-background",),
    "background": (
        "scrollbar-background",
        "scrollbar-background-hover",
        "scrollbar-background-active",
        "scrollbar-corner-color",
        "input-cursor-foreground",
        "ansi-background",
    ),
}


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a theme, by role."""

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
        colors = {role: _textual_color(color) for role, color in self.colors.items()}
        variables = {f"gr-{role}": color for role, color in colors.items()}
        for role, names in _TEXTUAL.items():
            variables |= dict.fromkeys(names, colors[role])
        variables |= self._cursor_variables(colors)
        return Theme(
            name=self.name,
            primary=colors["accent"],
            secondary=colors["muted"],
            accent=colors["accent"],
            foreground=colors["text"],
            background=colors["background"],
            surface=colors["surface"],
            panel=colors["panel"],
            success=colors["success"],
            warning=colors["warning"],
            error=colors["error"],
            dark=self.dark,
            text_alpha=1.0,
            variables=variables,
            ansi=self.terminal,
        )

    def _cursor_variables(self, colors: Mapping[str, str]) -> dict[str, str]:
        """Variables of cursors and selections. `colors`: Textual's names of them, by role."""
        cursor_style = span_style = "none"
        on_cursor = colors["on-mark"]
        selection = colors["cursor"]
        # Unlike any highlight, since a selection may overlap one.
        text_selection = colors["accent"]
        on_text_selection = colors["background"]
        if self.terminal:
            # Reversed text and background are readable in every terminal; another of its colours
            # may not be.
            cursor_style = "reverse"
            span_style = "underline"
            on_cursor = colors["text"]
            selection = text_selection = colors["mark"]
            on_text_selection = colors["on-mark"]
        return {
            "gr-cursor-style": cursor_style,
            "gr-span-style": span_style,
            "block-cursor-foreground": on_cursor,
            "block-cursor-text-style": cursor_style,
            "block-cursor-blurred-foreground": on_cursor,
            "block-cursor-blurred-text-style": cursor_style,
            "input-cursor-text-style": cursor_style,
            "input-selection-background": selection,
            "input-selection-foreground": colors["on-mark"],
            "screen-selection-background": text_selection,
            "screen-selection-foreground": on_text_selection,
        }


def _textual_color(color: str) -> str:
    """Textual's name of a colour: `bright-red` of the terminal is `ansi_bright_red`."""
    if color.startswith("#"):
        return color
    return f"ansi_{color.replace('-', '_')}"


def completed(colors: Mapping[str, str]) -> dict[str, str]:
    """The colours of all roles: those of `DERIVED` that are missing are derived."""
    derived = {
        "link": colors["accent"],
        "emphasis": colors["text"],
        "on-mark": colors["text"],
        "faint": _faint(colors),
    }
    all_colors = derived | dict(colors)
    for role in HIGHLIGHTS:
        if role not in all_colors:
            ground, text = all_colors["background"], all_colors["on-mark"]
            all_colors[role] = _highlight(role, ground, text)
    return {role: all_colors[role] for role in ROLES}


# sRGB (IEC 61966-2-1): its curve begins with a straight line. Relative luminance (WCAG 2.2)
_MOST_OF_A_COLOR = 255
_END_OF_LINE, _SLOPE = 0.04045, 12.92
_OFFSET, _GAMMA = 0.055, 2.4
_LUMINANCE_WEIGHTS = (0.2126, 0.7152, 0.0722)  # Red, green, blue
_FLARE = 0.05  # Light of the room that a screen reflects


@lru_cache
def contrast(first: str, second: str) -> float:
    """Contrast ratio of two `#rrggbb` colours, from 1 to 21 (WCAG 2.2, 1.4.3)."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + _FLARE) / (dark + _FLARE)


def _highlight(role: str, ground: str, text: str) -> str:
    """The strongest tint of the ground on which the text can be read."""
    hue, of_terminal = HIGHLIGHTS[role]
    if not _are_exact(ground, text):
        return of_terminal
    for percent in range(45, 5, -5):  # Of the hue: from the strongest tint on
        tint = _blended(ground, hue, percent / 100)
        if contrast(tint, text) >= _LEAST_CONTRAST:
            return tint
    return ground


def _faint(colors: Mapping[str, str]) -> str:
    """The muted colour, as near to the background as can be read on every ground."""
    muted, background = colors["muted"], colors["background"]
    grounds = [colors[role] for role in (*GROUND_ROLES, "cursor")]
    if not _are_exact(muted, *grounds):
        return muted
    for percent in range(60, 0, -2):  # Of the background: from the faintest colour on
        tint = _blended(muted, background, percent / 100)
        least_contrast = min(contrast(tint, ground) for ground in grounds)
        if least_contrast >= _FAINT_CONTRAST:
            return tint
    return muted


def _are_exact(*colors: str) -> bool:
    """Whether no colour is the terminal's own."""
    return all(color.startswith("#") for color in colors)


def _blended(first: str, second: str, share: float) -> str:
    """The colour that has `share` of the second, and the rest of the first."""
    parts = zip(_rgb(first), _rgb(second), strict=True)
    blended = bytes(round(own + (other - own) * share) for own, other in parts)
    return f"#{blended.hex()}"


def _rgb(color: str) -> bytes:
    """Red, green and blue of `#rrggbb`, each from 0 to 255."""
    digits = color.removeprefix("#")
    return bytes.fromhex(digits)


def _luminance(color: str) -> float:
    """The relative luminance of `#rrggbb`, from 0 to 1 (WCAG 2.2)."""
    parts = [_linear(part / _MOST_OF_A_COLOR) for part in _rgb(color)]
    weighted = zip(_LUMINANCE_WEIGHTS, parts, strict=True)
    return sum(weight * part for weight, part in weighted)


def _linear(value: float) -> float:
    """The light of a part of an sRGB colour, both 0 to 1 (IEC 61966-2-1)."""
    if value <= _END_OF_LINE:
        return value / _SLOPE
    linear: float = ((value + _OFFSET) / (1 + _OFFSET)) ** _GAMMA
    return linear


DEFAULT, LIGHT = "night", "paper"

_HEX = re.compile(r"#[0-9a-fA-F]{6}")  # #1a2B3c
# The name of a theme: solarized-dark
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_KEYS = ("name", "title", "dark", "extends", "colors")


def read_themes(*folders: Path) -> tuple[dict[str, Palette], list[str]]:
    """Themes by name, dark ones first, and a line for each invalid file.

    Later folders replace earlier ones.
    """
    palettes: dict[str, Palette] = {}
    problems: list[str] = []
    for folder in folders:
        palettes |= _read_folder(folder, palettes, problems)
    if not palettes:
        # The installation is broken, but the screen must still appear.
        palettes[DEFAULT] = _plain_palette()
    ordered = sorted(palettes.values(), key=_place_in_list)
    return {palette.name: palette for palette in ordered}, problems


def _place_in_list(palette: Palette) -> tuple[object, ...]:
    """Dark themes, light ones, then those of the terminal; the default one is first."""
    return palette.terminal, not palette.dark, palette.name != DEFAULT, palette.title


def _plain_palette() -> Palette:
    """White on black."""
    colors = dict.fromkeys(NEEDED, "#ffffff")
    colors |= dict.fromkeys((*GROUND_ROLES, "cursor", "mark"), "#000000")
    colors["rule"] = "#808080"
    return Palette(DEFAULT, "Plain", True, completed(colors))


def _read_folder(
    folder: Path, earlier: Mapping[str, Palette], problems: list[str]
) -> dict[str, Palette]:
    """The themes of a folder; they may extend those of earlier folders.

    Adds a line to `problems` for each invalid file.
    """
    palettes: dict[str, Palette] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            palette = _read_theme(path, earlier)
        except OSError as error:
            problems.append(f"Theme {path.name}: {error.strerror or error}.")
        except (ValueError, TypeError) as error:
            # The errors of TOML and UTF-8 are ValueErrors.
            problems.append(f"Theme {path.name}: {error}")
        else:
            palettes[palette.name] = palette
    return palettes


def _read_theme(path: Path, earlier: Mapping[str, Palette]) -> Palette:
    """Raises OSError, ValueError and, for a wrong type in the file, TypeError."""
    table = tomllib.loads(path.read_text("utf-8-sig"))
    extended: Any = table.get("extends")
    base = earlier.get(extended)
    if extended is not None and base is None:
        names = ", ".join(sorted(earlier))
        raise ValueError(f"it extends unknown theme {extended!r}. Themes: {names}.")
    name = table.get("name", path.stem)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("the name may have letters, digits and dashes only.")
    return _palette(name, table, base)


def _palette(name: str, table: Mapping[str, Any], base: Palette | None) -> Palette:
    """The theme of a table. Raises ValueError with a message for the user."""
    if unknown := sorted(set(table) - set(_KEYS)):
        raise ValueError(f"unknown key {unknown[0]!r}. Keys: {', '.join(_KEYS)}.")
    own_colors = _own_colors(table, is_extension=base is not None)
    title = table.get("title", name)
    dark = table.get("dark", base.dark if base else False)
    if not isinstance(title, str) or not isinstance(dark, bool):
        raise ValueError("title must be a text, dark must be true or false.")
    inherited: dict[str, str] = {}
    if base is not None:
        inherited = {
            role: color
            for role, color in base.colors.items()
            if _is_inherited(role, own_colors)
        }
    return Palette(name, title, dark, completed(inherited | own_colors))


def _own_colors(table: Mapping[str, Any], *, is_extension: bool) -> dict[str, str]:
    """The colours that a theme sets itself. Raises ValueError with a message for the user.

    `is_extension`: whether it takes others from another theme.
    """
    colors = table.get("colors")
    if colors is None and is_extension:
        colors = {}  # It may change the title alone.
    if not isinstance(colors, dict):
        raise ValueError(f"[colors] is missing: a table of {', '.join(NEEDED)}.")
    for role, color in colors.items():
        _check_color(role, color)
    if not is_extension:
        _check_complete(colors)
    return colors


def _check_color(role: object, color: object) -> None:
    """Raises ValueError with a message for the user."""
    if role not in ROLES:
        near = difflib.get_close_matches(str(role), ROLES, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        roles = ", ".join(ROLES)
        raise ValueError(f"unknown colour {role!r}.{meant} Colours: {roles}.")
    is_exact = isinstance(color, str) and _HEX.fullmatch(color)
    if not is_exact and color not in TERMINAL_COLORS:
        names = ", ".join(TERMINAL_COLORS)
        raise ValueError(
            f"the colour {role!r} is {color!r}; "
            f"it must be #rrggbb, or one of the terminal's own: {names}."
        )


def _check_complete(colors: Mapping[str, object]) -> None:
    """Raises ValueError with a message for the user."""
    missing = [role for role in NEEDED if role not in colors]
    if not missing:
        return
    first = missing[0]
    purpose = NEEDED[first]
    more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
    needed = ", ".join(NEEDED)
    raise ValueError(
        f"the colour {first!r} ({purpose}) is missing{more}. "
        f'All are needed: {needed}; or begin with extends = "{DEFAULT}".'
    )


def _is_inherited(role: str, own: Mapping[str, str]) -> bool:
    """Whether a theme takes this colour from its base, rather than from its `own` colours.

    A colour that is derived from a changed one is derived anew.
    """
    derived_from = {
        "link": "accent",
        "emphasis": "text",
        "on-mark": "text",
        "faint": "muted",
    }
    if role in HIGHLIGHTS:
        changes_ground_or_text = any(
            other in own for other in ("background", "text", "on-mark")
        )
        return not changes_ground_or_text
    source = derived_from.get(role)
    return source is None or source not in own
