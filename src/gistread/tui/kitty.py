"""Kitty's graphics protocol.

The terminal keeps a picture and draws it at placeholder characters in the text. Placeholders
scroll and are cut and covered like other text, so a picture is sent once for each size.
https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders
"""

import base64
import io
import random
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from gistread.tui.text.figure import Figure, Rows, half_blocks

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

_PLACEHOLDER = "\U0010eeee"
# The protocol's characters for the numbers of rows and columns, as ranges of code points
_DIACRITICS = (
    "305 30d-30e 310 312 33d-33f 346 34a-34c 350-352 357 35b 363-36f 483-487 592-595 597-599 "
    "59c-5a1 5a8-5a9 5ab-5ac "
    "5af 5c4 610-617 657-65b 65d-65e 6d6-6dc 6df-6e2 6e4 6e7-6e8 6eb-6ec 730 732-733 735-736 73a "
    "73d 73f-741 743 745 "
    "747 749-74a 7eb-7f1 7f3 816-819 81b-823 825-827 829-82d 951 953-954 f82-f83 f86-f87 "
    "135d-135f 17dd 193a 1a17 "
    "1a75-1a7c 1b6b 1b6d-1b73 1cd0-1cd2 1cda-1cdb 1ce0 1dc0-1dc1 1dc3-1dc9 1dcb-1dcc 1dd1-1de6 "
    "1dfe 20d0-20d1 "
    "20d4-20d7 20db-20dc 20e1 20e7 20e9 20f0 2cef-2cf1 2de0-2dff a66f a67c-a67d a6f0-a6f1 "
    "a8e0-a8f1 aab0 aab2-aab3 "
    "aab7-aab8 aabe-aabf aac1 fe20-fe26 10a0f 10a38 1d185-1d189 1d1aa-1d1ad 1d242-1d244 "
)
_COLOR_BYTES = 3  # Of an exact colour, which names a picture
_BYTES_A_PIXEL = 4  # RGBA, as a terminal keeps it
_CHUNK = 4096  # Most bytes of a picture in one escape sequence
# Total size of unpacked pictures; above 320 MB the terminal drops the oldest
_MOST_BYTES = 192 * 1024 * 1024


class Kitty:
    """The pictures that the terminal keeps for this app."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """`write`: sends text to the terminal as it is."""
        self._write = write
        self._kept: dict[
            tuple[KittyPicture, int, int], tuple[int, Rows]
        ] = {}  # (id, rows); the last drawn last
        self._ids = count(random.randrange(1, 1 << 23))

    def draw(self, picture: "KittyPicture", columns: int, rows: int) -> Rows | None:
        """The rows of placeholders.

        None if there are more rows or columns than the protocol can count.
        """
        if max(columns, rows) > len(_numbers()):
            return None
        key = picture, columns, rows
        self._kept[key] = kept = self._kept.pop(key, None) or self._send(*key)
        return kept[1]

    def forget(self, picture: "KittyPicture") -> None:
        for key in [key for key in self._kept if key[0] is picture]:
            self._delete(key)

    def clear(self) -> None:
        for key in list(self._kept):
            self._delete(key)

    @property
    def _kept_bytes(self) -> int:
        return sum(picture.size_bytes for picture, *_ in self._kept)

    def _send(
        self, picture: "KittyPicture", columns: int, rows: int
    ) -> tuple[int, Rows]:
        while self._kept and picture.size_bytes + self._kept_bytes > _MOST_BYTES:
            self._delete(next(iter(self._kept)))
        number = next(self._ids)
        data = picture.take()
        chunks = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
        head = f"a=T,U=1,f=100,i={number},c={columns},r={rows},"
        last = len(chunks) - 1
        parts = (
            f"\x1b_G{head * (not at)}q=2,m={int(at < last)};{chunk}\x1b\\"
            for at, chunk in enumerate(chunks)
        )
        self._write("".join(parts))
        numbers = _numbers()
        # The colour is the id.
        style = Style(color=Color.from_rgb(*number.to_bytes(_COLOR_BYTES)))
        return number, tuple(
            tuple(
                Segment(_PLACEHOLDER + numbers[row] + numbers[at], style)
                for at in range(columns)
            )
            for row in range(rows)
        )

    def _delete(self, key: "tuple[KittyPicture, int, int]") -> None:
        self._write(f"\x1b_Ga=d,d=I,i={self._kept.pop(key)[0]},q=2\x1b\\")


class KittyPicture:
    """A painter of figures. Created in a worker thread, used in the app's."""

    def __init__(self, kitty: Kitty, pixels: "Pixels") -> None:
        packed = io.BytesIO()
        pixels.save(packed, "JPEG", quality=90)
        # A tenth of the data sent; a book may have hundreds of pictures
        self._packed = packed.getvalue()
        self._data = _png(pixels)
        self.size_bytes = _BYTES_A_PIXEL * pixels.width * pixels.height
        self._kitty = kitty

    def take(self) -> str:
        """The data to send; encoded again after the first time."""
        from PIL import Image

        data, self._data = self._data or _png(Image.open(io.BytesIO(self._packed))), ""
        return data

    def __call__(self, figure: Figure, columns: int, rows: int, /) -> Rows:
        return self._kitty.draw(self, columns, rows) or half_blocks(
            figure, columns, rows
        )


@cache
def _numbers() -> list[str]:
    ranges = (run.partition("-") for run in _DIACRITICS.split())
    return [
        chr(number)
        for first, _, last in ranges
        for number in range(int(first, 16), int(last or first, 16) + 1)
    ]


def _png(pixels: "Pixels") -> str:
    packed = io.BytesIO()
    pixels.save(packed, "PNG", compress_level=1)
    return base64.standard_b64encode(packed.getvalue()).decode()
