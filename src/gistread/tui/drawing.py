"""Draws pictures as the terminal can.

Never queries the terminal: a late answer would be taken for keys.
"""

import io
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widget import Widget

from gistread.book.images import read_image
from gistread.child_process import run_python
from gistread.errors import GistreadError
from gistread.paths import install_extra
from gistread.system import cell_pixels, limit_memory
from gistread.tui.kitty import Kitty, KittyPicture
from gistread.tui.text.figure import PIXELS_A_CELL, Figure, Painter, dots, half_blocks

if TYPE_CHECKING:
    from lxml.etree import _Element as Element
    from PIL.Image import Image as Pixels

# Most pixels of a picture that is drawn; an A3 scan at 300 dpi has 17 million
MOST_PIXELS = 50_000_000
# Maximum sizes (width, height), in pixels
_UNPACKED_SIZE = 2400, 1800  # No terminal shows more
_HALF_BLOCKS_SIZE = 160, 160  # In a text, drawn with half blocks
_GRAPHICS_SIZE = 800, 800  # In a text, drawn with the terminal's graphics
# In the viewer, with the terminal's graphics: a small picture stays small
_MOST_ENLARGED = 2
_LEAST_COLUMNS = 2  # Of a picture, however small it is
_USUAL_CELL = 10, 20  # Pixels (width, height) if the terminal does not tell
KITTY_TERMS = "xterm-kitty", "xterm-ghostty"
# Formats that Pillow reads by itself; some others would start programs.
_FORMATS = (
    "PNG",
    "JPEG",
    "GIF",
    "WEBP",
    "BMP",
    "TIFF",
    "PPM",
    "ICO",
    "JPEG2000",
    "AVIF",
)
# Limits of drawing an SVG picture
_SVG_WIDTH = 800  # Pixels
_SVG_S = 10.0
_SVG_HEAD_BYTES = 4096  # Within these, a drawing has its first tag
_SVG_MEMORY_BYTES = 1 << 31
# Variables that are set inside a multiplexer or a browser, where another program draws
_DRAWN_BY_OTHERS = ("TMUX", "STY", "TEXTUAL_DRIVER")
_SIXEL_PROGRAMS = ("WezTerm", "iTerm.app", "contour", "rio")
_SIXEL_TERMS = ("foot", "mlterm", "contour")
_SIXEL_KONSOLE = 220400  # The first version of Konsole with Sixel


class ImageMode(StrEnum):
    KITTY = "kitty"
    SIXEL = "sixel"
    BLOCKS = "blocks"  # Half-block characters, two pixels each: every terminal has them
    DOTS = "dots"  # Dots, without colours


class DrawingError(GistreadError):
    """This picture cannot be drawn."""


@dataclass(frozen=True, slots=True)
class Picture:
    pixels: "Pixels"  # Opaque
    width: int
    height: int  # Height of the original, in pixels
    kind: str  # Format, such as `PNG`


def choose_mode(
    setting: str, environment: Mapping[str, str], color_system: str | None = "truecolor"
) -> ImageMode:
    """How to draw in this environment's terminal.

    `setting`: an `ImageMode` or `auto`; `color_system`: Rich's name.
    """
    blocks = ImageMode.BLOCKS if color_system else ImageMode.DOTS
    if setting == ImageMode.KITTY and color_system != "truecolor":
        return blocks  # The protocol names a picture by an exact colour.
    if setting in tuple(ImageMode):
        return ImageMode(setting)
    if any(environment.get(name) for name in _DRAWN_BY_OTHERS):
        return blocks
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if term in KITTY_TERMS or program == "ghostty":
        # As if it were set: without true colour, this falls back to blocks.
        return choose_mode(ImageMode.KITTY, environment, color_system)
    if _has_sixel(term, program, environment):
        return ImageMode.SIXEL
    return blocks


def _has_sixel(term: str, program: str, environment: Mapping[str, str]) -> bool:
    """Whether the terminal is known to draw sixels. `term`, `program`: its names."""
    konsole = environment.get("KONSOLE_VERSION", "")
    is_new_konsole = konsole.isdigit() and int(konsole) >= _SIXEL_KONSOLE
    return is_new_konsole or program in _SIXEL_PROGRAMS or term.startswith(_SIXEL_TERMS)


def read_picture(file: Path | None, source: str) -> bytes:
    """The bytes of a picture of a book; `file`: None if the book was read from a pipe.

    Raises GistreadError.
    """
    if file is None and not source.startswith("data:"):
        problem = "The book was read from a pipe: its pictures are not at hand."
        raise DrawingError(problem)
    return read_image(file or Path(), source)


class Drawer:
    """Draws the pictures of one app. Call `figure` and `enlarged` in threads."""

    def __init__(self, mode: ImageMode, write: Callable[[str], object]) -> None:
        """`write`: sends text to the terminal as it is."""
        self.mode = mode
        self._kitty = Kitty(write) if mode is ImageMode.KITTY else None

    def figure(self, data: bytes) -> Figure:
        """A small copy for the text. Raises DrawingError."""
        max_size = _HALF_BLOCKS_SIZE if self._kitty is None else _GRAPHICS_SIZE
        picture = unpack(data, max_size)
        painter = self._painter(picture)
        picture.pixels.thumbnail(_HALF_BLOCKS_SIZE)
        columns = max(_LEAST_COLUMNS, picture.width // PIXELS_A_CELL)
        return Figure(picture.pixels, columns, painter=painter)

    def enlarged(self, picture: Picture) -> Figure:
        """The picture for the viewer, at the size that it has at most. Raises DrawingError."""
        columns = picture.width  # A half block for each pixel
        if self._kitty is not None:
            cell_width, _ = cell_pixels() or _USUAL_CELL
            columns = _MOST_ENLARGED * picture.width // cell_width
        columns = max(_LEAST_COLUMNS, columns)
        return Figure(picture.pixels, columns, painter=self._painter(picture))

    def sixels(self, picture: Picture) -> Widget | None:
        """A widget that draws the picture with sixels; None without sixels or a cell size.

        Raises DrawingError.
        """
        cell = cell_pixels()
        # Sixels of a wrong size would cover the text beside them.
        if self.mode is not ImageMode.SIXEL or cell is None:
            return None
        cell_width, cell_height = cell
        sixel_image = _sixel_image(picture.pixels, cell_width, cell_height)
        styles = sixel_image.styles
        styles.width = styles.height = "auto"
        columns = _MOST_ENLARGED * picture.width // cell_width
        styles.max_width = max(_LEAST_COLUMNS, columns)
        return sixel_image

    def forget(self, figure: Figure) -> None:
        """Let the terminal drop a figure that is no longer shown."""
        if self._kitty is not None and isinstance(figure.painter, KittyPicture):
            self._kitty.forget(figure.painter)

    def clear(self) -> None:
        """Let the terminal drop all figures."""
        if self._kitty is not None:
            self._kitty.clear()

    def _painter(self, picture: Picture) -> Painter:
        if self._kitty is not None:
            return KittyPicture(self._kitty, picture.pixels)
        return dots if self.mode is ImageMode.DOTS else half_blocks


def _sixel_image(pixels: "Pixels", cell_width: int, cell_height: int) -> Widget:
    """textual_image's widget of a picture, for cells of this size in pixels.

    Raises DrawingError if it is not installed.
    """
    # Importing it queries the terminal on standard output and input, which belong to the app by
    # now.
    standard_output = sys.__stdout__
    vars(sys)["__stdout__"] = io.StringIO()
    try:
        from textual_image import _terminal, widget
    except ImportError:
        raise _not_installed() from None
    finally:
        vars(sys)["__stdout__"] = standard_output
    # Where it would keep the answer of the terminal
    cell_size = _terminal.CellSize(cell_width, cell_height)
    vars(_terminal.get_cell_size)["_result"] = cell_size
    sixel_image: Widget = widget.SixelImage(pixels)
    return sixel_image


def unpack(data: bytes, max_size: tuple[int, int] = _UNPACKED_SIZE) -> Picture:
    """Decode a picture, and shrink it to at most (width, height) pixels; call it in a thread.

    Raises DrawingError.
    """
    if _is_svg(data):
        data = _rasterize(data)
    try:
        from PIL import Image
    except ImportError:
        raise _not_installed() from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=_FORMATS)
        with image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                raise Image.DecompressionBombError
            kind = image.format or ""
            image.draft("RGB", max_size)
            image.thumbnail(max_size)
            return Picture(_opaque(image), width, height, kind)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        limit = f"{MOST_PIXELS // 1_000_000} million pixels"
        problem = f"The picture is too large: it has more than {limit}."
        raise DrawingError(problem) from None
    except Exception as error:  # Pillow's errors for damaged files have no common class
        problem = "The picture is damaged or of an unsupported format."
        raise DrawingError(problem) from error


def _is_svg(data: bytes) -> bool:
    """Whether a picture is an SVG drawing; before `<svg` may come comments and declarations."""
    byte_order_mark = b"\xef\xbb\xbf"
    head = data[:_SVG_HEAD_BYTES]
    stripped = head.lstrip(byte_order_mark + b" \t\r\n")
    is_xml = stripped.startswith((b"<svg", b"<?xml", b"<!DOCTYPE svg"))
    return is_xml and b"<svg" in head


def _rasterize(svg: bytes) -> bytes:
    """The drawing as PNG. Raises DrawingError."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    try:
        root = etree.fromstring(svg, parser)
        _drop_links_to_files(root)
        width = _SVG_WIDTH
        if view_width := _view_width(root):
            width = round(min(view_width, _SVG_WIDTH))
        run = run_python(
            "gistread.tui.drawing",
            str(width),
            stdin_bytes=etree.tostring(root),
            timeout_s=_SVG_S,
        )
        if b"ModuleNotFoundError" in run.stderr:
            raise _not_installed()
        run.check_returncode()
    except (etree.XMLSyntaxError, ValueError, OSError, subprocess.SubprocessError):
        problem = "The drawing is damaged, or too large to be drawn."
        raise DrawingError(problem) from None
    return run.stdout


def _drop_links_to_files(root: "Element") -> None:
    """Empty the elements that name files: resvg would open these."""
    from lxml import etree

    for element in list(root.iter("{*}image", "{*}feImage")):
        links = [
            str(value)
            for name, value in element.attrib.items()
            if etree.QName(name).localname == "href"
        ]
        if not all(link.startswith("data:") for link in links):
            element.clear()


def _view_width(root: "Element") -> float | None:
    """The width in `viewBox="0 0 640 480"`; None if it is not given. Raises ValueError."""
    numbers = root.get("viewBox", "").replace(",", " ").split()
    match [float(number) for number in numbers]:
        case [_, _, width, *_]:
            return width
    return None


def _opaque(image: "Pixels") -> "Pixels":
    """The image on white, so that black lines do not vanish on a dark screen."""
    from PIL import Image

    if image.mode not in ("RGBA", "LA", "PA") and "transparency" not in image.info:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    white = Image.new("RGBA", layer.size, "white")
    return Image.alpha_composite(white, layer).convert("RGB")


def _not_installed() -> DrawingError:
    how = install_extra("images")
    return DrawingError("Drawing pictures needs more packages.", f"Install them: {how}")


if __name__ == "__main__":
    # Draws the SVG on standard input as PNG, in a process of its own: a drawing may take for ever,
    # or all memory.
    import resvg_py

    limit_memory(_SVG_MEMORY_BYTES)
    svg = sys.stdin.buffer.read().decode()
    png = resvg_py.svg_to_bytes(svg_string=svg, width=int(sys.argv[1]))
    sys.stdout.buffer.write(png)
