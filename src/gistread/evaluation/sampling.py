"""Samples questions by their identifiers and a seed alone, so a larger sample contains the smaller one."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from gistread.evaluation.model import Document


def sample(documents: Iterable[Document], limit: int, seed: int, most_documents: int = 0) -> list[Document]:
    """At most `limit` questions, taken from documents in turn, of at most `most_documents` (0: all)."""
    found = [document for document in documents if document.questions]
    drawn = sorted(found, key=lambda document: _lot(seed, document.id))[: most_documents or None]
    turns = [
        (turn, place, question.id)
        for place, document in enumerate(drawn)
        for turn, question in enumerate(sorted(document.questions, key=lambda q: _lot(seed, document.id, q.id)))
    ]
    chosen: dict[str, set[str]] = {}
    for _, place, question_id in sorted(turns)[: limit or None]:
        chosen.setdefault(drawn[place].id, set()).add(question_id)
    return [
        replace(document, questions=tuple(q for q in document.questions if q.id in chosen[document.id]))
        for document in found
        if document.id in chosen
    ]


def _lot(seed: int, *names: str) -> str:
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).hexdigest()
