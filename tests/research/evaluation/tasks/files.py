"""Files of benchmarks that tests write, and the real ones where the checkout has them beside it."""

import json
from pathlib import Path

import pytest

from research.evaluation.model import Document, Question

DATA = Path(__file__).resolve().parents[5] / "shared" / "data"
needs_data = pytest.mark.skipif(
    not (DATA / "quality").is_dir(), reason="needs ../shared/data"
)


def lines(path: Path, *records: object) -> Path:
    """One JSON object a line."""
    path.write_text(
        "".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8"
    )
    return path


def document(path: Path, content: object) -> Path:
    """One JSON document."""
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def gold_text(document: Document, number: int) -> list[str]:
    """What stands in the book at the gold places of the question with this index."""
    text = document.book.text
    return [text[start:end] for start, end in document.questions[number].gold_places]


def sound(document: Document) -> None:
    """What holds for every document of every task."""
    text = document.book.text
    ids = [question.id for question in document.questions]
    assert document.id
    assert ids
    assert len(set(ids)) == len(ids)
    for question in document.questions:
        sound_question(question)
        before = 0
        for start, end in question.gold_places:
            assert before <= start < end <= len(text)
            assert text[start:end].strip() == text[start:end]
            before = end


def sound_question(question: Question) -> None:
    assert question.text.strip()
    assert question.references or question.choices
    assert len(set(question.choices)) == len(question.choices)
    assert (question.gold_choice is not None) == bool(question.choices)
    assert question.gold_choice is None or question.gold_choice in range(
        len(question.choices)
    )
