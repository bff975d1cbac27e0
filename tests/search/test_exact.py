"""Exact search ignores typography."""

import pytest

from gistread.search.book_search import FoldedText


def found(text: str, words: str) -> list[str]:
    return [text[start:end] for start, end in FoldedText(text).find(words)]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("The Rain, the RAIN", "rain", ["Rain", "RAIN"]),
        ("It was the\nrain, and  the\n\nrain", "the rain", ["the\nrain", "the\n\nrain"]),
        ("“Don’t go,” he said", '"don\'t go,"', ["“Don’t go,”"]),
        ('"Don\'t go," he said', "“don’t", ["\"Don't"]),
        ("He went—slowly", "went--slowly", ["went—slowly"]),
        ("He went--slowly", "went—slowly", ["went--slowly"]),
        ("And then…", "then...", ["then…"]),
        ("Natásha sang", "natasha", ["Natásha"]),
        ("Natasha sang", "natásha", []),
        ("die Straße", "strasse", []),
        ("die Strasse", "straße", ["Strasse"]),
        ("nach Ærø", "Ærø", ["Ærø"]),
        ("Über ÜBER", "über", ["Über", "ÜBER"]),
        ("草枕を読む", "草枕", ["草枕"]),
        ("a.b axb", "a.b", ["a.b"]),
        ("1+1=2 (sic) [x] \\", "(sic) [x] \\", ["(sic) [x] \\"]),
        ("anything", "   ", []),
        ("aaaa", "aa", ["aa", "aa"]),
        ("the café, the CAFÉ, the cafe", "cafe", ["café", "CAFÉ", "cafe"]),
        ("Rain, rain, RAIN", "Rain", ["Rain"]),
        ("Élan, élan, Elan", "Elan", ["Élan", "Elan"]),
        ("Élan, élan, Elan", "Élan", ["Élan"]),
        ("Князь, князь", "князь", ["Князь", "князь"]),
        ("İstanbul, istanbul", "istanbul", ["istanbul"]),
        (
            "well-known well--known well—known",
            "well-known",
            ["well-known", "well--known", "well—known"],
        ),
    ],
)
def test_hits_are_found(text: str, words: str, expected: list[str]) -> None:
    assert found(text, words) == expected
