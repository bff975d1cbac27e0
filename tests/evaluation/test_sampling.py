"""Which questions are asked is decided by the seed, and spread over the texts."""

from collections.abc import Sequence

from gistread.evaluation.model import Document
from gistread.evaluation.running import sample
from tests.evaluation.runs import make_document

DOCUMENTS = [make_document(name, questions) for name, questions in (("a", 5), ("b", 1), ("c", 3), ("d", 0), ("e", 4))]


def asked(documents: Sequence[Document]) -> set[tuple[str, str]]:
    return {(document.id, question.id) for document in documents for question in document.questions}


def test_without_a_limit_all_questions_are_kept_in_order() -> None:
    assert sample(DOCUMENTS, 0, 0) == [document for document in DOCUMENTS if document.questions]


def test_questions_are_spread_over_the_documents() -> None:
    counts = {document.id: len(document.questions) for document in sample(DOCUMENTS, 9, 0)}
    assert (
        counts == {"a": 3, "b": 1, "c": 2, "e": 3}
        or counts == {"a": 2, "b": 1, "c": 3, "e": 3}
        or counts
        == {
            "a": 3,
            "b": 1,
            "c": 3,
            "e": 2,
        }
    )
    assert [len(document.questions) for document in sample(DOCUMENTS, 4, 0)] == [1, 1, 1, 1]


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    for limit in range(1, 13):
        assert asked(sample(DOCUMENTS, limit, 3)) < asked(sample(DOCUMENTS, limit + 1, 3))
        assert len(asked(sample(DOCUMENTS, limit, 3))) == limit


def test_the_sample_depends_on_the_seed_and_not_on_the_order() -> None:
    samples = [asked(sample(DOCUMENTS, 4, seed)) for seed in range(12)]
    assert len(set(map(frozenset, samples))) > 6
    assert all(asked(sample(DOCUMENTS[::-1], 4, seed)) == samples[seed] for seed in range(12))


def test_documents_can_be_limited() -> None:
    few = sample(DOCUMENTS, 0, 0, most_documents=2)
    assert len(few) == 2
    assert all(document in DOCUMENTS for document in few)
    assert asked(few) <= asked(sample(DOCUMENTS, 0, 0, most_documents=3))
