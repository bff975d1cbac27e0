"""Old encodings: the letters of forty languages, damage, and lines in another encoding."""

import tomllib
from pathlib import Path

import pytest

from gistread.book.formats.encoding import decode
from tests.benchmarks.encodings import ENCODINGS, as_written, letters

TEXTS = tomllib.loads(Path(__file__).with_name("declaration.toml").read_text("utf-8"))
PAIRS = [
    (language, encoding)
    for language in TEXTS
    for encoding in ENCODINGS[language]
    if as_written(TEXTS[language], encoding) is not None
]
CHINESE = "　　雨下了一整天，老人坐在窗边，望着河水，想起从前的事情。\n"
JAPANESE = "　老人は河を見ていた。雨が降っていた。「舟が来る」と彼は言った。\n"
KOREAN = "노인은 강을 바라보았다. 밤새 비가 내렸다. 아무도 오지 않았다.\n"
MULTIBYTE = [
    ("gb18030", CHINESE),
    ("big5", "　　雨下了一整天，老人坐在窗邊，望著河水，想起從前的事情。\n"),
    ("cp949", KOREAN),
    ("euc_jp", JAPANESE),
    ("cp932", JAPANESE),
]


def text_of(data: bytes) -> str:
    decoded = decode(data)
    assert decoded is not None
    return decoded.text


@pytest.mark.parametrize(("language", "encoding"), PAIRS)
def test_a_page_in_an_old_encoding_has_its_letters(
    language: str, encoding: str
) -> None:
    text = as_written(TEXTS[language], encoding)
    assert text is not None
    assert letters(text_of(text.encode(encoding))) == letters(text)


@pytest.mark.parametrize(("encoding", "line"), MULTIBYTE)
class TestDamage:
    def test_a_stray_byte_is_one_replacement_character(
        self, encoding: str, line: str
    ) -> None:
        half = line.encode(encoding) * 50
        decoded = decode(half + b"\xff\n" + half)
        assert decoded is not None
        assert decoded.text == line * 50 + "\ufffd\n" + line * 50
        assert decoded.replaced == 1

    def test_after_a_byte_within_a_character_the_line_goes_on(
        self, encoding: str, line: str
    ) -> None:
        encoded = line.encode(encoding)
        text = text_of(
            encoded * 50 + encoded[:5] + b"\xff" + encoded[5:] + encoded * 50
        )
        assert text.startswith(line * 50)
        assert text.endswith(line[-12:] + line * 50)
        assert 0 < text.count("\ufffd") <= 3  # The byte, and the halves around it

    def test_half_a_character_ends_with_its_line(
        self, encoding: str, line: str
    ) -> None:
        half = line.encode(encoding) * 50
        cut_off = line[0].encode(encoding)[:1] + b"\n"
        assert text_of(half + cut_off + half) == line * 50 + "\ufffd\n" + line * 50

    def test_a_line_in_utf8_is_read_as_such(self, encoding: str, line: str) -> None:
        encoded = line.encode(encoding) * 50
        assert text_of(encoded + line.encode() + encoded) == line * 101


def test_a_stray_byte_changes_no_letter_of_a_single_byte_encoding() -> None:
    text = (
        "Жил-был старик у самого синего моря, и жили они тридцать лет и три года. " * 20
    )
    assert letters(text_of(text.encode("koi8-r") + b"\x98\n")).startswith(letters(text))


def test_signs_of_an_encoding_without_letters_decide_it() -> None:
    assert text_of("“Well,” he said—“so be it.” ".encode("mac_roman") * 20).startswith(
        "“Well,”"
    )


ENGLISH = (
    "He put down the letter, and read the last line of it aloud to the others.\n" * 12
)
QUOTED = [
    ("ru", "Жил-был старик у самого синего моря, и было у него трое сыновей."),
    ("uk", "Реве та стогне Дніпр широкий, сердитий вітер завива."),
    ("el", "Στην αρχή ήταν ο λόγος, και ο λόγος ήταν προς τον Θεό."),
    ("he", "בראשית ברא אלהים את השמים ואת הארץ."),
    ("ar", "كان يا ما كان في قديم الزمان ملك له ثلاثة أبناء."),
    ("th", "กาลครั้งหนึ่งนานมาแล้ว มีพระราชาองค์หนึ่ง"),
    ("ja", "老人は河を見ていた。雨が降っていた。「舟が来る」と彼は言った。"),
    ("ko", "옛날 옛적에 한 노인이 강가에 살고 있었습니다."),
]
IN_THEIR_ENCODINGS = [
    (line, encoding)
    for language, line in QUOTED
    for encoding in ENCODINGS[language]
    if encoding not in ("iso2022_jp", "cp855", "cp1125")  # ASCII; hardly used for books
]


@pytest.mark.parametrize(("line", "encoding"), IN_THEIR_ENCODINGS)
def test_an_english_text_that_quotes_another_script_has_its_letters(
    line: str, encoding: str
) -> None:
    text = f"{ENGLISH}{line}\n{ENGLISH}"
    assert letters(text_of(text.encode(encoding))) == letters(text)


def test_a_rare_sign_decides_between_two_encodings_that_are_as_likely() -> None:
    text = TEXTS["es"] * 30 + " Cuando hayas´terminado, ven.\n"
    assert letters(text_of(text.encode("iso8859-1"))) == letters(text)


def test_rows_of_dots_in_an_english_text_are_no_script() -> None:
    text = f"{ENGLISH}“Well……” he said. “At the café…”\n{ENGLISH}"
    assert text_of(text.encode("mac_roman")) == text


def test_a_table_drawn_in_an_english_text_is_no_script() -> None:
    row = "║ Name │ Price ║ Café ║\n╟──────┼───────╫──────╢\n╚══════╧═══════╩══════╝\n"
    text = f"{ENGLISH}╔══════╤═══════╗\n{row}┌──────┐\n│ five │\n└──────┘\n{ENGLISH}"
    assert letters(text_of(text.encode("cp437"))) == letters(text)
