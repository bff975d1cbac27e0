"""Which sentences an answer cites.

Those of the passages that the model names, or the nearest ones.
"""

import pytest

from gistread.memory.model import GistMemory, PageSize
from gistread.memory.sizes import unread_memory
from gistread.readers.citations import cite, nearest_sentences
from gistread.readers.evidence import TellingSentences, telling_passage
from gistread.readers.references import References
from tests.memory.books import make_book, with_chapter_titles
from tests.readers.memories import FACTS, make_memory

MEMORY = make_memory()
TEXT = MEMORY.book.text
ALL = [(0, len(TEXT))]
PLACES = [(chapter.start, chapter.end) for chapter in MEMORY.book.chapters]
NUMBERED = dict(enumerate(PLACES, start=1))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            "Somebody played for money and was robbed of his timepiece: a watch of silver.",
            FACTS[3],
        ),
        (
            "The wreck was the schooner Petrel. It struck because no lamp was burning.",
            FACTS[4],
        ),
        ("His wooden leg.", FACTS[2]),
    ],
)
def test_the_first_citation_is_the_sentence_that_tells(
    answer: str, sentence: str
) -> None:
    citations = cite(answer, "What happened to Ferrand?", MEMORY, ALL)
    assert citations[0].quote == sentence
    assert all(
        TEXT[citation.start : citation.end] == citation.quote for citation in citations
    )
    assert MEMORY.page_at(citations[0].start) == MEMORY.entry(citations[0].page).page


def test_words_of_many_sentences_count_where_there_are_few() -> None:
    start = TEXT.index(FACTS[1])
    citations = cite(
        "The brass key.",
        "What hung on a nail?",
        MEMORY,
        [(start, start + len(FACTS[1]))],
    )
    assert [citation.quote for citation in citations] == [FACTS[1]]


def test_a_sentence_that_the_model_was_not_shown_is_cited_unless_the_user_refused_it() -> (
    None
):
    """A model that knows the book tells more than it was shown."""
    answer, start = (
        "The wreck was the schooner Petrel. It struck because no lamp was burning.",
        TEXT.index(FACTS[4]),
    )
    question = answer, "What happened to Ferrand?", MEMORY, PLACES[:1]
    assert nearest_sentences(*question, excluded=())[0][0].quote == FACTS[4]
    refused = nearest_sentences(*question, excluded=[(start, start + len(FACTS[4]))])
    assert FACTS[4] not in [citation.quote for citation, _ in refused]


def test_a_heading_is_no_source() -> None:
    book = make_book(
        [
            "# The Lime Kiln",
            "He was lying in the kiln with his hands tied.",
            "The night was cold.",
        ]
    )
    citations = cite(
        "In the lime kiln.",
        "Where was he?",
        GistMemory(book, PageSize(50, 150), ""),
        [(0, len(book.text))],
    )
    assert "The Lime Kiln" not in [citation.quote for citation in citations]
    assert citations[0].quote.startswith("He was lying in the kiln")


def test_an_imprint_is_no_source() -> None:
    book = make_book(
        ["# Imprint", "This ebook of the lighthouse is free of the keeper’s rights."],
        ["# I", "At night he rowed away. It rained upon the sea."],
    )
    book = with_chapter_titles(book, "Imprint", "I")
    memory = GistMemory(book, PageSize(50, 150), "")
    question = "What did the keeper of the lighthouse do?"
    nearest = nearest_sentences(
        "The keeper rowed away.", question, memory, [(0, len(book.text))], excluded=()
    )
    assert [citation.quote for citation, _ in nearest] == ["At night he rowed away."]


def test_a_number_alone_is_no_source_nor_the_label_of_an_item() -> None:
    book = make_book(
        [
            "Alice fell ill in the bad air.",
            "We sat down about nine o'clock.",
            "Bob fainted at two.",
        ]
    )
    memory = GistMemory(book, PageSize(50, 150), "")
    answer = "Nine people in all:\n\n1. Alice, who fell ill\n2. Bob, who fainted"
    nearest = nearest_sentences(
        answer, "How many were poisoned?", memory, [(0, len(book.text))]
    )
    assert {citation.quote for citation, _ in nearest} == {
        "Alice fell ill in the bad air.",
        "Bob fainted at two.",
    }
    assert (
        cite("At nine.", "When was it?", memory, [(0, len(book.text))])[0].quote
        == "We sat down about nine o'clock."
    )


@pytest.mark.parametrize(
    ("answer", "question", "sentence"),
    [
        (
            'When her hostess pities her for the lost train, she answers: "not tiresome—for me".',
            "How does she look back?",
            "“Oh dear, no,” said she; “not tiresome—for me.”",
        ),
        (
            "The young man asks whether the corn is eaten or not.",
            "What is the riddle?",
            "“Is this corn eaten?” said the young man to him.",
        ),
        (
            "One of them is a man called Tobe.",
            "Why does he not eat?",
            "“That is poor Tobe,” he said, and he looked at the marsh.",
        ),
        (
            "A bell.",
            "Which presents did the King give to Toda?",
            "The fifth of them was a bell.",
        ),
    ],
)
def test_a_quotation_a_question_and_the_words_of_a_statement_find_what_tells(
    answer: str, question: str, sentence: str
) -> None:
    book = make_book(
        [
            "“How tiresome for you,” said her hostess, “losing your train, and all lost with it.”",
            "“Oh dear, no,” said she; “not tiresome—for me.”",
            "The young man had eaten some of his corn.",
            "“Is this corn eaten?” said the young man to him.",
            "“I know no better time for one of his tales, and I do not eat.”",
            "“That is poor Tobe,” he said, and he looked at the marsh.",
            "The King gave many presents to Toda, and Toda thanked the King for these presents.",
            "The fifth of them was a bell.",
        ]
    )
    memory = GistMemory(book, PageSize(50, 150), "")
    citations = cite(answer, question, memory, [(0, len(book.text))])
    assert citations[0].quote == sentence


@pytest.mark.parametrize(
    "answer", ["A giraffe ate the moon.", "It was unkind of the bishop.", ""]
)
def test_unrelated_sentences_are_no_sources(answer: str) -> None:
    assert cite(answer, "What did the giraffe eat?", MEMORY, ALL) == ()


def test_a_cited_passage_gives_its_nearest_sentence_in_the_order_of_the_references() -> (
    None
):
    citations = cite(
        "He confessed the theft [1]. Earlier he gambled away a watch. [2]",
        "Why?",
        MEMORY,
        [],
        PLACES[7:2:-4],
    )
    assert [citation.quote for citation in citations] == [FACTS[7], FACTS[3]]
    places = [PLACES[7], (0, len(TEXT)), PLACES[3]]
    several = cite(
        "He confessed the theft. [1][2] Earlier he gambled away a watch. [3]",
        "Why?",
        MEMORY,
        [],
        places,
    )
    assert [citation.quote for citation in several] == [FACTS[7], FACTS[7], FACTS[3]]
    late = cite(
        "Earlier he gambled away a watch. It was his ruin [1].",
        "Why?",
        MEMORY,
        [],
        [(0, len(TEXT))],
    )
    # The words of the sentence before count too
    assert [citation.quote for citation in late] == [FACTS[3]]
    strange = cite("Nothing alike [1].", "Why?", MEMORY, [], PLACES[:1])
    assert [citation.page for citation in strange] == [1]


@pytest.mark.parametrize(
    ("written", "shown", "cited"),
    [
        (
            "So it was [3], and so [1, 3] again.",
            "So it was [1], and so [2][1] again.",
            (3, 1),
        ),
        (
            "So [page 2], or [passages 4 and 5] or [6-8].",
            "So [1], or [2][3] or [4][5][6].",
            (2, 4, 5, 6, 7, 8),
        ),
        ("It was in 1809 [99].", "It was in 1809.", ()),
        (
            "[He] left [the house] in [1809], they say.",
            "[He] left [the house] in, they say.",
            (),
        ),
    ],
)
def test_references_are_renumbered_as_they_are_written(
    written: str, shown: str, cited: tuple[int, ...]
) -> None:
    whole = References(NUMBERED)
    assert whole.add(written) + whole.rest() == shown
    by_letters = References(NUMBERED)
    assert "".join(map(by_letters.add, written)) + by_letters.rest() == shown
    assert by_letters.cited == tuple(NUMBERED[number] for number in cited)


def test_without_numbers_in_the_prompt_brackets_stay() -> None:
    assert References({}).add("So it was [3].") == "So it was [3]."


def test_two_statements_that_cite_one_passage_get_a_number_for_each_sentence() -> None:
    place = (0, len(TEXT))
    references = References({4: place}, TellingSentences("What happened?", MEMORY))
    answer = "He confessed the theft [4]. Earlier he gambled away a watch [4]. He confessed. [4]"
    kept = references.add(answer) + references.rest()
    assert (
        kept
        == "He confessed the theft [1]. Earlier he gambled away a watch [2]. He confessed. [1]"
    )
    sources = cite(kept, "What happened?", MEMORY, [], references.cited)
    assert [citation.quote for citation in sources] == [FACTS[7], FACTS[3]]


def test_a_stub_of_dialogue_is_no_better_a_source_than_the_sentence_that_tells() -> (
    None
):
    book = make_book(
        [
            "“A sign,” he said.",
            "“It is this,” I answered, producing a trowel from beneath my cloak as a sign.",
        ]
    )
    memory = unread_memory(book)
    sources = cite(
        "As a sign he produces a trowel.",
        "What sign does he give?",
        memory,
        [(0, len(book.text))],
    )
    assert "trowel" in sources[0].quote


def test_a_note_has_its_sentence_with_neighbours_or_its_whole_place_if_that_is_in_doubt() -> (
    None
):
    whole = ALL[0]
    note = "He confessed that he had stolen the key to find the ledger."
    start, end = telling_passage(note, "What did Ferrand do?", whole, MEMORY)
    assert FACTS[7] in TEXT[start:end]
    assert end - start < len(TEXT) // 2
    in_doubt = "Ferrand drank and had a leg of wood."
    assert telling_passage(in_doubt, "What did Ferrand do?", whole, MEMORY) == whole
    german = telling_passage(in_doubt, "Was tat Ferrand mit dem Bein?", whole, MEMORY)
    assert german != whole
