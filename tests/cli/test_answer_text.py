"""An answer on a terminal has its Markdown drawn, however it arrives."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gistread.cli import answer_text
from gistread.cli.answer_text import AnswerPrinter, print_answer
from gistread.tui import answer_markup
from gistread.tui.answer_markup import drawn_text
from gistread.tui.text import Span

BOLD = "\x1b[1m"
PLAIN = "\x1b[22m"
ITALIC = "\x1b[3m"
UPRIGHT = "\x1b[23m"
ANSWER = """The wines, in **order**:

- **Port**, drunk *first* [1]
- snake_case, 2 * 3 and `code`
10. Sherry **and so
# What followed

| Name | **Age** |
|---|:--|
| Ann | 3 |
| Bartholomew | 44 |

They left on foot. [2]"""
DRAWN = f"""The wines, in {BOLD}order{PLAIN}:

• {BOLD}Port{PLAIN}, drunk {ITALIC}first{UPRIGHT} [1]
• snake_case, 2 * 3 and code
10. Sherry and so
{BOLD}What followed{PLAIN}

{BOLD}Name        │ {BOLD}Age{PLAIN}{PLAIN}
Ann         │ 3
Bartholomew │ 44

They left on foot. [2]
"""


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")


def printed(pieces: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    written: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(answer_text, "write_drawn", written.append)
        printer = AnswerPrinter()
        for piece in pieces:
            printer.add(piece)
        printer.end()
    return "".join(written)


def without_styles(text: str) -> str:
    return re.sub("\x1b\\[\\d+m", "", text)


def test_a_whole_answer_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(ANSWER)
    assert capsys.readouterr().out == DRAWN


@given(st.lists(st.integers(1, 12), min_size=1))
def test_an_answer_in_pieces_reads_the_same(lengths: list[int]) -> None:
    pieces: list[str] = []
    rest = ANSWER
    while rest:
        length = lengths[len(pieces) % len(lengths)]
        pieces.append(rest[:length])
        rest = rest[length:]
    assert without_styles(printed(pieces, pytest.MonkeyPatch())) == without_styles(
        DRAWN
    )


@given(st.text("ab *_`#|-\n1.[]", max_size=60), st.integers(1, 5))
def test_no_word_of_an_answer_is_lost_or_printed_twice(text: str, length: int) -> None:
    pieces = [text[at : at + length] for at in range(0, len(text), length)]
    words = re.findall(r"[ab1]+", text)
    in_pieces = without_styles(printed(pieces, pytest.MonkeyPatch()))
    assert "".join(re.findall(r"[ab1]+", in_pieces)) == "".join(words)


def test_words_are_printed_as_they_come_and_a_sign_waits_for_its_end() -> None:
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patched:
        written: list[str] = []
        patched.setattr(answer_text, "write_drawn", written.append)
        printer = AnswerPrinter()
        shown = []
        for piece in ("He took", " **the", " key**", " away"):
            printer.add(piece)
            shown.append("".join(written))
    assert shown == [
        "He took",
        "He took ",
        "He took ",
        f"He took {BOLD}the key{PLAIN} away",
    ]


def test_a_long_line_is_not_drawn_again_for_each_word() -> None:
    drawn: list[int] = []

    def draw(text: str, cells: int) -> tuple[str, tuple[Span, ...]]:
        drawn.append(len(text))
        return drawn_text(text, cells)

    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patched:
        patched.setattr(answer_markup, "drawn_text", draw)
        printed(["a **bold** word "] * 200, patched)
    assert max(drawn) < 40


def test_control_characters_of_a_model_stay_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_answer("a\x1b[2Jb **c\x07**")
    assert capsys.readouterr().out == f"a\ufffd[2Jb {BOLD}c\ufffd{PLAIN}\n"


def test_a_dumb_terminal_gets_no_styles(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    print_answer("- **Port**")
    assert capsys.readouterr().out == "• Port\n"
