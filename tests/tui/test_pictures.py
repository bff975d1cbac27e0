"""Pictures of the book: drawing methods, errors, and the viewer."""

import base64
import contextlib
import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest
from PIL import Image as Pillow
from PIL.Image import Image
from rich.style import Style
from textual.app import App

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.tui.drawing import (
    MOST_PIXELS,
    Drawer,
    DrawingError,
    ImageMode,
    choose_mode,
    unpack,
)
from gistread.tui.screens.image import ImageScreen
from tests.book.make_epub import epub
from tests.book.make_epub import page as epub_page
from tests.terminal import Terminal, terminal
from tests.tui.scripted import app_on, lines, opened, text_of, until, until_shown

SIZE = (100, 34)


def png(
    color: str = "red", size: tuple[int, int] = (60, 40), mode: str = "RGB"
) -> bytes:
    out = io.BytesIO()
    Pillow.new(mode, size, color).save(out, "PNG")
    return out.getvalue()


def illustrated(folder: Path) -> tuple[Book, Path]:
    """A book of one paragraph and two pictures, and the page it came from."""
    (folder / "red.png").write_bytes(png("#ff0000"))
    (folder / "line.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><not closed></svg>"
    )
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


@dataclass(frozen=True)
class SentPicture:
    """What Kitty was told: the keys of the first command, and the picture of all of them."""

    keys: dict[str, str]
    picture: Image

    @classmethod
    def of(cls, words: str) -> "SentPicture":
        commands = words.removesuffix("\x1b\\").split("\x1b\\")
        heads = [command.partition(";")[0] for command in commands]
        parts = [command.partition(";")[2] for command in commands]
        assert all(head.startswith("\x1b_G") for head in heads)
        assert all(len(part) <= 4096 for part in parts)
        keys = dict(
            key.split("=") for key in heads[0].removeprefix("\x1b_G").split(",")
        )
        return cls(keys, Pillow.open(io.BytesIO(base64.b64decode("".join(parts)))))


def test_kittys_graphics_are_drawn_by_characters_of_one_cell() -> None:
    figure = Drawer(ImageMode.KITTY, lambda words: None).figure(
        png("#ff0000", (900, 600))
    )
    columns, rows = figure.cells_in(60)
    drawn = [figure.row(row, columns, rows) for row in range(rows)]
    assert [sum(cell.cell_length for cell in row) for row in drawn] == [columns] * rows
    # the third row, the sixth column
    assert drawn[2][5].text == "\U0010eeee\u030e\u033d"


def test_a_picture_is_sent_to_kitty_with_its_size_and_the_number_that_its_colour_is() -> (
    None
):
    sent: list[str] = []
    figure = Drawer(ImageMode.KITTY, sent.append).figure(png("#ff0000", (900, 600)))
    columns, rows = figure.cells_in(60)
    assert not sent
    cell = figure.row(0, columns, rows)[0]
    (words,) = sent
    message = SentPicture.of(words)
    assert message.picture.size == (800, 533)
    assert (message.keys["a"], message.keys["U"], message.keys["q"]) == (
        "T",
        "1",
        "2",
    )
    assert (message.keys["c"], message.keys["r"]) == (str(columns), str(rows))
    color = cell.style.color.triplet
    assert int(message.keys["i"]) == color.red << 16 | color.green << 8 | color.blue


def test_kittys_graphics_are_sent_once_for_each_size_and_deleted_together() -> None:
    sent: list[str] = []
    drawer = Drawer(ImageMode.KITTY, sent.append)
    figure = drawer.figure(png("#ff0000", (900, 600)))
    columns, rows = figure.cells_in(60)
    for row in range(rows):
        figure.row(row, columns, rows)
    figure.limited(40).row(0, columns, rows)
    assert len(sent) == 1
    number = SentPicture.of(sent[0]).keys["i"]
    figure.row(0, 30, 10)
    assert len(sent) == 2
    drawer.clear()
    deletions = [command for command in sent[2:] if f"i={number}" in command]
    assert len(deletions) == 1
    assert "a=d,d=I" in deletions[0]
    figure.row(0, 900, 300)  # more columns than the protocol counts
    assert len(sent) == 4


def test_a_picture_is_decoded_scaled_and_put_on_white() -> None:
    picture = unpack(png("#00000000", (3000, 2500), "RGBA"))
    assert (picture.width, picture.height, picture.kind) == (3000, 2500, "PNG")
    assert picture.pixels.width <= 2400
    assert picture.pixels.mode == "RGB"
    assert picture.pixels.getpixel((5, 5)) == (255, 255, 255)


def test_a_picture_that_would_fill_the_memory_is_refused_before_it_is_unpacked() -> (
    None
):
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
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
        await until_shown(pilot, "Picture 1 of 2 · 60 × 40 · PNG")
        assert "A red flag." in text_of(app)
        await until(pilot, lambda: "▀" in text_of(app) or "▄" in text_of(app))
        assert any(
            style.color and style.color.triplet == (255, 0, 0) for style in _styles(app)
        )
        await pilot.press("right")
        await until_shown(pilot, "The drawing is damaged")
        assert "The coast, drawn." in text_of(app)
        await pilot.press("right")
        await until_shown(pilot, "Picture 1 of 2 · 60")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ImageScreen))


async def test_a_click_on_its_words_opens_a_picture_and_a_click_closes_it(
    tmp_path: Path,
) -> None:
    _, page = illustrated(tmp_path)
    app = app_on(page, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        row = next(
            index for index, line in enumerate(lines(app)) if "A red flag" in line
        )
        await pilot.click(offset=(lines(app)[row].index("A red flag") + 3, row))
        await until_shown(pilot, "Picture 1 of 2")
        keys = app.screen.query_one("#viewer-keys").content_region
        line = lines(app)[keys.y]
        await pilot.click(offset=(line.index("close"), keys.y))
        await until(pilot, lambda: not isinstance(app.screen, ImageScreen))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("images", "begins"), [("kitty", b"\x1b_G"), ("blocks", "▀".encode())]
)
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
