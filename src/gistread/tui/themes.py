"""Themes: TOML files from the package and from the person's folder.

A file that cannot be used becomes a line that says why.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gistread.tui.palette import DERIVED, GROUND_ROLES, MARK_ROLES, NEEDED, ROLES, TERMINAL_COLORS, Palette, completed

DEFAULT = "night"

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_KEYS = ("name", "title", "dark", "extends", "colors")


def packaged_themes() -> Path:
    """The packaged themes: inside the package, or beside `src/` in an editable install."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent.parent / "themes"


def read_themes(*folders: Path) -> tuple[dict[str, Palette], list[str]]:
    """Every theme by name, dark ones first, and one line for each file that is no theme.

    A later folder's theme replaces an earlier one's of the same name, and may extend it.
    """
    found: dict[str, Palette] = {}
    problems: list[str] = []
    for folder in folders:
        found |= _read_folder(folder, found, problems)
    if not found:
        # Reached when the installation is broken; the screen must come up all the same.
        plain = dict.fromkeys(NEEDED, "#ffffff") | dict.fromkeys((*GROUND_ROLES, "cursor", "mark"), "#000000")
        found[DEFAULT] = Palette(DEFAULT, "Plain", True, completed(plain | {"rule": "#808080"}))
    ordered = sorted(found.values(), key=lambda one: (one.terminal, not one.dark, one.name != DEFAULT, one.title))
    return {palette.name: palette for palette in ordered}, problems


def _read_folder(folder: Path, earlier: Mapping[str, Palette], problems: list[str]) -> dict[str, Palette]:
    tables: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            table = tomllib.loads(path.read_text("utf-8-sig"))
            tables[_name(table, path)] = path, table
        except OSError as error:
            problems.append(f"Theme {path.name}: {error.strerror or error}.")
        except ValueError as error:  # TOML's error and that of UTF-8 are among them
            problems.append(f"Theme {path.name}: {error}")
    found: dict[str, Palette] = {}

    def resolve(name: str, extending: tuple[str, ...]) -> Palette:
        if name in found:
            return found[name]
        _, table = tables[name]
        base = table.get("extends")
        if base is None:
            return _palette(name, table, None)
        if not isinstance(base, str):
            raise ValueError('extends must be the name of a theme, such as "night".')
        if base in extending:
            if base in earlier:
                return _palette(name, table, earlier[base])
            raise ValueError("it extends itself." if base == name else f"it extends {base!r}, which extends it.")
        if base in tables:
            return _palette(name, table, resolve(base, (*extending, base)))
        if base in earlier:
            return _palette(name, table, earlier[base])
        raise ValueError(f"it extends {base!r}, which is no theme; there are {', '.join(sorted({*earlier, *tables}))}.")

    for name, (path, _) in tables.items():
        try:
            found[name] = resolve(name, (name,))
        except ValueError as error:
            problems.append(f"Theme {path.name}: {error}")
    return found


def _name(table: Mapping[str, Any], path: Path) -> str:
    name = table.get("name", path.stem)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("the name must be of letters, digits and dashes.")
    return name


def _palette(name: str, table: Mapping[str, Any], base: Palette | None) -> Palette:
    """Raises ValueError with a message for the person."""
    if unknown := sorted(set(table) - set(_KEYS)):
        raise ValueError(f"there is no {unknown[0]!r} in a theme; there are {', '.join(_KEYS)}.")
    colors = table.get("colors", {} if base else None)
    if not isinstance(colors, dict):
        raise ValueError(f"[colors] is missing: a table of {', '.join(NEEDED)}.")
    for role, color in colors.items():
        _check(role, color)
    if base is None and (missing := [role for role in NEEDED if role not in colors]):
        raise ValueError(
            f"the colour {missing[0]!r} ({NEEDED[missing[0]]}) is missing"
            + (f", and {len(missing) - 1} more" if len(missing) > 1 else "")
            + f'. All are needed: {", ".join(NEEDED)}; or begin with extends = "{DEFAULT}".'
        )
    title, dark = table.get("title", name), table.get("dark", base.dark if base else False)
    if not isinstance(title, str) or not isinstance(dark, bool):
        raise ValueError("title must be a text, dark must be true or false.")
    given: dict[str, str] = {**colors}
    if base is not None:
        given = {role: color for role, color in base.colors.items() if _inherited(role, colors)} | given
    return Palette(name, title, dark, completed(given))


def _inherited(role: str, own: Mapping[str, str]) -> bool:
    """Whether to inherit a colour: not if the one it derives from is overridden."""
    derived_from = {"link": "accent", "emphasis": "text", "on-mark": "text"}
    if role in DERIVED and role in MARK_ROLES:
        return not {"background", "text", "on-mark"} & set(own)
    return derived_from.get(role, "") not in own


def _check(role: object, color: object) -> None:
    if role not in ROLES:
        near = difflib.get_close_matches(str(role), ROLES, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"there is no colour {role!r}.{meant} There are {', '.join(ROLES)}.")
    if not isinstance(color, str) or not (_HEX.fullmatch(color) or color in TERMINAL_COLORS):
        raise ValueError(
            f"the colour {role!r} is {color!r}; it must be #rrggbb, or one of the terminal's own: "
            f"{', '.join(TERMINAL_COLORS)}."
        )
