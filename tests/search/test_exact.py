"""Exact search finds what a person types, whatever the typesetter made of it."""

import time

import pytest

from gistread.search.exact import find


def found(text: str, words: str, *, whole_words: bool = False) -> list[str]:
    return [text[start:end] for start, end in find(text, words, whole_words=whole_words)]


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
        ("Über ÜBER", "über", ["Über", "ÜBER"]),
        ("草枕を読む", "草枕", ["草枕"]),
        ("a.b axb", "a.b", ["a.b"]),
        ("1+1=2 (sic) [x] \\", "(sic) [x] \\", ["(sic) [x] \\"]),
        ("anything", "   ", []),
        ("aaaa", "aa", ["aa", "aa"]),
    ],
)
def test_finds(text: str, words: str, expected: list[str]) -> None:
    assert found(text, words) == expected


def test_whole_words_only_where_asked_for() -> None:
    text = "art, party, Art. start"
    assert len(found(text, "art")) == 4
    assert found(text, "art", whole_words=True) == ["art", "Art"]
    assert found("He said “art”", '"art"', whole_words=True) == ["“art”"]


def test_hits_come_one_by_one() -> None:
    hits = find("rain " * 600_000, "rain")
    start = time.process_time()
    assert next(hits) == (0, 4)
    assert time.process_time() - start < 0.5
