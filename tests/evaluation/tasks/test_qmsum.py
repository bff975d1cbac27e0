"""QMSum: turns as paragraphs, without noise, and gold places as turns."""

from pathlib import Path
from typing import Any

import pytest

from gistread.errors import GistreadError
from gistread.evaluation.tasks.registry import TASKS
from tests.evaluation.tasks.files import DATA, document, gold_text, lines, needs_data, sound

load = TASKS["qmsum"].load


def meeting(**more: Any) -> dict[str, Any]:
    return {
        "topic_list": [],
        "general_query_list": [{"query": "Summarize the meeting.", "answer": "A remote was designed."}],
        "specific_query_list": [
            {"query": "What of the LCD?", "answer": "It is dear.", "relevant_text_span": [["1", "2"], ["4", "4"]]},
            {"query": "What of noise?", "answer": "There was some.", "relevant_text_span": [["3", "99"]]},
        ],
        "meeting_transcripts": [
            {"speaker": "Project Manager", "content": "{vocalsound} So it 's on , is n't it ? {disfmarker}"},
            {"speaker": "Marketing", "content": "The L_C_D_s are dear ."},
            {"speaker": "Grad G", "content": "{ gap }  {vocalsound} ."},
            {"speaker": "Grad G", "content": ""},
            {"speaker": "Project Manager", "content": "Two Euros ."},
        ],
        **more,
    }


def test_a_turn_is_a_paragraph_without_noise(tmp_path: Path) -> None:
    (one,) = load(lines(tmp_path / "val.jsonl", meeting()))
    assert one.book.text == (
        "Project Manager: So it's on, isn't it?\n\nMarketing: The LCDs are dear.\n\nProject Manager: Two Euros."
    )
    assert (one.id, one.preset) == ("meeting-1", "meeting")
    sound(one)


def test_gold_places_are_the_turns_named_in_the_file(tmp_path: Path) -> None:
    (one,) = load(lines(tmp_path / "val.jsonl", meeting()))
    assert [question.id for question in one.questions] == ["general-1", "specific-1", "specific-2"]
    assert gold_text(one, 0) == []
    assert gold_text(one, 1) == ["Marketing: The LCDs are dear.\n\nProject Manager: Two Euros."]
    assert gold_text(one, 2) == ["Project Manager: Two Euros."], "a span that reaches over the end, and a silent turn"
    assert one.questions[1].references == ("It is dear.",)


def test_a_query_without_an_answer_is_skipped(tmp_path: Path) -> None:
    general = [{"query": "Summarize.", "answer": " "}]
    (one,) = load(lines(tmp_path / "val.jsonl", meeting(general_query_list=general)))
    assert [question.id for question in one.questions] == ["specific-1", "specific-2"]


def test_a_folder_has_one_file_per_meeting(tmp_path: Path) -> None:
    for name in ("b.json", "a.json"):
        document(tmp_path / name, meeting())
    assert [one.id for one in load(tmp_path)] == ["meeting-1", "meeting-2"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"meeting_transcripts": None}, r"`meeting_transcripts` is missing \(a list\)"),
        ({"meeting_transcripts": [{"speaker": "A", "content": "{gap}"}]}, "the meeting has no words"),
        ({"general_query_list": [], "specific_query_list": []}, "no query has an answer"),
        ({"specific_query_list": [{"query": "?", "answer": "!", "relevant_text_span": [["a", 1]]}]}, "first and last"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(GistreadError, match=f"val.jsonl, line 1.*{says}"):
        list(load(lines(tmp_path / "val.jsonl", meeting(**change))))


@needs_data
def test_real_meetings_are_read() -> None:
    meetings = list(load(DATA / "qmsum" / "qmsum_val.jsonl"))
    assert len(meetings) == 35
    assert sum(len(one.questions) for one in meetings) == 272
    specific = [question for one in meetings for question in one.questions if question.id.startswith("specific")]
    assert len(specific) == 237
    assert all(question.gold_places for question in specific)
    for one in meetings:
        sound(one)
        assert not {"{", "}", "_"} & set(one.book.text)
    asked = next(n for n, question in enumerate(meetings[0].questions) if "sample transcripts" in question.text)
    (gold,) = gold_text(meetings[0], asked)
    assert gold.count("\n\n") > 30, "72 turns, some of them silent"
    assert gold.startswith(("Professor", "Grad", "PhD", "Postdoc"))
