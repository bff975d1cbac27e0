"""The places that an answer rests on."""

from gistread.readers.citations import cite, without_false_references, written_references
from tests.readers.memories import FACTS, make_memory

MEMORY = make_memory()
EVERY = range(1, 9)


def test_the_sentence_with_the_answer_is_cited() -> None:
    (citation,) = cite("Ferrand lost it at cards.", "Where is the silver watch?", MEMORY, [3, 4], EVERY)
    assert (citation.page, citation.quote) == (4, FACTS[3])
    assert MEMORY.book.text[citation.start : citation.end] == citation.quote


def test_only_open_pages_are_cited() -> None:
    citations = cite("Ferrand lost it at cards.", "Where is the silver watch?", MEMORY, [3], EVERY)
    assert {citation.page for citation in citations} <= {3}


def test_without_open_pages_any_page_shown_is_cited() -> None:
    citations = cite("Ferrand lost it at cards.", "Where is the silver watch?", MEMORY, [], EVERY)
    assert [citation.page for citation in citations] == [4]


def test_no_page_is_cited_that_was_not_shown() -> None:
    citations = cite("Ferrand lost it at cards.", "Where is the silver watch?", MEMORY, [], [1, 2])
    assert 4 not in {citation.page for citation in citations}


def test_an_answer_with_nothing_in_common_has_no_citation() -> None:
    assert cite("Zebras gallop.", "Why giraffes?", MEMORY, [3, 4], EVERY) == ()


def test_shared_stop_words_give_no_citation() -> None:
    answer = "He kept at it, and that was all of her."
    assert cite(answer, "Which colour had it?", MEMORY, [1, 7], EVERY) == ()


def test_a_page_that_the_model_names_is_cited_if_it_was_shown() -> None:
    citations = cite("Ferrand lost it at cards [4]. He has a wooden leg [3].", "Who is he?", MEMORY, [4], EVERY)
    assert {3, 4} <= {citation.page for citation in citations}
    assert 99 not in {c.page for c in cite("Ferrand lost it at cards [99].", "What?", MEMORY, [4], EVERY)}


def test_references_are_parsed_in_every_form() -> None:
    assert written_references("So it was [3], and so [4, 7] and [page 8].") == [3, 4, 7, 8]


def test_false_references_are_removed() -> None:
    assert (
        without_false_references("So it was [3], and so [4, 99] again [1809].", {3, 4})
        == "So it was [3], and so [4] again."
    )


def test_citations_are_in_the_order_of_the_book() -> None:
    citations = cite("Ferrand stole the brass key from its nail and confessed.", "Who?", MEMORY, [6, 8], EVERY)
    assert [c.start for c in citations] == sorted(c.start for c in citations)
