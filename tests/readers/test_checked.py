"""What becomes of an answer that does not hold, whichever reader gave it."""

from dataclasses import replace
from typing import Any

import pytest

from gistread.engine.protocol import NO_USAGE
from gistread.memory.model import GistMemory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.checked import QUOTED, check_answer, missing_names
from gistread.readers.events import Answered, Started
from gistread.readers.model_class import BASIC, LARGE, SMALL, ModelClass
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory

MEMORY = make_memory()
TEXT = MEMORY.book.text
ALL = ((0, len(TEXT)),)
QUESTION = "Who stole the brass key?"
STARTED = Started("gistread", 8, 8, complete=True, share_shown=1.0)
LOOKING_UP = Started("readagent-s", 8, 8, complete=True)
WEAK = ReaderOptions(model=BASIC)


def after_check(
    answer: str,
    options: ReaderOptions = WEAK,
    started: Started = STARTED,
    *,
    question: str = QUESTION,
    memory: GistMemory = MEMORY,
    refused: tuple[int, ...] = (),
    **values: Any,
) -> Answered:
    answered = replace(
        Answered(answer, bool(answer), (), (), (), 0.0, NO_USAGE, seen=ALL), **values
    )
    asking = Asking(
        question, memory, FakeEngine(), Steering(refused=set(refused)), options
    )
    return check_answer(answered, asking, started)


def test_a_supported_answer_is_kept() -> None:
    checked = after_check("Ferrand stole it. Napoleon paid Wellington.")
    assert (checked.answer, checked.found, checked.quoted) == (
        "Ferrand stole it. Napoleon paid Wellington.",
        True,
        False,
    )
    assert [checked.answer[mark.start : mark.end] for mark in checked.marks] == [
        "Napoleon paid Wellington."
    ]


def test_refused_pages_are_not_quoted_though_their_gists_were_shown() -> None:
    gists = tuple(entry.page.number for entry in MEMORY.entries)
    quoted = {
        citation.page for citation in after_check("", seen=(), gists=gists).citations
    }
    assert quoted
    assert not quoted & {
        citation.page
        for citation in after_check(
            "", seen=(), gists=gists, refused=tuple(quoted)
        ).citations
    }


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "As an AI language model, I cannot help with this.",
        "This is a shortened version of the original text.",
        "It was Napoleon.",
    ],
)
def test_an_answer_that_tells_nothing_is_replaced_by_the_closest_sentences(
    answer: str,
) -> None:
    checked = after_check(answer)
    assert (checked.answer, checked.found, checked.quoted, checked.marks) == (
        QUOTED,
        False,
        True,
        (),
    )
    assert 1 <= len(checked.citations) <= 3
    assert all(
        TEXT[citation.start : citation.end] == citation.quote
        for citation in checked.citations
    )
    assert FACTS[5] in {citation.quote for citation in checked.citations}


def test_an_unsupported_answer_is_marked_and_the_closest_sentences_stand_below() -> (
    None
):
    checked = after_check(answer := "The king had a dragon in his palace.")
    assert (checked.answer, checked.found, checked.quoted) == (answer, True, False)
    assert [(mark.start, mark.end, mark.message) for mark in checked.marks] == [
        (0, len(answer), "not supported by the text")
    ]
    assert FACTS[5] in {citation.quote for citation in checked.citations}


@pytest.mark.parametrize("model", [LARGE, SMALL])
@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("Greed drove a lodger to theft.", []),
        ("The king had a dragon.", []),
        ("It was Napoleon.", ["Napoleon"]),
        ("He said, “I know.”", []),
        (
            "The book does not say why he lied; it tells only of the ledger that would hang him.",
            [],
        ),
        ("As an AI language model I would say that Ferrand did.", []),
    ],
)
def test_a_model_that_did_not_fail_its_check_is_never_overwritten(
    model: ModelClass, answer: str, marked: list[str]
) -> None:
    checked = after_check(answer, ReaderOptions(model=model))
    assert (checked.answer, checked.quoted) == (answer, False)
    assert [answer[mark.start : mark.end] for mark in checked.marks] == marked


def test_only_the_agreed_phrase_alone_is_replaced_by_what_was_searched() -> None:
    for phrase in (
        "The book does not say.",
        "the book does not say",
        "Das Buch sagt es nicht.",
    ):
        checked = after_check(phrase, ReaderOptions())
        assert (checked.answer, checked.found) == (
            "Not found in the text that was looked at.",
            False,
        )


@pytest.mark.parametrize(
    ("started", "values", "text"),
    [
        (
            replace(LOOKING_UP, pages_read=1, pages_total=333, complete=False),
            {},
            "Not in the sections read so far (1 of about 333).",
        ),
        (
            LOOKING_UP,
            {"expanded": (3, 7)},
            "Not found in the memory, nor in the sections that were looked at: 3, 7.",
        ),
        (LOOKING_UP, {}, "Not found in the memory; no section was opened."),
        (STARTED, {}, "Not found in the text that was looked at."),
        (
            replace(STARTED, share_shown=0.1),
            {"seen": ((0, len(TEXT) // 10),)},
            "Not found in the passages that were looked at (10% of the text).",
        ),
    ],
)
def test_not_found_names_what_was_looked_at(
    started: Started, values: dict[str, Any], text: str
) -> None:
    checked = after_check("The book does not say.", started=started, **values)
    assert (checked.answer, checked.found, checked.citations) == (text, False, ())


def test_a_weak_model_is_not_believed_about_a_name_that_the_text_lacks() -> None:
    question: dict[str, Any] = {
        "question": "What did the King of Norway, or Ferand, steal?"
    }
    checked = after_check("The brass key.", **question)
    assert (checked.answer, checked.found) == ("The book does not name Norway.", False)
    assert after_check("The brass key.", ReaderOptions(model=LARGE), **question).found
    known = MEMORY.upto(TEXT.index("Ferrand") - 1)
    bounded = replace(STARTED, bound_share=known.bound_share)
    checked = after_check(
        "A key.",
        started=bounded,
        memory=known,
        question="What did Mr Ferrand steal?",
        seen=(),
    )
    assert (
        checked.answer
        == f"The text up to {known.bound_share:.0%} of the book does not name Ferrand."
    )
    assert missing_names(
        "Why did Ferrand meet Sir Robert Walpole, the Duke of Wellington?", MEMORY.book
    ) == [
        "Sir Robert Walpole",
        "Wellington",
    ]
    assert missing_names("What did Mrs. Ferrand tell Mrs. Walpole?", MEMORY.book) == [
        "Mrs Walpole"
    ]
    # a watch begins otherwise
    assert missing_names("Who met Mr Hatch?", MEMORY.book) == ["Hatch"]
    # a ledger is nobody
    assert missing_names("What did Ledgar say?", MEMORY.book) == ["Ledgar"]
    # a month is none either
    assert missing_names("Who came in January?", MEMORY.book) == []
    assert (
        missing_names("Wann kam Napoleon?", replace(MEMORY.book, language="de")) == []
    )
