"""A text that declares no language gets it from its words; chapters and search follow."""

import pytest

from gistread.book.normalise import guess_language
from gistread.book.open import open_bytes
from gistread.search.tokens import Terms

GERMAN = (
    "Der Wärter stieg die Treppe hinauf, und das Licht war nicht mehr zu sehen. Er hatte es mit "
    "sich genommen. "
)
FRENCH = (
    "Le gardien monta dans la tour, et il ne vit pas que la lampe était sur la table. Elle était "
    "à lui. "
)
RUSSIAN = (
    "Он шёл по берегу и не видел, что маяк погас. Это был его дом, но он так "
    "и не вернулся к нему. "
)
HEBREW = "האיש עלה אל המגדל והמנורה כבתה בלילה. "
ENGLISH = (
    "The keeper went up to the lamp, and he saw that it was out; his daughter had not been at "
    "the tower. "
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "de"),
        (FRENCH, "fr"),
        (RUSSIAN, "ru"),
        (HEBREW, "he"),
        (ENGLISH, ""),
        ("今日は雨だった。", "ja"),
        ("xyz " * 99, ""),
    ],
)
def test_the_language_is_guessed_from_the_words(text: str, language: str) -> None:
    assert guess_language(text * 5) == language


def test_search_stems_in_the_language_of_an_undeclared_text() -> None:
    book = open_bytes(
        (
            "Глава первая\n\n" + RUSSIAN * 5 + "\n\nГлава вторая\n\n" + RUSSIAN * 5
        ).encode(),
        "x.txt",
    )
    assert [chapter.title for chapter in book.chapters] == [
        "Глава первая",
        "Глава вторая",
    ]
    terms = Terms(book.language)
    assert terms.stem("маяки") == terms.stem("маяк")


def test_hebrew_chapters_begin_at_their_words() -> None:
    text = "".join(
        f"פרק {number}\n\n{HEBREW * 9}\n\n" for number in ("ראשון", "שני", "ג", "י״ב")
    )
    book = open_bytes(text.encode(), "x.txt")
    assert [chapter.title for chapter in book.chapters] == [
        "פרק ראשון",
        "פרק שני",
        "פרק ג",
        "פרק י״ב",
    ]
