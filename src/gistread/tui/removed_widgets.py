"""Frees the memory of widgets that were removed from the screen."""

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style

_CACHED_BACKGROUNDS = 1024  # As many as Textual caches


def free_removed_widgets() -> None:
    """Let Python free the drawn lines of removed widgets.

    Textual caches `get_inner_outer` by its instance too. Until 1024 others follow, that instance
    holds every drawn line of its widget: https://github.com/Textualize/textual/issues/6665
    """
    StylesCache.get_inner_outer = staticmethod(_backgrounds)  # type: ignore[method-assign, assignment]


@lru_cache(_CACHED_BACKGROUNDS)
def _backgrounds(base: Color, background: Color) -> tuple[Style, Style]:
    """The styles of a widget's inside and of what surrounds it."""
    return Style(background=base + background), Style(background=base)
