"""Paragraphs are wrapped into rows that fit and lose only white space."""

import re
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from gistread.tui.text import word_breaks
from gistread.tui.text.cells import clean
from gistread.tui.text.wrap import wrap

PROSE = st.text(alphabet="abc defg—-–’” .,\n", max_size=200)
MIXED = st.lists(
    st.one_of(
        st.sampled_from("ab c\n —-"),
        st.sampled_from("时间旅行者，。「」（）ー゛がガ한글"),
        st.sampled_from("กเโะาำๆ่ລາເຳក្ន់ើလွတ်သ္ဒ"),
        st.sampled_from(
            [
                "e\u0301",
                "👩\u200d👩\u200d👧",
                "❤\ufe0f",
                "🇩🇪",
                "👍🏽",
                "\u200b",
                "\u200d",
                "\ufe0f",
                "\u3000",
            ]
        ),
    ),
    max_size=80,
).map("".join)
ANY = st.text(max_size=120)


def rows(text: str, width: int, **indents: Any) -> list[str]:
    return [text[start:end] for start, end in wrap(text, width, **indents)]


@given(st.one_of(PROSE, MIXED, ANY).map(clean), st.integers(2, 40))
@example("。" * 7, 2)
@example("🇩🇪🇫🇷", 3)
def test_no_row_is_wider_than_the_width(text: str, width: int) -> None:
    assert all(cell_len(row) <= width for row in rows(text, width))


@given(st.one_of(PROSE, MIXED, ANY).map(clean), st.integers(1, 40))
def test_rows_are_consecutive_and_lose_only_white_space(text: str, width: int) -> None:
    spans = wrap(text, width)
    assert spans
    position = 0
    for start, end in spans:
        assert position <= start <= end
        assert not text[position:start].replace("\u200b", "").strip()
        position = end
    assert not text[position:].replace("\u200b", "").strip()


@given(st.text(alphabet="ab \n", max_size=100), st.integers(1, 20))
def test_each_line_feed_starts_a_row(text: str, width: int) -> None:
    spans = wrap(text, width)
    assert len(spans) >= text.count("\n") + 1
    assert all("\n" not in text[start:end] for start, end in spans)


@given(st.text(alphabet="abcd e", max_size=120), st.integers(1, 30))
def test_both_wrapping_algorithms_agree(text: str, width: int) -> None:
    # An ideograph in another line sends the whole paragraph the measured way.
    measured = wrap(f"{text}\n字", max(width, 2))
    assert measured[:-1] == wrap(text, max(width, 2))


def test_a_row_may_end_after_a_dash_but_not_before_a_closing_quote() -> None:
    assert rows("dimensions—why not", 12) == ["dimensions—", "why not"]
    assert rows("“But why—” he", 9) == ["“But", "why—” he"]
    assert rows("a travel-worn man", 11) == ["a travel-", "worn man"]
    assert rows("minus -5 degrees", 7) == ["minus", "-5", "degrees"]


def test_no_break_space_holds_words_together() -> None:
    assert rows("Mr.\u00a0Darcy and", 10) == ["Mr.\u00a0Darcy", "and"]
    assert rows("see Mr.\u00a0Darcy", 11) == ["see", "Mr.\u00a0Darcy"]


def test_chinese_breaks_between_characters_but_never_before_closing_punctuation() -> (
    None
):
    assert rows("时间旅行者的机器", 8) == ["时间旅行", "者的机器"]
    assert rows("时间旅行，机器", 8) == ["时间旅", "行，机器"]
    assert all(row[0] not in "：”。" for row in rows("他说：“你好”。", 6))


def test_joined_emoji_and_flags_are_not_torn() -> None:
    family = "👩\u200d👩\u200d👧"
    assert rows(family * 3, 4) == [family * 2, family]
    assert rows("🇩🇪🇫🇷", 3) == ["🇩🇪", "🇫🇷"]


def test_combining_marks_have_no_width() -> None:
    assert rows("e\u0301" * 6, 3) == ["e\u0301" * 3] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("เขาทำงานเป็นคนแจวเรือข้ามฟากทุกวันโดยไม่เคยหยุดพัก", "เขา ทำงาน ทุก วัน โดย ไม่ เคย พัก"),
        ("ມະນຸດທຸກຄົນເກີດມາມີກຽດສັກສີ", "ມະນຸດ ທຸກຄົນ ເກີດ ກຽດສັກສີ"),
        ("មនុស្សទាំងអស់កើតមកមានសេរីភាព", "មនុស្ស ទាំងអស់ កើតមក សេរីភាព"),
        ("လူတိုင်းသည်တူညီလွတ်လပ်သော", "လူ တိုင်း သည် တူညီ လွတ်လပ်"),
    ],
)
def test_rows_without_spaces_end_between_words(text: str, words: str) -> None:
    for width in range(12, 30):
        broken = "|".join(rows(text, width))
        assert [word for word in words.split() if word not in broken] == []


# A place where a reader of the script sees a character cut in two
_CUT = re.compile(
    r"[เแโใไເແໂໃໄ္្]\||\|[ะาำๅๆະາຳ\u0e31\u0e34-\u0e3a\u17b6-\u17d2\u102b-\u103e]"
)


@pytest.mark.parametrize(
    "text", ["เรือข้ามฟากทำไมโดยไม่", "ទាំងអស់ក្នុងផ្នែក", "သိက္ခာလွတ်လပ်", "ເກີດມາເຳລ"]
)
def test_without_a_dictionary_no_row_ends_inside_a_cluster(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    word_breaks._word_ends.cache_clear()
    for width in range(4, 12):
        assert _CUT.findall("|".join(rows(text, width))) == []
    word_breaks._word_ends.cache_clear()


def test_words_are_placed_rightly_behind_characters_beyond_the_first_plane() -> None:
    text = "👍🏽𝒜" * 3 + "เขาทำงานเป็นคนแจวเรือ"
    broken = "|".join(rows(text, 18))
    assert [word for word in ("เขา", "ทำงาน", "แจว", "เรือ") if word not in broken] == []
