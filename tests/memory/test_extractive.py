"""Gists made of a page's own sentences."""

from gistread.memory.extractive import extract, quote
from tests.memory.test_gisting import PAGE


def test_extracts_are_whole_sentences_in_order() -> None:
    gist = extract(PAGE, 45)
    places = [PAGE.index(sentence) for sentence in gist.rstrip(".").split(". ")]
    assert places == sorted(places)
    assert len(places) > 1


def test_an_extract_prefers_the_main_words_of_the_page() -> None:
    aside = "Gulls wheel."
    assert aside not in extract(f"{PAGE} {aside}", 40)
    assert "boat" in extract(PAGE, 40)


def test_a_speech_that_began_before_a_sentence_gets_its_marks() -> None:
    page = (
        "“It is cold here, Hastings. I shall light the fire,” said Poirot. He knelt at the grate "
        "and struck a match."
    )
    assert quote(page, "It is cold.", 6) == "“It is cold here, Hastings.”"
    assert (
        quote(page, "Poirot lights the fire.", 8)
        == "“I shall light the fire,” said Poirot."
    )
