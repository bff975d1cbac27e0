"""QMSum (Zhong et al., 2021): transcripts of meetings, with queries about all or some turns."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gistread.book.builder import BookBuilder
from research.evaluation.model import (
    BETWEEN_PARAGRAPHS,
    Document,
    Place,
    Question,
    merge_places,
)
from research.evaluation.tasks.records import (
    Record,
    json_records,
    references,
    whole_number,
)
from research.evaluation.tasks.registry import TaskOptions

# Annotations of the transcribers: {vocalsound}, {disfmarker}, { gap }.
_NOISE = re.compile(r"\{[^{}\n]{0,60}\}")
# Spelled letters: L_C_D_s for LCDs.
_SPELT = re.compile(r"\b(?:[A-Z]_)+")
# Tokens are separated: "It 's on , is n't it ?"
_PARTED = re.compile(r" (?=[.,;:?!](?:\s|$)|(?:'(?:s|m|d|re|ve|ll)|n't)\b)")


def load_qmsum(path: Path, options: TaskOptions) -> Iterator[Document]:
    for number, record in enumerate(json_records(path), 1):
        yield _document(record, number)


def _document(record: Record, number: int) -> Document:
    builder = BookBuilder()
    turns: list[Place | None] = []
    for turn in record.records("meeting_transcripts"):
        start = builder.next_start
        words = " ".join(_NOISE.sub(" ", turn.text("content")).split())
        words = _PARTED.sub(
            "", _SPELT.sub(lambda spelt: spelt[0].replace("_", ""), words)
        )
        is_spoken = bool(re.search(r"\w", words)) and builder.add(
            f"{turn.text('speaker').strip() or 'Someone'}: {words}"
        )
        turns.append((start, builder.characters) if is_spoken else None)
    if not any(turns):
        raise record.wrong("the meeting has no words")
    book = builder.build(
        title=f"Meeting {number}", language="en", source_format="qmsum"
    )
    questions = [
        _question("general", n, query, ())
        for n, query in enumerate(record.records("general_query_list"), 1)
    ]
    for n, query in enumerate(record.records("specific_query_list"), 1):
        questions.append(_question("specific", n, query, _gold(query, turns)))
    questions = [question for question in questions if question.references]
    if not questions:
        raise record.wrong("no query has an answer")
    return Document(f"meeting-{number}", book, tuple(questions), preset="meeting")


def _question(
    kind: str, number: int, query: Record, gold: tuple[Place, ...]
) -> Question:
    answers = references([query.text("answer")])
    return Question(
        f"{kind}-{number}",
        query.text("query").strip(),
        references=answers,
        gold_places=gold,
    )


def _gold(query: Record, turns: Sequence[Place | None]) -> tuple[Place, ...]:
    places = []
    for span in query.items("relevant_text_span"):
        ends = [whole_number(end) for end in span] if isinstance(span, list) else []
        if len(ends) != 2 or None in ends:
            raise query.wrong(
                f"`relevant_text_span` is not a list of first and last turns: {span!r}"
            )
        first, last = (end for end in ends if end is not None)
        # Some spans exceed the transcript.
        places += [place for place in turns[max(0, first) : max(0, last + 1)] if place]
    return merge_places(places, BETWEEN_PARAGRAPHS)
