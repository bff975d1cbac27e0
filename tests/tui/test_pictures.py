"""Pictures of the book: drawing methods, errors, and the viewer."""

import base64
import contextlib
import io
import struct
import sys
import zlib
from pathlib import Path

import pexpect
import pytest
from PIL import Image as Pillow
from rich.style import Style
from textual.app import App

from gistread.book.model import Book, Chapter, Image, Paragraph, ParagraphKind
from gistread.tui import kitty
from gistread.tui.drawing import MOST_PIXELS, Drawer, DrawingError, ImageMode, choose_mode, unpack
from gistread.tui.screens.image import ImageScreen
from tests.book.make_epub import epub
from tests.book.make_epub import page as epub_page
from tests.terminal import Terminal, terminal
from tests.tui.books import small_book
from tests.tui.scripted import app_on, lines, opened, text_of, until

SIZE = (100, 34)


def png(color: str = "red", size: tuple[int, int] = (60, 40), mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Pillow.new(mode, size, color).save(out, "PNG")
    return out.getvalue()


def illustrated(folder: Path) -> tuple[Book, Path]:
    """A book of three paragraphs, the second and third of them pictures, and the page it came from."""
    (folder / "red.png").write_bytes(png("#ff0000"))
    (folder / "line.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><not closed></svg>")
    page = folder / "book.html"
    page.write_text("x")
    parts = ["A boat lay on the shore.", "A red flag.", "The coast, drawn."]
    text = "\n\n".join(parts)
    starts = [text.index(part) for part in parts]
    kinds = (ParagraphKind.TEXT, ParagraphKind.IMAGE, ParagraphKind.IMAGE)
    paragraphs = tuple(Paragraph(s, s + len(p), k) for s, p, k in zip(starts, parts, kinds, strict=True))
    images = tuple(
        Image(one.start, one.end, source) for one, source in zip(paragraphs[1:], ("red.png", "line.svg"), strict=True)
    )
    return Book(text, "The Boat", paragraphs, (Chapter("", 0, len(text)),), images=images), page


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
def test_the_drawing_method_is_known_without_a_query(environment: dict[str, str], way: ImageMode) -> None:
    assert choose_mode("auto", environment) is way


def test_the_setting_decides_and_without_colours_there_are_dots() -> None:
    assert choose_mode("sixel", {"TERM": "dumb"}) is ImageMode.SIXEL
    assert choose_mode("auto", {"TERM": "xterm"}, None) is ImageMode.DOTS
    kitty_terminal = {"TERM": "xterm-kitty"}
    assert choose_mode("kitty", kitty_terminal, "256") is choose_mode("auto", kitty_terminal, "256") is ImageMode.BLOCKS


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
    commands = [command.partition(";") for command in picture.removesuffix("\x1b\\").split("\x1b\\")]
    assert all(head.startswith("\x1b_G") and len(data) <= 4096 for head, _, data in commands)
    unpacked = Pillow.open(io.BytesIO(base64.b64decode("".join(data for *_, data in commands))))
    assert unpacked.size == (800, 533)
    keys = dict(key.split("=") for key in commands[0][0].removeprefix("\x1b_G").split(","))
    assert (keys["a"], keys["U"], keys["c"], keys["r"], keys["q"]) == ("T", "1", str(columns), str(rows), "2")
    color = drawn[0][0].style.color.triplet
    assert int(keys["i"]) == color.red << 16 | color.green << 8 | color.blue
    figure.row(0, 30, 10)
    assert len(sent) == 2
    drawer.clear()
    assert [f"i={keys['i']}" in one and "a=d,d=I" in one for one in sent[2:]] == [True, False]
    figure.row(0, 900, 300)  # more columns than the protocol counts
    assert len(sent) == 4


def test_the_terminal_keeps_only_so_many_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kitty, "_MOST_BYTES", 3 * 4 * 60 * 40)
    sent: list[str] = []
    drawer = Drawer(ImageMode.KITTY, sent.append)
    figures = [drawer.figure(png()) for _ in range(3)]
    for figure in (*figures, figures[0], drawer.figure(png())):
        figure.row(0, 12, 4)
    number = sent[1].partition("i=")[2].partition(",")[0]
    assert [one for one in sent if "a=d" in one] == [f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"]  # not the one drawn again
    drawer.forget(figures[0])
    assert len(sent) == 6


def test_without_colours_a_picture_is_drawn_in_dots() -> None:
    out = io.BytesIO()
    picture = Pillow.new("L", (40, 40), 0)
    picture.paste(255, (20, 0, 40, 40))
    picture.save(out, "PNG")
    drawn = Drawer(ImageMode.DOTS, str).figure(out.getvalue())
    assert [segment.text for row in range(2) for segment in drawn.row(row, 4, 2)] == ["⠀⠀⣿⣿"] * 2


def test_a_picture_is_decoded_scaled_and_put_on_white() -> None:
    picture = unpack(png("#00000000", (3000, 2500), "RGBA"))
    assert (picture.width, picture.height, picture.kind) == (3000, 2500, "PNG")
    assert picture.pixels.width <= 2400
    assert picture.pixels.mode == "RGB"
    assert picture.pixels.getpixel((5, 5)) == (255, 255, 255)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "I;16"])
def test_every_kind_of_pixel_can_be_drawn(mode: str) -> None:
    out = io.BytesIO()
    Pillow.new(mode, (9, 9)).save(out, "TIFF" if mode == "CMYK" else "PNG")
    assert unpack(out.getvalue()).pixels.mode == "RGB"


def test_a_picture_that_would_fill_the_memory_is_refused_before_it_is_unpacked() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    side = 30_000
    assert side * side > MOST_PIXELS
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )
    with pytest.raises(DrawingError, match="too large"):
        unpack(bomb)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "damaged"),
        (b"no picture", "damaged"),
        (png()[:50], "damaged"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "unsupported format"),
        (b'<?xml version="1.0"?><!-- x --><svg xmlns="http://www.w3.org/2000/svg"><g></svg>', "drawing is damaged"),
    ],
)
def test_undrawable_pictures_are_reported(data: bytes, said: str) -> None:
    with pytest.raises(DrawingError, match=said):
        unpack(data)


def test_an_svg_is_drawn_and_opens_no_file(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    (tmp_path / "secret.png").write_bytes(png("#00ff00"))
    box = "<rect width='20' height='10' fill='#ff0000'/>"
    linked = f"<image width='20' height='10' href='{tmp_path}/secret.png'/>"
    picture = unpack(f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 10'>{box}{linked}</svg>".encode())
    assert (picture.width, picture.height) == (20, 10)
    assert picture.pixels.getpixel((5, 5)) == (255, 0, 0)


async def test_a_picture_is_shown_with_its_caption_and_the_next_one_a_key_away(tmp_path: Path) -> None:
    book, page = illustrated(tmp_path)
    app = app_on(book, tmp_path)
    app._first_path = page
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
    book, page = illustrated(tmp_path)
    app = app_on(book, tmp_path)
    app._first_path = page
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        row = next(index for index, line in enumerate(lines(app)) if "A red flag" in line)
        await pilot.click(offset=(lines(app)[row].index("A red flag") + 3, row))
        await until(pilot, lambda: "Picture 1 of 2" in text_of(app))
        keys = app.screen.query_one("#viewer-keys").content_region
        line = lines(app)[keys.y]
        await pilot.click(offset=(line.index("close"), keys.y))
        await until(pilot, lambda: not isinstance(app.screen, ImageScreen))


async def test_enter_goes_to_the_picture_in_the_book(tmp_path: Path) -> None:
    book, page = illustrated(tmp_path)
    app = app_on(book, tmp_path)
    app._first_path = page
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        gone: list[int] = []
        screen.controllers.navigation.jump = lambda offset, top=0.0: gone.append(offset)
        await pilot.press("i", "right", "enter")
        await until(pilot, lambda: gone == [book.images[1].start])


async def test_a_book_without_pictures_or_without_a_file_says_so(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("i")
        await until(pilot, lambda: "no pictures" in text_of(app))
    book, _ = illustrated(tmp_path)
    app = app_on(book, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("i")
        await until(pilot, lambda: "read from a pipe" in text_of(app))


async def test_missing_picture_packages_are_reported_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("PIL", "textual_image")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    book, page = illustrated_without_pillow(tmp_path)
    app = app_on(book, tmp_path)
    app._first_path = page
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("i")
        await until(pilot, lambda: "gistread[images]" in text_of(app))
        assert "A red flag." in text_of(app)


async def test_a_picture_fits_every_screen(tmp_path: Path) -> None:
    book, page = illustrated(tmp_path)
    (tmp_path / "red.png").write_bytes(png("#ff0000", (1000, 1500)))
    app = app_on(book, tmp_path)
    app._first_path = page
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        for size in ((80, 24), (20, 5), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.press("i")
            await until(
                pilot, lambda: app.screen.query("FigureView") and app.screen.query_one("FigureView").size.height
            )
            drawn, room = app.screen.query_one("FigureView"), app.screen.query_one("#viewer-picture")
            assert drawn.size.height <= room.size.height
            assert drawn.size.width <= room.size.width
            if size == (200, 60):
                assert drawn.size.width == pytest.approx(drawn.size.height * 2 * 1000 / 1500, abs=2)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is screen)


@pytest.mark.slow
@pytest.mark.parametrize(("images", "begins"), [("kitty", b"\x1b_G"), ("blocks", "▀".encode())])
def test_the_terminal_gets_the_picture_without_a_query(tmp_path: Path, images: str, begins: bytes) -> None:
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


def illustrated_without_pillow(folder: Path) -> tuple[Book, Path]:
    (folder / "red.png").write_bytes(b"\x89PNG")
    page = folder / "book.html"
    page.write_text("x")
    text = "A boat.\n\nA red flag."
    parts = (Paragraph(0, 7), Paragraph(9, len(text), ParagraphKind.IMAGE))
    images = (Image(9, len(text), "red.png"),)
    return Book(text, "The Boat", parts, (Chapter("", 0, len(text)),), images=images), page


def _styles(app: App[None]) -> list[Style]:
    return [segment.style for strip in app.screen._compositor.render_strips() for segment in strip if segment.style]


def _epub_with_a_picture(path: Path) -> None:
    body = "<p>A boat lay on the shore.</p><figure><img src='red.png' alt='A red flag'/></figure>"
    path.write_bytes(epub({"one.xhtml": epub_page(body), "red.png": png()}))
