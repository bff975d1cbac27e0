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
from typing import TYPE_CHECKING, NamedTuple

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
_COLOR_BYTES = 3  # Red, green and blue of the colour that names a picture
_BYTES_A_PIXEL = 4  # RGBA, as a terminal keeps it
_CHUNK = 4096  # Most bytes of a picture in one escape sequence
# Total size of unpacked pictures; above 320 MB the terminal drops the oldest
_MOST_BYTES = 192 * 1024 * 1024


class _SizedPicture(NamedTuple):
    """A picture at a size in cells."""

    picture: "KittyPicture"
    columns: int
    rows: int


class _SentPicture(NamedTuple):
    """What the terminal keeps of a picture, and how to draw it."""

    id: int
    placeholders: Rows


class Kitty:
    """The pictures that the terminal keeps for this app."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """`write`: sends text to the terminal as it is."""
        self._write = write
        # In the order in which they were last drawn
        self._sent: dict[_SizedPicture, _SentPicture] = {}
        # From a random number on, as other apps may draw in the same terminal
        self._ids = count(random.randrange(1, 1 << 23))

    def draw(self, picture: "KittyPicture", columns: int, rows: int) -> Rows | None:
        """The rows of placeholders.

        None if there are more rows or columns than the protocol can count.
        """
        if max(columns, rows) > len(_numbers()):
            return None
        sized = _SizedPicture(picture, columns, rows)
        sent = self._sent.pop(sized, None)
        if sent is None:
            sent = self._send(sized)
        self._sent[sized] = sent  # At the end: it was drawn last.
        return sent.placeholders

    def forget(self, picture: "KittyPicture") -> None:
        """Let the terminal drop this picture at every size."""
        for sized in list(self._sent):
            if sized.picture is picture:
                self._delete(sized)

    def clear(self) -> None:
        """Let the terminal drop all pictures."""
        for sized in list(self._sent):
            self._delete(sized)

    @property
    def _sent_bytes(self) -> int:
        return sum(sized.picture.size_bytes for sized in self._sent)

    def _send(self, sized: _SizedPicture) -> _SentPicture:
        """Send a picture, after deleting the oldest ones if there is no room for it."""
        picture = sized.picture
        while self._sent and picture.size_bytes + self._sent_bytes > _MOST_BYTES:
            oldest = next(iter(self._sent))
            self._delete(oldest)
        identifier = next(self._ids)
        data = picture.take()
        starts = range(0, len(data), _CHUNK)
        keys = f"a=T,U=1,f=100,i={identifier},c={sized.columns},r={sized.rows},"
        sequences: list[str] = []
        for start in starts:
            is_more_to_come = int(start != starts[-1])
            chunk = data[start : start + _CHUNK]
            sequences.append(f"\x1b_G{keys}q=2,m={is_more_to_come};{chunk}\x1b\\")
            keys = ""  # Only the first sequence says what the picture is.
        self._write("".join(sequences))
        return _SentPicture(identifier, _placeholders(identifier, sized))

    def _delete(self, sized: _SizedPicture) -> None:
        identifier = self._sent.pop(sized).id
        self._write(f"\x1b_Ga=d,d=I,i={identifier},q=2\x1b\\")


def _placeholders(identifier: int, sized: _SizedPicture) -> Rows:
    """Rows of cells that each say which part of a picture to draw there."""
    numbers = _numbers()
    # The colour is the id.
    red, green, blue = identifier.to_bytes(_COLOR_BYTES)
    style = Style(color=Color.from_rgb(red, green, blue))
    rows: list[tuple[Segment, ...]] = []
    for row in range(sized.rows):
        beginning = _PLACEHOLDER + numbers[row]
        columns = range(sized.columns)
        cells = [Segment(beginning + numbers[column], style) for column in columns]
        rows.append(tuple(cells))
    return tuple(rows)


class KittyPicture:
    """A painter of figures. Created in a worker thread, used in the app's."""

    def __init__(self, kitty: Kitty, pixels: "Pixels") -> None:
        # What is kept after sending is a tenth as large: a book may have hundreds of pictures.
        packed = io.BytesIO()
        pixels.save(packed, "JPEG", quality=90)
        self._packed = packed.getvalue()
        self._data = _png(pixels)  # Empty once it has been taken
        self.size_bytes = _BYTES_A_PIXEL * pixels.width * pixels.height
        self._kitty = kitty

    def take(self) -> str:
        """The data to send; encoded again after the first time."""
        from PIL import Image

        data, self._data = self._data, ""
        if not data:
            data = _png(Image.open(io.BytesIO(self._packed)))
        return data

    def __call__(self, figure: Figure, columns: int, rows: int, /) -> Rows:
        placeholders = self._kitty.draw(self, columns, rows)
        return placeholders or half_blocks(figure, columns, rows)


@cache
def _numbers() -> list[str]:
    """The characters that stand for the numbers 0, 1, 2 … of rows and columns."""
    characters: list[str] = []
    for code_range in _DIACRITICS.split():
        first, _, last = code_range.partition("-")
        codes = range(int(first, 16), int(last or first, 16) + 1)
        characters += map(chr, codes)
    return characters


def _png(pixels: "Pixels") -> str:
    """The picture as PNG in Base64."""
    packed = io.BytesIO()
    pixels.save(packed, "PNG", compress_level=1)
    return base64.standard_b64encode(packed.getvalue()).decode()
