"""What an outcome keeps of the check of an answer."""

import pytest

from gistread.evaluation.asking import ask
from gistread.evaluation.metrics import Case, scores
from gistread.evaluation.model import Outcome, Question
from gistread.readers.protocol import ReaderOptions
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory

QUESTION = Question("q", "Who stole the brass key?", references=("Ferrand",))


@pytest.mark.parametrize(
    ("answer", "quotes", "unsupported"),
    [
        ("Ferrand stole it to find the ledger.", 100, 0),
        ("Ferrand stole it to find the ledger. Napoleon paid him.", 100, 100),
        ("Napoleon paid Wellington.", 100, 100),
        ("The book does not say.", None, None),
    ],
)
async def test_quotes_and_support_describe_the_answer_shown(
    answer: str, quotes: float | None, unsupported: float | None
) -> None:
    engine = FakeEngine(says=lambda _: answer)
    options = ReaderOptions(budget_tokens=2000, is_reliable=False)
    blank = Outcome("task", "book", "q", "bm25", QUESTION.text)
    outcome, _ = await ask(QUESTION, blank, make_memory(), engine, options)
    told = dict(scores(Case(QUESTION, outcome), ("quotes", "unsupported")))
    assert (told.get("quotes"), told.get("unsupported")) == (quotes, unsupported)
