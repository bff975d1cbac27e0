"""Which questions are asked is decided by the seed, and spread over the texts."""

from collections.abc import Sequence

from research.evaluation.model import Document
from research.evaluation.running import sample
from tests.research.evaluation.runs import make_document

DOCUMENTS = [
    make_document(name, questions)
    for name, questions in (("a", 5), ("b", 1), ("c", 3), ("d", 0), ("e", 4))
]


def ids_of(documents: Sequence[Document]) -> set[tuple[str, str]]:
    return {
        (document.id, question.id)
        for document in documents
        for question in document.questions
    }


def test_questions_are_spread_over_the_documents() -> None:
    counts = {
        document.id: len(document.questions) for document in sample(DOCUMENTS, 9, 0)
    }
    # Two rounds over the documents, then one more question of two of the three that have one.
    assert counts.pop("b") == 1
    assert counts.keys() == {"a", "c", "e"}
    assert sorted(counts.values()) == [2, 3, 3]
    assert [len(document.questions) for document in sample(DOCUMENTS, 4, 0)] == [
        1,
        1,
        1,
        1,
    ]
