"""Draws pictures as the terminal can. It is never queried: a late answer would be taken for keys."""

import io
import struct
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gistread.errors import GistreadError
from gistread.tui.text.figure import Figure

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels
    from textual.widget import Widget

MOST_PIXELS = 50_000_000  # maximum size of a picture; an A3 scan at 300 dpi has 17 million
_KEPT_PIXELS = 2400, 1800  # maximum size after unpacking: no terminal shows more
SMALL_PIXELS = 160, 160  # maximum size of what stands in a text of half blocks
_USUAL_CELL = 10, 20
# Formats that Pillow reads by itself; some others would start programs.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO", "JPEG2000", "AVIF")


# A process of its own: a drawing may take for ever, or all memory. Arguments: the width in pixels.
_RESVG = """
import contextlib, sys
import resvg_py
with contextlib.suppress(ImportError, OSError, ValueError):
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
sys.stdout.buffer.write(resvg_py.svg_to_bytes(svg_string=sys.stdin.buffer.read().decode(), width=int(sys.argv[1])))
"""
_SVG_PIXELS, _SVG_S = 800, 10.0


class Way(StrEnum):
    KITTY = "kitty"
    SIXEL = "sixel"
    BLOCKS = "blocks"  # half-block characters, two pixels each: every terminal has them
    DOTS = "dots"  # dots, without colours


class DrawingError(GistreadError):
    """This picture cannot be drawn."""


@dataclass(frozen=True, slots=True)
class Picture:
    pixels: "Pixels"  # Opaque
    width: int
    height: int  # Height of the original, in pixels
    kind: str  # Such as `PNG`


def way_of(setting: str, environment: Mapping[str, str], *, no_color: bool = False) -> Way:
    """How to draw in the terminal with this environment. `setting`: a `Way`, or `auto`."""
    if setting in tuple(Way):
        return Way(setting)
    blocks = Way.DOTS if no_color else Way.BLOCKS
    # What a multiplexer or a browser stands in is not what draws.
    if environment.get("TMUX") or environment.get("STY") or environment.get("TEXTUAL_DRIVER"):
        return blocks
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return Way.KITTY
    if term.startswith(("foot", "mlterm", "contour")) or program in ("WezTerm", "iTerm.app", "contour", "rio"):
        return Way.SIXEL
    konsole = environment.get("KONSOLE_VERSION", "")
    if konsole.isdigit() and int(konsole) >= 220400:
        return Way.SIXEL
    return blocks


def figure_from(data: bytes) -> Figure:
    """A small copy for the text; call it in a thread. Raises DrawingError."""
    picture = unpack(data, SMALL_PIXELS)
    return Figure.of(picture.pixels, picture.width)


def unpack(data: bytes, most: tuple[int, int] = _KEPT_PIXELS) -> Picture:
    """Unpack a picture, at most so large; call it in a thread. Raises DrawingError."""
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith((b"<svg", b"<?xml", b"<!DOCTYPE svg")) and b"<svg" in data[:4096]:
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
            image.draft("RGB", most)
            image.thumbnail(most)
            return Picture(_opaque(image), width, height, kind)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        limit = f"{MOST_PIXELS // 1_000_000} million pixels"
        raise DrawingError(f"The picture is too large to be drawn: it has more than {limit}.") from None
    except Exception as error:  # what damaged files make Pillow raise has no common class
        raise DrawingError("The picture is damaged, or of a kind that is not drawn here.") from error


def _rasterize(svg: bytes) -> bytes:
    """The drawing as PNG. Raises DrawingError."""
    from lxml import etree

    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
        root = etree.fromstring(svg, parser)
        for element in [*root.iter("{*}image", "{*}feImage")]:
            # resvg would open the files that these name.
            links = [name for name in element.attrib if etree.QName(name).localname == "href"]
            if not all(str(element.attrib[name]).startswith("data:") for name in links):
                element.clear()
        box = [*map(float, root.get("viewBox", "").replace(",", " ").split()), 0.0, 0.0, 0.0][2]
        run = subprocess.run(
            [sys.executable, "-P", "-c", _RESVG, str(round(min(box or _SVG_PIXELS, _SVG_PIXELS)))],
            input=etree.tostring(root),
            capture_output=True,
            timeout=_SVG_S,
        )
    except (etree.XMLSyntaxError, ValueError, subprocess.TimeoutExpired):
        raise DrawingError("The drawing is damaged, or too large to be drawn.") from None
    if b"ModuleNotFoundError" in run.stderr:
        raise _not_installed()
    if run.returncode:
        raise DrawingError("The drawing is damaged, or too large to be drawn.")
    return run.stdout


def _opaque(image: "Pixels") -> "Pixels":
    """On white, so that black lines do not vanish on a dark screen."""
    from PIL import Image

    if image.mode not in ("RGBA", "LA", "PA") and "transparency" not in image.info:
        return image.convert("RGB")
    layers = image.convert("RGBA")
    ground = Image.new("RGBA", layers.size, "white")
    return Image.alpha_composite(ground, layers).convert("RGB")


def widget_for(picture: Picture, way: Way) -> "Widget":
    """A widget that draws the picture as large as possible. Raises DrawingError."""
    # Importing it asks the terminal twice, on standard output and input, which belong to the app by now.
    standard_output = sys.__stdout__
    vars(sys)["__stdout__"] = io.StringIO()
    try:
        from textual_image import _terminal, widget
    except ImportError:
        raise _not_installed() from None
    finally:
        vars(sys)["__stdout__"] = standard_output
    cell = _cell_pixels()
    if cell is None and way is Way.SIXEL:
        way = Way.BLOCKS  # sixels of a wrong size would be drawn over what stands beside them
    vars(_terminal.get_cell_size)["_result"] = _terminal.CellSize(*(cell or _USUAL_CELL))
    made = {
        Way.KITTY: widget.TGPImage,
        Way.SIXEL: widget.SixelImage,
        Way.BLOCKS: widget.HalfcellImage,
        Way.DOTS: widget.UnicodeImage,
    }[way]
    drawn: Widget = made(picture.pixels)
    drawn.styles.width = drawn.styles.height = "auto"
    # A small one is not blown up: in graphics to twice its size at most, in blocks to a column for each pixel.
    in_blocks = way in (Way.BLOCKS, Way.DOTS)
    drawn.styles.max_width = max(2, picture.width if in_blocks else 2 * picture.width // (cell or _USUAL_CELL)[0])
    return drawn


def _cell_pixels() -> tuple[int, int] | None:
    """(width, height) of a cell in pixels, if the system knows them."""
    if sys.platform == "win32" or sys.__stdout__ is None:
        return None
    import fcntl
    import termios

    try:
        answer = fcntl.ioctl(sys.__stdout__.fileno(), termios.TIOCGWINSZ, bytes(8))
    except (OSError, ValueError):
        return None
    rows, columns, width, height = struct.unpack("HHHH", answer)
    return (width // columns, height // rows) if rows and columns and width >= columns and height >= rows else None


def _not_installed() -> DrawingError:
    return DrawingError(
        "Pictures need a few more packages to be drawn.", "They come with: python3 -m pip install 'gistread[images]'"
    )
