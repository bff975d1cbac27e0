"""A line to type a path into, with completion."""

import asyncio
import os
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.suggester import Suggester
from textual.widgets import Input


class PathInput(Input):
    """Tab or the right arrow accepts the completion."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "cursor_right", show=False, priority=True)]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(compact=True, id=id, suggester=_Paths(use_cache=False, case_sensitive=True))


class _Paths(Suggester):
    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(_proposal, value) if value else None


def _proposal(typed: str) -> str | None:
    """The first matching file or folder; a folder with its separator."""
    folder, _, name = typed.rpartition("/")
    try:
        with os.scandir(Path(f"{folder}/" if "/" in typed else ".").expanduser()) as listing:
            found = sorted(
                (entry for entry in listing if entry.name.startswith(name) and (name or entry.name[0] != ".")),
                key=lambda entry: entry.name,
            )
            if not found:
                return None
            return typed + found[0].name[len(name) :] + ("/" if found[0].is_dir() else "")
    except (OSError, ValueError, RuntimeError):  # RuntimeError: `~somebody` that nobody is
        return None
