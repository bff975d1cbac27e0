"""QuALITY: the authors' layout and the one in ../shared/data, with four options and with two."""

from pathlib import Path
from typing import Any

import pytest

from gistread.errors import GistreadError
from gistread.evaluation.tasks.registry import TASKS, TaskOptions
from tests.evaluation.tasks.files import DATA, lines, needs_data, sound

four, two = TASKS["quality"].load, TASKS["quality-2"].load


def asked(name: str, gold: int, **more: Any) -> dict[str, Any]:
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
        "article": "THE LAMP\n\nBy ANN LEE\n\n\n\n The lamp had burned\n for a year.\n\n\n Nobody came.",
        "questions": list(questions),
        **more,
    }


def test_questions_of_both_writers_form_one_document(tmp_path: Path) -> None:
    other = article("B", asked("x", 2), article_id="9", title="Another")
    path = lines(tmp_path / "dev", article("A", asked("a", 1), asked("b", 4)), other, article("C", asked("c", 2)))
    lamp, another = four(path)
    assert (lamp.id, lamp.book.title, lamp.book.authors) == ("20015", "The Lamp", ("LEE, ANN",))
    assert [(q.id, q.gold_choice) for q in lamp.questions] == [
        ("20015_ABC_a", 0),
        ("20015_ABC_b", 3),
        ("20015_ABC_c", 1),
    ]
    assert lamp.questions[0].choices == ("a one", "a two", "a three", "a four")
    assert "The lamp had burned for a year.\n\nNobody came." in lamp.book.text
    for document in (lamp, another):
        sound(document)


def test_quality_2_offers_the_right_option_and_a_distractor(tmp_path: Path) -> None:
    path = lines(tmp_path / "dev", article("A", *(asked(f"q{n}", n % 4 + 1) for n in range(40))))
    (document,) = two(path)
    sound(document)
    (whole,) = four(path)
    for question, source in zip(document.questions, whole.questions, strict=True):
        assert len(question.choices) == 2
        assert question.gold_choice is not None
        assert source.gold_choice is not None
        assert question.choices[question.gold_choice] == source.choices[source.gold_choice]
    right = [question.gold_choice for question in document.questions]
    assert 8 < sum(one or 0 for one in right) < 32, "the right one is not always at the same place"


def test_the_seed_draws_the_distractors(tmp_path: Path) -> None:
    path = lines(tmp_path / "dev", article("A", *(asked(f"q{n}", 1) for n in range(20))))
    choices = [next(two(path, TaskOptions(seed=seed))).questions for seed in (1, 1, 2)]
    assert choices[0] == choices[1] != choices[2]


def test_a_repeated_option_is_offered_once(tmp_path: Path) -> None:
    path = lines(tmp_path / "dev", article("A", asked("a", 4, options=["x", "y ", "y", "z"])))
    (document,) = four(path)
    assert (document.questions[0].choices, document.questions[0].gold_choice) == (("x", "y", "z"), 2)


def test_a_file_with_two_options_is_read_only_by_quality_2(tmp_path: Path) -> None:
    story = {
        "doc_id": "sq-1",
        "first_line": "THE LAMP",
        "article": "THE LAMP\n\nIt burned.",
        "questions": [{"question": "Did it?", "options": ["No.", "Yes."], "gold_label": 2, "question_id_std": "1"}],
    }
    path = lines(tmp_path / "dev.jsonl", story)
    (document,) = two(path)
    assert document.questions[0].choices == ("No.", "Yes.")
    assert document.questions[0].gold_choice == 1
    with pytest.raises(GistreadError, match="2 options instead of four"):
        list(four(path))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"article": None}, r"`article` is missing \(a text\)"),
        ({"article": "<html><body><p>x</p>"}, "is HTML; use the file with `htmlstripped`"),
        ({"article": " \n"}, "`article` has no text"),
        ({"article_id": None}, "`article_id` is missing"),
        ({"questions": [asked("a", 1, gold_label=None)]}, "`gold_label` is missing: the test set"),
        ({"questions": [asked("a", 5)]}, "`gold_label` is 5, of 4 options"),
        ({"questions": [asked("a", 1, options=["x", "x", "x", "x"])]}, "are empty or all equal"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path = lines(
        tmp_path / "dev", article("A", asked("a", 1)), article("B", **{"article_id": "9", "questions": [], **change})
    )
    with pytest.raises(GistreadError, match=f"dev, line 2.*{says}"):
        list(four(path))


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
    assert first.choices[1] == "No, he figured that everyone else was sending things into space."
