"""Reads the marks of Aozora Bunko's plain texts: readings, headings, notes for typesetters."""

import re
from dataclasses import dataclass

from gistread.book.builder import Metadata
from gistread.words import count_words

# Title and author, then a box that explains the marks.
_BOX = re.compile(r"^-{20,}\n(?P<legend>[^-]{0,3000}?)\n-{20,}\n", re.MULTILINE)
_HEAD_CHARACTERS = 4000
_LEGEND = "【テキスト中に現れる記号について】"
# "［＃改ページ］"
_NOTE = re.compile("［＃[^］\n]{1,300}］")
_FEWEST_MARKS = 2

_IDEOGRAPHS = (
    "\u2e80-\u2fdf々〆〇ヶ\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# "河《かわ》"; "｜" begins the words if they are not only ideographs: "｜お河《おかわ》".
_READING = re.compile(
    rf"｜(?P<marked>[^《｜\n]{{1,100}})《(?P<first>[^》\n]{{1,100}})》"
    rf"|(?P<word>[{_IDEOGRAPHS}]{{1,40}})《(?P<second>[^》\n]{{1,100}})》"
)
# "［＃「一」は中見出し］" after a heading, "［＃中見出し］" before it.
_HEADING = re.compile(
    r"［＃「(?P<title>[^」\n]+)」は(?:同行|窓)?(?P<size>[大中小])見出し］"
)
_HEADING_BEGINS = re.compile(r"［＃(?:同行|窓)?(?P<size>[大中小])見出し］")
_LEVELS = {"大": "#", "中": "##", "小": "###"}
# A character that Shift-JIS lacks, by its place in JIS X 0213 ("第3水準1-85-54") or by its code
# point ("U+5C45").
_RARE_CHARACTER = re.compile(
    r"※［＃[^］\n]{0,200}?(?:第[34]水準(?P<place>\d-\d{1,2}-\d{1,2})"
    r"|U\+(?P<code>[0-9A-F]{4,6}))[^］\n]{0,200}］"
)


# Each byte of EUC is a number of JIS X 0213 with this added; a byte before them selects plane 2.
_EUC = 0xA0
_SECOND_PLANE = 2
_TO_SECOND_PLANE = b"\x8f"


@dataclass(frozen=True, slots=True)
class AozoraText:
    text: str  # With headings as in Markdown, and readings in brackets
    metadata: Metadata
    left_out: int  # Words of the legend and of notes for typesetters


def read_aozora(text: str) -> AozoraText | None:
    """The text without Aozora's marks; None if it has none.

    >>> read_aozora("［＃改ページ］\\n河《かわ》を見た。［＃「見」に傍点］").text
    '\\n河（かわ）を見た。'
    """
    box = _BOX.search(text[:_HEAD_CHARACTERS])
    has_legend = box is not None and _LEGEND in box["legend"]
    if not has_legend and len(_NOTE.findall(text)) < _FEWEST_MARKS:
        return None
    metadata = Metadata(language="ja")
    left_out = 0
    if box is not None and has_legend:
        head = text[: box.start()]
        metadata = _metadata_in(head)
        left_out = count_words(box["legend"])
        text = f"{head}\n{text[box.end() :]}"
    text = _RARE_CHARACTER.sub(_rare_character, text)
    left_out += count_words(" ".join(_NOTE.findall(text)))
    text = "\n".join(_with_heading(line) for line in text.split("\n"))
    text = _NOTE.sub("", text)
    text = _READING.sub(_with_reading, text)
    return AozoraText(text, metadata, left_out)


def _metadata_in(head: str) -> Metadata:
    """The title is the first line of the head, the author the last."""
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    if not lines:
        return Metadata(language="ja")
    title, *others = lines
    return Metadata(title=title, authors=tuple(others[-1:]), language="ja")


def _rare_character(match: re.Match[str]) -> str:
    """The character that a match of `_RARE_CHARACTER` describes."""
    if match["code"]:
        return chr(int(match["code"], 16))
    plane, row, cell = map(int, match["place"].split("-"))
    encoded = bytes((row + _EUC, cell + _EUC))
    if plane == _SECOND_PLANE:
        encoded = _TO_SECOND_PLANE + encoded
    return encoded.decode("euc_jis_2004", "replace")


def _with_heading(line: str) -> str:
    """The line as a heading of Markdown, if a note calls it one."""
    heading = _HEADING.search(line) or _HEADING_BEGINS.search(line)
    if heading is None:
        return line
    title = _NOTE.sub("", line).strip()
    if not title:
        return ""
    return f"\n{_LEVELS[heading['size']]} {title}\n"


def _with_reading(match: re.Match[str]) -> str:
    word = match["marked"] or match["word"]
    return f"{word}（{match['first'] or match['second']}）"
