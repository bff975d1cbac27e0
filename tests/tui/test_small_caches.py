"""What Textual keeps of screens that were read."""

from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

from gistread.tui.small_caches import keep_caches_small

_SCREENS, _ROWS = 100, 40


def test_the_styles_of_old_screens_are_not_kept() -> None:
    keep_caches_small()
    bold = Style(bold=True)
    for row in range(_SCREENS * _ROWS):
        placed = bold + Style.from_meta({"offset": (0, row)})
        assert Strip.render_ansi(placed, ColorSystem.TRUECOLOR) == "1"
    kept = Strip.render_ansi.cache_info().currsize
    assert kept < _SCREENS * _ROWS
