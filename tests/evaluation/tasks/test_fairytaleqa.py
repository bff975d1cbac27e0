"""FairytaleQA: both layouts, and the sections as gold places."""

from pathlib import Path

import pytest

from gistread.errors import GistreadError
from gistread.evaluation.tasks.registry import TASKS, TaskOptions
from tests.evaluation.tasks.files import DATA, gold_text, lines, needs_data, sound

load = TASKS["fairytaleqa"].load
STORY = {
    "story": "the-tin-cup",
    "sections": ["A king had\na tin cup.\n\nHe lost it.", "A goat\nfound it.", "They drank."],
    "questions": [
        {"question_id": "1", "cor_section": "1", "question": "What had the king?", "answer1": "a tin cup"},
        {
            "question_id": "2",
            "cor_section": "2.0, 3",
            "question": "Who found it?",
            "answer1": "a goat",
            "answer4": "Goat",
        },
        {"question_id": "2", "cor_section": "1,3", "question": "Who drank?", "answer1": "They", "answer2": " They "},
    ],
}


def test_a_gold_place_is_the_section_named_in_the_file(tmp_path: Path) -> None:
    (story,) = load(lines(tmp_path / "dev.jsonl", STORY))
    assert story.book.text == "A king had a tin cup.\n\nHe lost it.\n\nA goat found it.\n\nThey drank."
    assert gold_text(story, 0) == ["A king had a tin cup.\n\nHe lost it."]
    assert gold_text(story, 1) == ["A goat found it.\n\nThey drank."], "neighbours are one place"
    assert gold_text(story, 2) == ["A king had a tin cup.\n\nHe lost it.", "They drank."]
    sound(story)


def test_both_annotators_answers_are_references_and_ids_are_distinct(tmp_path: Path) -> None:
    (story,) = load(lines(tmp_path / "dev.jsonl", STORY))
    assert [question.references for question in story.questions] == [("a tin cup",), ("a goat", "Goat"), ("They",)]
    assert [question.id for question in story.questions] == ["1", "2", "2 (2)"]
    assert (story.id, story.book.title, story.preset) == ("the-tin-cup", "The Tin Cup", "fiction")


def authors_folder(root: Path, split: str = "val") -> Path:
    """As in the authors' repository: everything twice, questions and stories in folders side by side."""
    for order in ("data-by-origin", "data-by-train-split"):
        for kind in ("questions", "section-stories"):
            (root / order / kind / split).mkdir(parents=True)
        (root / order / "questions" / split / "cup-questions.csv").write_text(
            "question_id,local-or-sum,cor_section,attribute1,attribute2,question,ex-or-im1,answer1,answer2,answer3,"
            "ex-or-im2,answer4,answer5,answer6\n"
            '1,summary,"1,2",action,,"Who ""found"" it, and where?",explicit,"a goat, in a wood",,,,A goat,,\n'
        )
        (root / order / "section-stories" / split / "cup-story.csv").write_text(
            'section,text\n1,"A king had a cup, and\n lost it."\n2,"A ""goat"" found it."\n3,They drank.\n'
        )
    return root


@pytest.mark.parametrize("part", [".", "data-by-train-split", "data-by-train-split/questions/val"])
def test_the_authors_folders_of_tables_are_read(tmp_path: Path, part: str) -> None:
    (story,) = load(authors_folder(tmp_path / "FairytaleQAData") / part)
    assert story.questions[0].text == 'Who "found" it, and where?'
    assert story.questions[0].references == ("a goat, in a wood", "A goat")
    assert gold_text(story, 0) == ['A king had a cup, and lost it.\n\nA "goat" found it.']
    sound(story)


def test_one_of_several_splits_is_read(tmp_path: Path) -> None:
    root = authors_folder(authors_folder(tmp_path), "test")
    assert len(list(load(root))) == 2
    for name in ("val", "valid", "test"):
        assert len(list(load(root, TaskOptions(split=name)))) == 1
    with pytest.raises(GistreadError, match="has no folder train with questions"):
        list(load(root, TaskOptions(split="train")))


def test_a_missing_story_is_reported(tmp_path: Path) -> None:
    root = authors_folder(tmp_path)
    (root / "data-by-train-split" / "section-stories" / "val" / "cup-story.csv").unlink()
    with pytest.raises(GistreadError, match=r"cup-questions\.csv has no story"):
        list(load(root))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sections": None}, r"dev\.jsonl, line 3: `sections` is missing \(a list\)"),
        ({"sections": ["", "\n"]}, "line 3: the story has no text"),
        ({"questions": [{**STORY["questions"][0], "answer1": ""}]}, r"`questions` 1: `answer1` is missing"),
        ({"questions": [{**STORY["questions"][0], "cor_section": "one"}]}, "`cor_section` is not a list of section"),
        ({"questions": {}}, "`questions` is not a list"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, change: dict[str, object], says: str) -> None:
    path = lines(tmp_path / "dev.jsonl", STORY)
    path.write_text(path.read_text() + "\n" + lines(tmp_path / "x", {**STORY, **change}).read_text())
    documents = load(path)
    assert next(documents).id == "the-tin-cup", "what comes before the mistake is read"
    with pytest.raises(GistreadError, match=says):
        next(documents)


@needs_data
def test_real_tales_are_read() -> None:
    tales = list(load(DATA / "fairytaleqa" / "fairytaleqa_dev.jsonl"))
    assert len(tales) == 20
    assert sum(len(tale.questions) for tale in tales) == 913
    for tale in tales:
        sound(tale)
        assert all(question.gold_places for question in tale.questions)
    assert "seven sons and one daughter" in gold_text(tales[0], 0)[0]
