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
    """One document for each meeting. See `Task.load`."""
    for number, record in enumerate(json_records(path), 1):
        yield _document(record, number)


def _document(record: Record, number: int) -> Document:
    builder = BookBuilder()
    turns: list[Place | None] = []
    for turn in record.records("meeting_transcripts"):
        start = builder.next_start
        is_added = _add_turn(builder, turn)
        turns.append((start, builder.characters) if is_added else None)
    if not any(turns):
        raise record.wrong("the meeting has no words")
    book = builder.build(
        title=f"Meeting {number}", language="en", source_format="qmsum"
    )
    general = enumerate(record.records("general_query_list"), 1)
    specific = enumerate(record.records("specific_query_list"), 1)
    questions = [_question("general", number, query, ()) for number, query in general]
    questions += [
        _question("specific", number, query, _gold(query, turns))
        for number, query in specific
    ]
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


def _add_turn(builder: BookBuilder, turn: Record) -> bool:
    """Append a turn as a paragraph; returns False if it has no words."""
    words = _spoken(turn.text("content"))
    if not re.search(r"\w", words):
        return False
    speaker = turn.text("speaker").strip() or "Someone"
    return bool(builder.add(f"{speaker}: {words}"))


def _spoken(content: str) -> str:
    """The words of a turn, without the transcribers' annotations and conventions."""
    words = " ".join(_NOISE.sub(" ", content).split())
    words = _SPELT.sub(lambda spelt: spelt[0].replace("_", ""), words)
    return _PARTED.sub("", words)


def _gold(query: Record, turns: Sequence[Place | None]) -> tuple[Place, ...]:
    """The places of the turns that a query is about."""
    places: list[Place] = []
    for span in query.items("relevant_text_span"):
        ends = [whole_number(end) for end in span] if isinstance(span, list) else []
        match ends:
            case [int(first), int(last)]:
                # Some spans exceed the transcript.
                relevant = turns[max(0, first) : max(0, last + 1)]
                places += [place for place in relevant if place]
            case _:
                raise query.wrong(
                    f"`relevant_text_span` is not a list of first and last turns: {span!r}"
                )
    return merge_places(places, BETWEEN_PARAGRAPHS)
