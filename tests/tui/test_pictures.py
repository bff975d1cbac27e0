"""Pictures of the book: drawing methods, errors, and the viewer."""

import base64
import contextlib
import io
import struct
import zlib
from pathlib import Path

import pexpect
import pytest
from PIL import Image as Pillow
from rich.style import Style
from textual.app import App

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.tui.drawing import MOST_PIXELS, Drawer, DrawingError, ImageMode, choose_mode, unpack
from gistread.tui.screens.image import ImageScreen
from tests.book.make_epub import epub
from tests.book.make_epub import page as epub_page
from tests.terminal import Terminal, terminal
from tests.tui.scripted import app_on, lines, opened, text_of, until

SIZE = (100, 34)


def png(color: str = "red", size: tuple[int, int] = (60, 40), mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Pillow.new(mode, size, color).save(out, "PNG")
    return out.getvalue()


def illustrated(folder: Path) -> tuple[Book, Path]:
    """A book of one paragraph and two pictures, and the page it came from."""
    (folder / "red.png").write_bytes(png("#ff0000"))
    (folder / "line.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><not closed></svg>")
    page = folder / "book.html"
    pictures = (
        '<p><img src="red.png" alt="A red flag."></p><p><img src="line.svg" alt="The coast, '
        'drawn."></p>'
    )
    page.write_text(f"<title>The Boat</title><p>A boat lay on the shore.</p>{pictures}")
    return open_book(page), page


@pytest.mark.parametrize(
    ("environment", "way"),
    [
        ({"TERM": "xterm-kitty"}, ImageMode.KITTY),
        ({"TERM": "xterm-ghostty"}, ImageMode.KITTY),
        ({"TERM": "foot"}, ImageMode.SIXEL),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, ImageMode.SIXEL),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, ImageMode.SIXEL),
        ({"TERM": "xterm-256color", "KONSOLE_VERSION": "230401"}, ImageMode.SIXEL),
        ({"TERM": "xterm-256color", "KONSOLE_VERSION": "200401"}, ImageMode.BLOCKS),
        ({"TERM": "xterm-256color"}, ImageMode.BLOCKS),
        ({}, ImageMode.BLOCKS),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, ImageMode.BLOCKS),
        ({"TERM": "xterm-kitty", "TEXTUAL_DRIVER": "web"}, ImageMode.BLOCKS),
    ],
)
def test_the_drawing_method_is_known_without_a_query(
    environment: dict[str, str], way: ImageMode
) -> None:
    assert choose_mode("auto", environment) is way


def test_kittys_graphics_are_sent_once_for_each_size_and_drawn_by_characters_of_one_cell() -> None:
    sent: list[str] = []
    drawer = Drawer(ImageMode.KITTY, sent.append)
    figure = drawer.figure(png("#ff0000", (900, 600)))
    assert not sent
    columns, rows = figure.cells_in(60)
    drawn = [figure.row(row, columns, rows) for row in range(rows)]
    assert all(sum(cell.cell_length for cell in row) == columns for row in drawn)
    assert drawn[2][5].text == "\U0010eeee\u030e\u033d"  # the third row, the sixth column
    figure.limited(40).row(0, columns, rows)
    (picture,) = sent
    commands = [
        command.partition(";") for command in picture.removesuffix("\x1b\\").split("\x1b\\")
    ]
    assert all(head.startswith("\x1b_G") and len(data) <= 4096 for head, _, data in commands)
    unpacked = Pillow.open(io.BytesIO(base64.b64decode("".join(data for *_, data in commands))))
    assert unpacked.size == (800, 533)
    keys = dict(key.split("=") for key in commands[0][0].removeprefix("\x1b_G").split(","))
    assert (keys["a"], keys["U"], keys["c"], keys["r"], keys["q"]) == (
        "T",
        "1",
        str(columns),
        str(rows),
        "2",
    )
    color = drawn[0][0].style.color.triplet
    assert int(keys["i"]) == color.red << 16 | color.green << 8 | color.blue
    figure.row(0, 30, 10)
    assert len(sent) == 2
    drawer.clear()
    assert [f"i={keys['i']}" in one and "a=d,d=I" in one for one in sent[2:]] == [True, False]
    figure.row(0, 900, 300)  # more columns than the protocol counts
    assert len(sent) == 4


def test_a_picture_is_decoded_scaled_and_put_on_white() -> None:
    picture = unpack(png("#00000000", (3000, 2500), "RGBA"))
    assert (picture.width, picture.height, picture.kind) == (3000, 2500, "PNG")
    assert picture.pixels.width <= 2400
    assert picture.pixels.mode == "RGB"
    assert picture.pixels.getpixel((5, 5)) == (255, 255, 255)


def test_a_picture_that_would_fill_the_memory_is_refused_before_it_is_unpacked() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    side = 30_000
    assert side * side > MOST_PIXELS
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )
    with pytest.raises(DrawingError, match="too large"):
        unpack(bomb)


def test_an_svg_is_drawn_and_opens_no_file(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    (tmp_path / "secret.png").write_bytes(png("#00ff00"))
    box = "<rect width='20' height='10' fill='#ff0000'/>"
    linked = f"<image width='20' height='10' href='{tmp_path}/secret.png'/>"
    picture = unpack(
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 10'>{box}{linked}</svg>".encode()
    )
    assert (picture.width, picture.height) == (20, 10)
    assert picture.pixels.getpixel((5, 5)) == (255, 0, 0)


async def test_a_picture_is_shown_with_its_caption_and_the_next_one_a_key_away(
    tmp_path: Path,
) -> None:
    _, page = illustrated(tmp_path)
    app = app_on(page, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("i")
        await until(pilot, lambda: "Picture 1 of 2 · 60 × 40 · PNG" in text_of(app))
        assert "A red flag." in text_of(app)
        await until(pilot, lambda: "▀" in text_of(app) or "▄" in text_of(app))
        assert any(style.color and style.color.triplet == (255, 0, 0) for style in _styles(app))
        await pilot.press("right")
        await until(pilot, lambda: "The drawing is damaged" in text_of(app))
        assert "The coast, drawn." in text_of(app)
        await pilot.press("right")
        await until(pilot, lambda: "Picture 1 of 2 · 60" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ImageScreen))


async def test_a_click_on_its_words_opens_a_picture_and_a_click_closes_it(tmp_path: Path) -> None:
    _, page = illustrated(tmp_path)
    app = app_on(page, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        row = next(index for index, line in enumerate(lines(app)) if "A red flag" in line)
        await pilot.click(offset=(lines(app)[row].index("A red flag") + 3, row))
        await until(pilot, lambda: "Picture 1 of 2" in text_of(app))
        keys = app.screen.query_one("#viewer-keys").content_region
        line = lines(app)[keys.y]
        await pilot.click(offset=(line.index("close"), keys.y))
        await until(pilot, lambda: not isinstance(app.screen, ImageScreen))


@pytest.mark.slow
@pytest.mark.parametrize(("images", "begins"), [("kitty", b"\x1b_G"), ("blocks", "▀".encode())])
def test_the_terminal_gets_the_picture_without_a_query(
    tmp_path: Path, images: str, begins: bytes
) -> None:
    page = tmp_path / "book.epub"
    _epub_with_a_picture(page)
    settings = tmp_path / "xdg_config_home" / "gistread"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(f'images = "{images}"\n')
    with terminal([str(page)], tmp_path) as run:
        run.wait_for("A boat lay")
        got = _sent(run, "i")
        assert begins in got
        assert b"\x1b[c" not in got
        assert b"\x1b[16t" not in got
        run.press("\x1b")
        run.look(0.5)
        run.press("q")
        assert run.wait_for_end() == 0


def _sent(run: Terminal, key: str) -> bytes:
    """What the terminal is sent in answer to a key, until it rests."""
    run.press(key)
    got = b""
    with contextlib.suppress(pexpect.TIMEOUT):
        while True:
            got += run.process.read_nonblocking(2**16, timeout=3)
    return got


def _styles(app: App[None]) -> list[Style]:
    return [
        segment.style
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style
    ]


def _epub_with_a_picture(path: Path) -> None:
    body = "<p>A boat lay on the shore.</p><figure><img src='red.png' alt='A red flag'/></figure>"
    path.write_bytes(epub({"one.xhtml": epub_page(body), "red.png": png()}))
