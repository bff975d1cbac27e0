"""FairytaleQA: both layouts, and the sections as gold places."""

from pathlib import Path

from research.evaluation.tasks.registry import TASKS
from tests.research.evaluation.tasks.files import (
    DATA,
    gold_text,
    lines,
    needs_data,
    sound,
)

load = TASKS["fairytaleqa"].load
STORY = {
    "story": "the-tin-cup",
    "sections": [
        "A king had\na tin cup.\n\nHe lost it.",
        "A goat\nfound it.",
        "They drank.",
    ],
    "questions": [
        {
            "question_id": "1",
            "cor_section": "1",
            "question": "What had the king?",
            "answer1": "a tin cup",
        },
        {
            "question_id": "2",
            "cor_section": "2.0, 3",
            "question": "Who found it?",
            "answer1": "a goat",
            "answer4": "Goat",
        },
        {
            "question_id": "2",
            "cor_section": "1,3",
            "question": "Who drank?",
            "answer1": "They",
            "answer2": " They ",
        },
    ],
}


def test_a_gold_place_is_the_section_named_in_the_file(tmp_path: Path) -> None:
    (story,) = load(lines(tmp_path / "dev.jsonl", STORY))
    assert (
        story.book.text
        == "A king had a tin cup.\n\nHe lost it.\n\nA goat found it.\n\nThey drank."
    )
    assert gold_text(story, 0) == ["A king had a tin cup.\n\nHe lost it."]
    assert gold_text(story, 1) == ["A goat found it.\n\nThey drank."], (
        "neighbours are one place"
    )
    assert gold_text(story, 2) == [
        "A king had a tin cup.\n\nHe lost it.",
        "They drank.",
    ]
    sound(story)


def test_both_annotators_answers_are_references_and_ids_are_distinct(
    tmp_path: Path,
) -> None:
    (story,) = load(lines(tmp_path / "dev.jsonl", STORY))
    assert [question.references for question in story.questions] == [
        ("a tin cup",),
        ("a goat", "Goat"),
        ("They",),
    ]
    assert [question.id for question in story.questions] == ["1", "2", "2 (2)"]
    assert (story.id, story.book.title, story.preset) == (
        "the-tin-cup",
        "The Tin Cup",
        "fiction",
    )


@needs_data
def test_real_tales_are_read() -> None:
    tales = list(load(DATA / "fairytaleqa" / "fairytaleqa_dev.jsonl"))
    assert len(tales) == 20
    assert sum(len(tale.questions) for tale in tales) == 913
    for tale in tales:
        sound(tale)
        assert all(question.gold_places for question in tale.questions)
    assert "seven sons and one daughter" in gold_text(tales[0], 0)[0]
