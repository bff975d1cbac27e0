"""Frees the memory of widgets that were removed from the screen."""

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style

_CACHED_BACKGROUNDS = 1024  # Textual's own limit


def free_removed_widgets() -> None:
    """Let Python free the drawn lines of removed widgets.

    Textual's cache of `get_inner_outer` has the instance in its key. It keeps each instance, and
    every line drawn with it, until 1024 newer entries replace it:
    https://github.com/Textualize/textual/issues/6665
    """
    backgrounds = staticmethod(_backgrounds)
    StylesCache.get_inner_outer = backgrounds  # type: ignore[method-assign, assignment]


@lru_cache(_CACHED_BACKGROUNDS)
def _backgrounds(base: Color, background: Color) -> tuple[Style, Style]:
    """The styles of a widget's inside and of what surrounds it."""
    return Style(background=base + background), Style(background=base)
