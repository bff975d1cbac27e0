"""QMSum: turns as paragraphs, without noise, and gold places as turns."""

from pathlib import Path
from typing import Any

from research.evaluation.tasks.registry import TASKS
from tests.research.evaluation.tasks.files import (
    DATA,
    gold_text,
    lines,
    needs_data,
    sound,
)

load = TASKS["qmsum"].load


def meeting(**more: Any) -> dict[str, Any]:
    return {
        "topic_list": [],
        "general_query_list": [
            {"query": "Summarize the meeting.", "answer": "A remote was designed."}
        ],
        "specific_query_list": [
            {
                "query": "What of the LCD?",
                "answer": "It is dear.",
                "relevant_text_span": [["1", "2"], ["4", "4"]],
            },
            {
                "query": "What of noise?",
                "answer": "There was some.",
                "relevant_text_span": [["3", "99"]],
            },
        ],
        "meeting_transcripts": [
            {
                "speaker": "Project Manager",
                "content": "{vocalsound} So it 's on , is n't it ? {disfmarker}",
            },
            {"speaker": "Marketing", "content": "The L_C_D_s are dear ."},
            {"speaker": "Grad G", "content": "{ gap }  {vocalsound} ."},
            {"speaker": "Grad G", "content": ""},
            {"speaker": "Project Manager", "content": "Two Euros ."},
        ],
        **more,
    }


def test_a_turn_is_a_paragraph_without_noise(tmp_path: Path) -> None:
    (transcript,) = load(lines(tmp_path / "val.jsonl", meeting()))
    assert transcript.book.text == (
        "Project Manager: So it's on, isn't it?\n\nMarketing: The LCDs are dear.\n\nProject "
        "Manager: Two Euros."
    )
    assert (transcript.id, transcript.preset) == ("meeting-1", "meeting")
    sound(transcript)


def test_gold_places_are_the_turns_named_in_the_file(tmp_path: Path) -> None:
    (transcript,) = load(lines(tmp_path / "val.jsonl", meeting()))
    assert [question.id for question in transcript.questions] == [
        "general-1",
        "specific-1",
        "specific-2",
    ]
    assert gold_text(transcript, 0) == []
    assert gold_text(transcript, 1) == [
        "Marketing: The LCDs are dear.\n\nProject Manager: Two Euros."
    ]
    assert gold_text(transcript, 2) == ["Project Manager: Two Euros."], (
        "a span that reaches over the end, and a silent turn"
    )
    assert transcript.questions[1].references == ("It is dear.",)


@needs_data
def test_real_meetings_are_read() -> None:
    meetings = list(load(DATA / "qmsum" / "qmsum_val.jsonl"))
    assert len(meetings) == 35
    assert sum(len(meeting.questions) for meeting in meetings) == 272
    specific = [
        question
        for meeting in meetings
        for question in meeting.questions
        if question.id.startswith("specific")
    ]
    assert len(specific) == 237
    assert all(question.gold_places for question in specific)
    for transcript in meetings:
        sound(transcript)
        assert not {"{", "}", "_"} & set(transcript.book.text)


@needs_data
def test_a_gold_place_of_a_real_meeting_is_all_its_turns() -> None:
    first, *_ = load(DATA / "qmsum" / "qmsum_val.jsonl")
    texts = [question.text for question in first.questions]
    number = next(
        number for number, text in enumerate(texts) if "sample transcripts" in text
    )
    (gold,) = gold_text(first, number)
    assert gold.count("\n\n") > 30, "72 turns, some of them silent"
    assert gold.startswith(("Professor", "Grad", "PhD", "Postdoc"))
