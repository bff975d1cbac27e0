"""PDF pages that draw their text twice: bold, shadows, the text layers of scans."""

from dataclasses import replace

import pytest

from tests.book.make_pdf import Put, Sheet, read, width_of

pytestmark = pytest.mark.process

_LINES = tuple(
    Put(
        50,
        500 - 12 * number,
        f"Line {number} tells of the ferryman and of the river he loved.",
    )
    for number in range(12)
)
_TEXT = " ".join(line.text for line in _LINES)


@pytest.mark.parametrize("shift", [0, 0.3, 1])
def test_lines_drawn_twice_are_read_once(shift: float) -> None:
    shadow = tuple(replace(line, x=line.x + shift, y=line.y - shift) for line in _LINES)
    assert read(Sheet(_LINES + shadow)).text == _TEXT


def test_lines_drawn_again_word_by_word_are_read_once() -> None:
    words = []
    for line in _LINES:
        x = line.x
        for word in line.text.split():
            words.append(replace(line, x=x, text=word))
            x += width_of(f"{word} ", line.size)
    assert read(Sheet((*_LINES, *words))).text == _TEXT


def test_a_visible_line_wins_over_the_invisible_one() -> None:
    layer = tuple(
        replace(line, text=line.text.replace("e", "c"), invisible=True)
        for line in _LINES
    )
    for page in (_LINES + layer, layer + _LINES):
        assert read(Sheet(page)).text == _TEXT


def test_the_text_layer_of_a_scan_is_read_beside_a_visible_stamp() -> None:
    layer = tuple(replace(line, invisible=True) for line in _LINES)
    stamp = Put(50, 560, "Scanned in the library of the town.")
    assert _TEXT in read(Sheet((stamp, *layer), picture=True)).text


def test_a_word_that_stands_twice_on_a_line_stays() -> None:
    line = Put(50, 500, "It rained and it rained and it rained until it stopped.")
    note = Put(50 + width_of(line.text, 10), 503, "it", size=6)
    assert read(Sheet((line, note))).text.startswith(line.text[:-1])
    assert read(Sheet((line, note))).text.count("rained") == 3
