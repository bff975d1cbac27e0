"""Keeps Textual's caches small: they hold much of widgets and screens that were removed."""

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.strip import Strip
from textual.style import Style

_CACHED_BACKGROUNDS = 1024  # Textual's own limit
_CACHED_CODES = 2048  # Styles of a few screens


def keep_caches_small() -> None:
    """Limit what Textual's caches hold. Call it before the first screen."""
    _free_removed_widgets()
    _free_old_styles()


def _free_removed_widgets() -> None:
    """Let Python free the drawn lines of removed widgets.

    Textual's cache of `get_inner_outer` has the instance in its key. It keeps each instance, and
    every line drawn with it, until 1024 newer entries replace it:
    https://github.com/Textualize/textual/issues/6665
    """
    backgrounds = staticmethod(_backgrounds)
    StylesCache.get_inner_outer = backgrounds  # type: ignore[method-assign, assignment]


def _free_old_styles() -> None:
    """Let Python free the styles of screens that were read.

    Each place in a text has a style of its own, which says where it is. Textual keeps the codes of
    16,384 of them, some 8 MB.
    """
    uncached = Strip.render_ansi.__func__.__wrapped__  # type: ignore[attr-defined]
    codes = lru_cache(_CACHED_CODES)(uncached)
    Strip.render_ansi = classmethod(codes)  # type: ignore[arg-type, assignment]


@lru_cache(_CACHED_BACKGROUNDS)
def _backgrounds(base: Color, background: Color) -> tuple[Style, Style]:
    """Textual's `get_inner_outer`: the styles of a widget's inside and of what surrounds it."""
    return Style(background=base + background), Style(background=base)
