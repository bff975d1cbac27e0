"""Questions and what a reader made of them, for tests of metrics."""

from typing import Any

from gistread.engine.protocol import Usage
from research.evaluation.metrics import METRICS, Case
from research.evaluation.model import Outcome, Question


def question(**fields: Any) -> Question:
    return Question(**{"id": "q", "text": "Who?", **fields})


def outcome(**fields: Any) -> Outcome:
    plain: dict[str, Any] = {
        "task": "t",
        "document": "d",
        "question": "q",
        "reader": "r",
        "text": "Who?",
        "answer": "",
        "has_answer": True,
        "choice": None,
        "lookups": (),
        "seen": (),
        "citations": (),
        "context_tokens": 0,
        "compression_rate": 0.0,
        "usage": Usage(),
    }
    return Outcome(**{**plain, **fields})


def of(name: str, case: Case) -> float | None:
    """What the metric of this name says of a case."""
    return METRICS[name].of(case)
