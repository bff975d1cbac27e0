"""QuALITY: the authors' layout and the one in ../shared/data, with four options and with two."""

from pathlib import Path
from typing import Any

from research.evaluation.tasks.registry import TASKS
from tests.research.evaluation.tasks.files import DATA, lines, needs_data, sound

four, two = TASKS["quality"].load, TASKS["quality-2"].load


def quality_question(name: str, gold: int, **more: Any) -> dict[str, Any]:
    """A question as in QuALITY.v1.0.1.htmlstripped.dev."""
    return {
        "question": f"What of {name}?",
        "question_unique_id": f"20015_ABC_{name}",
        "options": [f"{name} one", f"{name}  two", f"{name} three", f"{name} four"],
        "writer_label": gold,
        "gold_label": gold,
        "validation": [{"untimed_annotator_id": "0001", "untimed_answer": gold}],
        "difficult": 0,
        **more,
    }


def article(set_: str, *questions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "article_id": "20015",
        "set_unique_id": f"20015_{set_}",
        "title": "The Lamp",
        "author": "LEE, ANN",
        "article": (
            "THE LAMP\n\nBy ANN LEE\n\n\n\n The lamp had burned\n for a year.\n\n\n Nobody came."
        ),
        "questions": list(questions),
        **more,
    }


def test_questions_of_both_writers_form_one_document(tmp_path: Path) -> None:
    other = article("B", quality_question("x", 2), article_id="9", title="Another")
    path = lines(
        tmp_path / "dev",
        article("A", quality_question("a", 1), quality_question("b", 4)),
        other,
        article("C", quality_question("c", 2)),
    )
    lamp, another = four(path)
    assert (lamp.id, lamp.book.title, lamp.book.authors) == (
        "20015",
        "The Lamp",
        ("LEE, ANN",),
    )
    assert [(q.id, q.gold_choice) for q in lamp.questions] == [
        ("20015_ABC_a", 0),
        ("20015_ABC_b", 3),
        ("20015_ABC_c", 1),
    ]
    assert lamp.questions[0].choices == ("a one", "a two", "a three", "a four")
    assert "The lamp had burned for a year.\n\nNobody came." in lamp.book.text
    for document in (lamp, another):
        sound(document)


@needs_data
def test_real_stories_are_read() -> None:
    stories = list(four(DATA / "quality" / "quality_4opt_dev.jsonl"))
    assert (len(stories), sum(len(story.questions) for story in stories)) == (46, 46)
    pairs = list(two(DATA / "quality" / "quality_2opt_dev.jsonl"))
    assert (len(pairs), sum(len(story.questions) for story in pairs)) == (30, 377)
    for story in (*stories, *pairs):
        sound(story)
        assert story.book.words > 1500
    first = stories[0].questions[0]
    assert first.gold_choice == 1
    assert (
        first.choices[1]
        == "No, he figured that everyone else was sending things into space."
    )
