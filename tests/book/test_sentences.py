"""Sentences cover the text, end correctly, and take linear time."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gistread.book.sentences import LONGEST_CHARACTERS, sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["It rained.", "It rained again!", "Did it?", "Yes…", "It did."],
        ["Mr. Smith met Dr. J. R. Jones on St. James St. yesterday.", "They talked."],
        ["It cost 3.50 dollars.", "He paid."],
        ["He was born in 1850.", "She was not."],
        ["“Go!” said he.", "“I will not.”", "He went."],
        ["He left at 5 p.m. yesterday.", "She stayed."],
        ["He left at 5 p.m.", "She stayed."],
        ["Bread, cheese, etc. were bought.", "They ate."],
        ["King Charles I. was dead.", "Nobody wept."],
        ["It was I.", "He knew."],
        ["Das ist z.B. ein Satz.", "Hr. Meier kam um 3 Uhr.", "Gut."],
        [
            "Das gilt z. B. für Berlin, d. h. nicht überall.",
            "Er kam am 3. Januar in den 2. Stock.",
        ],
        ["Er hatte 12 Mark.", "Am Ende blieben ihm 3.", "Das war alles."],
        ["Vino el Sr. Pérez, p. ej. ayer, de los EE. UU. del Norte.", "Se fue."],
        ["Il sig. Rossi, p. es. oggi, tace.", "Va via."],
        ["Они взяли хлеб, соль и т. д.", "Потом ушли.", "Это было в т. ч. и твоё."],
        ["El Sr. García vino.", "Se fue.", "John Smith Sr.", "He left."],
        ["Veda pag. 3 del libro.", "Basta."],
        ["Он жил в г. Твери, на ул. Ленина, д. 5.", "Умер в 1812 г.", "Пётр уехал."],
        ["« Où es-tu ? »", "Il ne répondit pas."],
        ["»Wo bist du?«", "Er schwieg.", "»Hier.«"],
    ],
)
def test_sentences_end_where_a_reader_ends_them(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


def test_full_stops_without_spaces_end_sentences() -> None:
    assert sentences("今日は雨。「はい。」と言った。本当？そう！") == [
        "今日は雨。",
        "「はい。」と言った。",
        "本当？",
        "そう！",
    ]


def test_a_paragraph_ends_a_sentence() -> None:
    assert sentences("Chapter I\n\nIt rained") == ["Chapter I", "It rained"]


@given(st.text(alphabet=st.sampled_from('aI .!?\n"”。」1x'), max_size=300))
def test_every_visible_character_is_in_one_sentence(text: str) -> None:
    spans = sentence_spans(text)
    assert all(0 <= start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(
        text.split()
    )


@pytest.mark.parametrize(
    "text",
    [
        "word " * 200_000,
        "x" * 1_000_000,
        "." * 1_000_000,
        "!x" * 500_000,
        '."' * 500_000,
        "a. " * 333_000,
        "a" + " " * 1_000_000,
    ],
    ids=["words", "letters", "dots", "marks", "quotes", "initials", "spaces"],
)
def test_a_megabyte_takes_seconds_at_most_and_no_sentence_is_too_long(
    text: str,
) -> None:
    start = time.process_time()
    spans = sentence_spans(text)
    assert time.process_time() - start < 3
    assert all(end - start <= LONGEST_CHARACTERS for start, end in spans)


def test_quotation_marks_and_numbers_of_other_languages() -> None:
    for sentences in (
        ["Er sagte: „Das ist weit.“", "Danach schlief er."],
        ["Il dit : « C'est l'art. 5, cf. p. 12. »", "Puis il s'endormit."],
        ["Он приехал к гр. Ростову.", "Потом он уснул."],
        ["She loved art.", "Nobody knew."],
    ):
        text = " ".join(sentences)
        assert [text[start:end] for start, end in sentence_spans(text)] == sentences
