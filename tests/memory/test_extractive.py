"""Gists made of a page's own sentences."""

from gistread.book.normalise import count_words
from gistread.memory.extractive import extract
from tests.memory.test_gisting import PAGE
from tests.memory.test_guard import JAPANESE_PAGE


def test_extracts_are_whole_sentences_in_order() -> None:
    gist = extract(PAGE, 45)
    places = [PAGE.index(sentence) for sentence in gist.rstrip(".").split(". ")]
    assert places == sorted(places)
    assert len(places) > 1


def test_an_extract_stays_within_its_budget() -> None:
    for budget in (20, 40, 60):
        assert count_words(extract(PAGE, budget)) <= budget * 1.1


def test_an_extract_prefers_the_main_words_of_the_page() -> None:
    aside = "Gulls wheel."
    assert aside not in extract(f"{PAGE} {aside}", 40)
    assert "boat" in extract(PAGE, 40)


def test_a_text_within_the_budget_is_kept_whole() -> None:
    assert extract("One line.\n\nAnother line.", 80) == "One line. Another line."


def test_a_very_long_sentence_is_cut_with_an_ellipsis() -> None:
    gist = extract("and then " * 300, 30)
    assert count_words(gist) <= 31
    assert gist.endswith("…")


def test_scripts_without_spaces() -> None:
    gist = extract(JAPANESE_PAGE, 70)
    assert 0 < count_words(gist) <= 77
    assert all(sentence.replace(" ", "") in JAPANESE_PAGE for sentence in gist.split("。"))


def test_an_empty_text_gives_an_empty_extract() -> None:
    assert extract(" \n\n ", 20) == ""


def test_the_extract_of_a_repetitive_page_starts_after_its_heading() -> None:
    found = [f"Marta found the key under the oar at bell {n} of the day." for n in range(9)]
    page = "\n\n".join(["Chapter 4.", *found])
    assert extract(page, 20) == "Marta found the key under the oar at bell 0 of the day."


def test_a_long_run_of_letters_is_cut() -> None:
    gist = extract("x" * 3000, 20)
    assert len(gist) < 300
    assert gist.endswith("…")
