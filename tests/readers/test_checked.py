"""What becomes of an answer that does not hold, whichever reader gave it."""

from dataclasses import replace

import pytest

from gistread.engine.protocol import NO_USAGE
from gistread.memory.model import GistMemory
from gistread.readers.checked import NO_ANSWER, QUOTED, check_answer, closest_sentences, missing_names
from gistread.readers.events import Answered, Citation, ReaderEvent, Started
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory

MEMORY = make_memory()
TEXT = MEMORY.book.text
ALL = ((0, len(TEXT)),)
QUESTION = "Who stole the brass key?"
STARTED = Started("gistread", 8, 8, complete=True, share_shown=1.0)
LOOKING_UP = Started("readagent-s", 8, 8, complete=True)
WEAK = ReaderOptions(is_reliable=False)


def after_check(
    answer: str,
    options: ReaderOptions = WEAK,
    started: Started = STARTED,
    *,
    question: str = QUESTION,
    memory: GistMemory = MEMORY,
    refused: tuple[int, ...] = (),
    **values: object,
) -> Answered:
    answered = replace(Answered(answer, bool(answer), (), (), (), 0.0, NO_USAGE, seen=ALL), **values)  # type: ignore[arg-type]
    return check_answer(answered, question, memory, started, options, refused)


async def ask(engine: FakeEngine, reader: str, options: ReaderOptions, pages: int = 8) -> list[ReaderEvent]:
    events = METHODS[reader].reader()(QUESTION, make_memory(pages), engine, Steering(), options)
    return [event async for event in events]


def test_a_supported_answer_is_kept() -> None:
    said = after_check("Ferrand stole it. Napoleon paid Wellington.")
    assert (said.answer, said.found, said.quoted) == ("Ferrand stole it. Napoleon paid Wellington.", True, False)
    assert [one.supported for one in said.statements] == [True, False]


def test_refused_pages_are_not_quoted_though_their_gists_were_shown() -> None:
    gists = tuple(entry.page.number for entry in MEMORY.entries)
    quoted = {one.page for one in after_check("", seen=(), gists=gists).citations}
    assert quoted
    assert not quoted & {one.page for one in after_check("", seen=(), gists=gists, refused=tuple(quoted)).citations}


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "As an AI language model, I cannot help with this.",
        "This is a shortened version of the original text.",
        "It was Napoleon.",
        "The king had a dragon in his palace.",
    ],
)
def test_an_unsupported_answer_is_replaced_by_the_closest_sentences(answer: str) -> None:
    said = after_check(answer)
    assert (said.answer, said.found, said.quoted, said.statements) == (QUOTED, False, True, ())
    assert 1 <= len(said.citations) <= 3
    assert all(TEXT[one.start : one.end] == one.quote for one in said.citations)
    assert FACTS[5] in {one.quote for one in said.citations}


def test_a_reliable_model_may_paraphrase() -> None:
    said = after_check("The king had a dragon.", ReaderOptions(is_reliable=True))
    assert (said.answer, said.quoted) == ("The king had a dragon.", False)
    assert [one.supported for one in said.statements] == [False]
    assert after_check("It was Napoleon.", ReaderOptions(is_reliable=True)).quoted


def test_sentences_about_the_model_are_removed() -> None:
    said = after_check("This is a shortened version of the original text. Ferrand stole it.")
    assert said.answer == "Ferrand stole it."
    assert [(one.start, one.end) for one in said.statements] == [(0, len(said.answer))]


def test_repeated_instructions_are_removed() -> None:
    said = after_check("In one or two short sentences, in the language of the question: Ferrand stole it. He stole it.")
    assert said.answer == "He stole it."


def test_a_weak_model_that_repeats_the_question_has_not_answered_it() -> None:
    assert after_check("The brass key it was, that brass key.").quoted
    assert after_check("No, he did.").answer == "No, he did."


def test_a_citation_that_is_not_verbatim_is_dropped() -> None:
    right = Citation(4, TEXT.index(FACTS[3]), TEXT.index(FACTS[3]) + len(FACTS[3]), FACTS[3])
    said = after_check("Ferrand stole it.", citations=(right, replace(right, quote="He never played.")))
    assert said.citations == (right,)
    short = after_check("On a nail.", question="Where was the key?")
    assert [one.quote for one in short.citations] == [FACTS[1]]


@pytest.mark.parametrize(
    ("started", "values", "text"),
    [
        (replace(LOOKING_UP, pages_read=1, pages_total=333, complete=False), {},
         "Not in the pages read so far (1 of about 333)."),
        (LOOKING_UP, {"expanded": (3, 7)}, "Not found in the memory, nor in the pages that were looked at: 3, 7."),
        (LOOKING_UP, {}, "Not found in the memory; no page was opened."),
        (STARTED, {}, "Not found in the text that was looked at."),
        (replace(STARTED, share_shown=0.1), {"seen": ((0, len(TEXT) // 10),)},
         "Not found in the passages that were looked at (10% of the text)."),
    ],
)  # fmt: skip
def test_not_found_names_what_was_looked_at(started: Started, values: dict[str, object], text: str) -> None:
    said = after_check("The book does not say.", started=started, **values)
    assert (said.answer, said.found, said.citations) == (text, False, ())


def test_a_weak_model_is_not_believed_about_a_name_that_the_text_lacks() -> None:
    asked = {"question": "What did the King of Norway, or Ferand, steal?"}
    said = after_check("The brass key.", **asked)
    assert (said.answer, said.found) == ("The book does not name Norway.", False)
    assert after_check("The brass key.", ReaderOptions(is_reliable=True), **asked).found
    known = MEMORY.upto(TEXT.index("Ferrand") - 1)
    bounded = replace(STARTED, bound_share=known.bound_share)
    said = after_check("A key.", started=bounded, memory=known, question="What did Mr Ferrand steal?", seen=())
    assert said.answer == f"The text up to {known.bound_share:.0%} of the book does not name Ferrand."
    assert missing_names("Why did Ferrand meet Sir Robert Walpole, the Duke of Wellington?", MEMORY.book) == [
        "Sir Robert Walpole",
        "Wellington",
    ]
    assert missing_names("Who met Mr Hatch?", MEMORY.book) == ["Hatch"]  # a watch begins otherwise
    assert missing_names("What did Ledgar say?", MEMORY.book) == ["Ledgar"]  # a ledger is nobody
    assert missing_names("Who came in January?", MEMORY.book) == []  # a month is none either
    assert missing_names("Wann kam Napoleon?", replace(MEMORY.book, language="de")) == []


def test_with_nothing_to_quote_there_is_no_answer() -> None:
    assert after_check("", seen=()).answer == NO_ANSWER


def test_a_neighbour_of_the_closest_sentence_is_close() -> None:
    found = closest_sentences("What hung on a nail?", MEMORY, ALL)
    assert FACTS[1] in [one.quote for one in found]
    assert list(found) == sorted(found, key=lambda one: one.start)
    assert closest_sentences("Zebras?", MEMORY, ALL) == ()


@pytest.mark.parametrize(
    ("is_reliable", "pages", "reader", "why"),
    [
        (True, 8, "readagent-s", "Look-ups: this model chooses reliably."),
        (False, 8, "gistread", "Ranked passages: this model does not choose reliably."),
        (None, 8, "gistread", "Ranked passages: this model was not checked."),
        (True, 3, "gistread", "Ranked passages: the book is not read to its end yet."),
        (True, 0, "gistread", "Ranked passages: the book is not read to its end yet."),
    ],
)
async def test_auto_uses_look_ups_for_reliable_models_and_ranking_for_others(
    is_reliable: bool | None, pages: int, reader: str, why: str
) -> None:
    engine = FakeEngine(says=lambda _: "Ferrand stole it.", chooses=lambda _, options: len(options) - 1)
    started = (await ask(engine, "auto", ReaderOptions(is_reliable=is_reliable), pages))[0]
    assert isinstance(started, Started)
    assert (started.reader, started.choice) == (reader, why)


@pytest.mark.parametrize("is_reliable", [True, False, None])
async def test_only_models_that_passed_their_check_are_asked_for_reasons(is_reliable: bool | None) -> None:
    engine = FakeEngine(says=lambda _: "It may tell.", chooses=["Page 6", "STOP"])
    await ask(engine, "readagent-s", ReaderOptions(is_reliable=is_reliable))
    assert sum(call.kind == "complete" for call in engine.calls) == (2 if is_reliable else 1)
