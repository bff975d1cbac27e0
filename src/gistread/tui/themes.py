"""Themes: one TOML file each, from the package and from the person's folder.

A theme is a dozen named colours, and from them comes everything Textual wants to know. A file that cannot be
used is a notice, never a crash. Nothing here knows screens.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from textual.theme import Theme

DEFAULT = "night"

ROLES = (
    "background",
    "surface",
    "panel",
    "text",
    "muted",
    "accent",
    "rule",
    "cursor",
    "mark",
    "success",
    "warning",
    "error",
)
TEXT_ROLES = ("text", "muted", "accent", "success", "warning", "error")
GROUND_ROLES = ("background", "surface", "panel", "cursor", "mark")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, slots=True)
class Palette:
    """A theme as its file gives it."""

    name: str
    title: str
    dark: bool
    colors: dict[str, str]
    """Role to `#rrggbb`, every role of `ROLES`."""

    def theme(self) -> Theme:
        """As Textual wants it. Variables that begin with `gr-` are ours."""
        c = self.colors
        variables = {f"gr-{role}": color for role, color in c.items()}
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
            "block-cursor-foreground": c["text"],
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-background": c["cursor"],
            "block-cursor-blurred-foreground": c["text"],
            "block-hover-background": c["panel"],
            "input-cursor-background": c["text"],
            "input-cursor-foreground": c["background"],
            "input-selection-background": c["cursor"],
            "screen-selection-background": c["mark"],
            "screen-selection-foreground": c["text"],
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
        )


def packaged_themes() -> Path:
    """The folder that comes with gistread: inside the package, or beside `src/` in an editable install."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent.parent / "themes"


def read_themes(*folders: Path) -> tuple[dict[str, Palette], list[str]]:
    """Every theme by name, a later folder's before an earlier one's, and one line for each file that is no theme."""
    found: dict[str, Palette] = {}
    problems: list[str] = []
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            try:
                palette = _read(path)
            except (OSError, ValueError) as error:
                problems.append(f"Theme {path.name}: {error}")
            else:
                found[palette.name] = palette
    if not found:
        # Reached when the installation is broken; the screen must come up all the same.
        fallback = dict.fromkeys(ROLES, "#ffffff") | dict.fromkeys(GROUND_ROLES, "#000000") | {"rule": "#808080"}
        found[DEFAULT] = Palette(DEFAULT, "Plain", True, fallback)
    return found, problems


def defaults() -> dict[str, str]:
    """What our variables are before a theme is set, for Textual's parsing of the style sheet."""
    return {f"gr-{role}": "#808080" for role in ROLES}


@lru_cache
def contrast(first: str, second: str) -> float:
    """Contrast ratio of two `#rrggbb` colours, from 1 to 21 (WCAG 2.2, 1.4.3)."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _read(path: Path) -> Palette:
    """Raises OSError or ValueError (TOML's error is one), its text fit for the person."""
    table = tomllib.loads(path.read_text("utf-8"))
    colors = table.get("colors", {})
    if not isinstance(colors, dict):
        raise ValueError("[colors] is missing.")
    for role in ROLES:
        if role not in colors:
            raise ValueError(f"the colour {role!r} is missing.")
        if not isinstance(colors[role], str) or not _HEX.fullmatch(colors[role]):
            raise ValueError(f"the colour {role!r} is not of the form #rrggbb.")
    if unknown := sorted(set(colors) - set(ROLES)):
        raise ValueError(f"there is no colour {unknown[0]!r}; there are {', '.join(ROLES)}.")
    name = table.get("name", path.stem)
    if not isinstance(name, str) or not name:
        raise ValueError("the name is not a text.")
    title, dark = table.get("title", name), table.get("dark", False)
    if not isinstance(title, str) or not isinstance(dark, bool):
        raise ValueError("title must be a text, dark must be true or false.")
    return Palette(name, title, dark, {role: colors[role] for role in ROLES})
