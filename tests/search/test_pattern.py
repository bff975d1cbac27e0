"""Regular expressions match and cannot hang the program."""

import contextlib
import time

import pytest

from gistread.search.book_search import PatternError, find_pattern

AS = "a" * 60_000 + "c"


def hits(text: str, expression: str) -> list[str]:
    return [text[start:end] for start, end in find_pattern(text, expression)]


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ("The Rain, the rain", "rain", ["Rain", "rain"]),
        ("The Rain, the rain", "Rain", ["Rain"]),
        ("The Rain, the rain", r"\Brain|R\w+", ["Rain"]),
        ("One\\n\\nTwo".replace("\\n", "\n"), r"^\w+$", ["One", "Two"]),
        ("the\nrain", r"the\s+rain", ["the\nrain"]),
        ("Ünter über", r"\büber", ["über"]),
        ("aXbX", "x*", ["X", "X"]),
        ("anything", "", []),
        ("草枕を読む", r"\p{Han}+", ["草枕", "読"]),
    ],
)
def test_hits_are_found(text: str, expression: str, expected: list[str]) -> None:
    assert hits(text, expression) == expected


@pytest.mark.parametrize(
    "expression",
    ["[", "(", "a{2,1}", "*", "(?P<x", r"\p{Zork}", "(?<=", "(" * 400, "a" * 501],
)
def test_an_invalid_expression_is_explained(expression: str) -> None:
    with pytest.raises(PatternError) as caught:
        hits("some text", expression)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("expression", ["(a+)+b", "(a|aa)+$", "(?R)?a(?R)"])
def test_a_slow_expression_is_stopped(expression: str) -> None:
    with pytest.raises(PatternError, match=r"takes longer than 0\.05 s"):
        list(find_pattern(AS, expression, seconds=0.05))


@pytest.mark.parametrize("expression", ["(.*)*x{3}", "(?e)(?:natasha){e<=6}"])
def test_an_expression_that_looks_slow_ends_in_time(expression: str) -> None:
    began = time.process_time()
    with contextlib.suppress(PatternError):
        list(find_pattern(AS, expression, seconds=0.05))
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "expression",
    [
        "((a{1000}){1000}){1000}",
        "(?:(?:(?:a{1,99}){1,99}){1,99}){1,99}z",
        "(?:x?){9000}(?:x?){9000}",
        "a{99999999999999999999}",
    ],
)
def test_an_expression_of_too_many_repetitions_is_refused(expression: str) -> None:
    with pytest.raises(PatternError, match="multiply to more than"):
        list(find_pattern(AS, expression))
