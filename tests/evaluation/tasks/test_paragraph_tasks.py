"""HotpotQA, MuSiQue and SQuAD: paragraphs become one document, and what supports an answer a gold place."""

from pathlib import Path
from typing import Any

import pytest

from gistread.errors import GistreadError
from gistread.evaluation.tasks.registry import TASKS
from gistread.evaluation.tasks.wikipedia import squad_articles
from tests.evaluation.tasks.files import DATA, document, gold_text, lines, needs_data, sound

hotpot, musique, squad = (TASKS[name].load for name in ("hotpotqa", "musique", "squad"))


def two_hops(**more: Any) -> dict[str, Any]:
    """As in hotpot_dev_distractor_v1.json."""
    return {
        "_id": "5a88",
        "question": "Where was the maker of the lamp born?",
        "answer": "Oslo",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Ann Lee", 1], ["The Lamp", 0], ["The Lamp", 7]],
        "context": [
            ["Ann Lee", ["Ann Lee made lamps.", " She  was born in Oslo.", " She died."]],
            ["The Fog", ["The fog came.", " She was born in Oslo."]],
            ["The Lamp", ["The lamp was made by Ann Lee.", " It is red."]],
        ],
        **more,
    }


def test_gold_places_of_hotpotqa_are_sentences(tmp_path: Path) -> None:
    (one,) = hotpot(document(tmp_path / "dev.json", [two_hops()]))
    assert one.book.text.startswith("Ann Lee\n\nAnn Lee made lamps. She was born in Oslo. She died.\n\nThe Fog\n\n")
    assert gold_text(one, 0) == ["She was born in Oslo.", "The lamp was made by Ann Lee."]
    assert one.questions[0].references == ("Oslo",)
    assert len(one.book.chapters) == 1, "a page may hold several paragraphs"
    sound(one)


def test_gold_places_of_hotpotqa_with_titles_alone_are_paragraphs(tmp_path: Path) -> None:
    record = two_hops(supporting_titles=["Ann Lee", "The Lamp"], _id=None)
    del record["supporting_facts"]
    (one,) = hotpot(document(tmp_path / "dev.json", [record]))
    assert gold_text(one, 0) == [
        "Ann Lee made lamps. She was born in Oslo. She died.",
        "The lamp was made by Ann Lee. It is red.",
    ]
    assert one.id == "question-1"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"context": [["x"]]}, "`context` is not a list of titles"),
        ({"context": []}, "`context` is empty"),
        ({"answer": None}, "`answer` is missing"),
        ({"supporting_facts": None}, "`supporting_facts` is missing"),
        ({"supporting_facts": [["x", "y"]]}, "titles and sentence numbers"),
    ],
)
def test_errors_in_hotpotqa_name_the_entry(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(GistreadError, match=rf"dev\.json, entry 2.*{says}"):
        list(hotpot(document(tmp_path / "dev.json", [two_hops(), two_hops(**change)])))


def hops(**more: Any) -> dict[str, Any]:
    """As in musique_full_v1.0_dev.jsonl."""
    return {
        "id": "2hop__1_2",
        "paragraphs": [
            {"idx": 0, "title": "Ann", "paragraph_text": "Ann made it.", "is_supporting": True},
            {"idx": 1, "title": "Fog", "paragraph_text": "Fog came.", "is_supporting": False},
            {"idx": 2, "title": "Ann", "paragraph_text": "She was\nborn in Oslo.", "is_supporting": True},
        ],
        "question": "Where was the maker born?",
        "question_decomposition": [],
        "answer": "Oslo",
        "answer_aliases": ["Christiania"],
        "answerable": True,
        **more,
    }


def test_musique_has_gold_paragraphs_and_aliases_of_the_answer(tmp_path: Path) -> None:
    one, other = musique(lines(tmp_path / "dev.jsonl", hops(), hops(answerable=False)))
    assert gold_text(one, 0) == ["Ann made it.", "She was born in Oslo."]
    assert one.questions[0].references == ("Oslo", "Christiania")
    assert (one.id, other.id) == ("2hop__1_2", "2hop__1_2 (2)"), "both of a pair have one name in the file"
    assert not other.questions[0].answerable
    assert other.questions[0].references == other.questions[0].gold_places == ()
    sound(one)
    sound(other)


def articles(**more: Any) -> dict[str, Any]:
    """As in dev-v2.0.json."""
    answers = [{"text": "a year", "answer_start": 20}, {"text": "a year", "answer_start": 20}]
    asked = [
        {"id": "a1", "question": "How long?", "answers": answers, "is_impossible": False, **more},
        {"id": "a2", "question": "Who?", "answers": [], "plausible_answers": answers, "is_impossible": True},
    ]
    paragraphs = [{"context": "Fog came.", "qas": []}, {"context": "The lamp burned for a year.", "qas": asked}]
    return {"version": "v2.0", "data": [{"title": "The_Lamp", "paragraphs": paragraphs}]}


def test_squad_has_one_document_per_article_and_unanswerable_questions(tmp_path: Path) -> None:
    (one,) = squad(document(tmp_path / "dev.json", articles()))
    assert (one.id, one.book.text) == ("The Lamp", "Fog came.\n\nThe lamp burned for a year.")
    assert gold_text(one, 0) == ["The lamp burned for a year."]
    assert [question.answerable for question in one.questions] == [True, False]
    assert [question.references for question in one.questions] == [("a year",), ()]
    sound(one)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"answers": [{"text": "two years", "answer_start": 20}]}, "'two years' is not in `context`"),
        ({"answers": []}, "`answers` is empty"),
        ({"id": None}, "`id` is missing"),
    ],
)
def test_errors_in_squad_name_their_place(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(GistreadError, match=f"`data` 1, `paragraphs` 2, `qas` 1.*{says}"):
        list(squad(document(tmp_path / "dev.json", articles(**change))))
    with pytest.raises(GistreadError, match=r"`data` is missing \(a list\)"):
        list(squad(document(tmp_path / "dev.json", two_hops())))


def test_an_answer_with_a_wrong_offset_is_found_in_its_paragraph(tmp_path: Path) -> None:
    counted_otherwise = articles(answers=[{"text": "a year", "answer_start": 0}])
    counted_otherwise["data"][0]["paragraphs"][1]["context"] = "It was dark. The lamp burned for a year."
    ((_, paragraphs),) = squad_articles(document(tmp_path / "dev.json", counted_otherwise))
    (passage,) = paragraphs[1].asked[0].passages
    assert passage.support == ("The lamp burned for a year.",)


def test_the_language_of_xquad_is_in_the_file_name(tmp_path: Path) -> None:
    (german,) = squad(document(tmp_path / "xquad.de.json", articles()))
    (english,) = squad(document(tmp_path / "dev-v2.0.json", articles()))
    assert (german.book.language, english.book.language) == ("de", "en")


@needs_data
def test_real_paragraphs_are_read() -> None:
    found = list(hotpot(DATA / "multihop" / "hotpotqa_dev_120.json"))
    assert len(found) == 120
    assert all(len(one.questions[0].gold_places) == 2 for one in found)
    found += musique(DATA / "multihop" / "musique_dev_60.jsonl")
    assert len(found) == 180
    normans, *others = squad(DATA / "multihop" / "squad_v2_dev_first5articles.json")
    assert sum(not question.answerable for one in (normans, *others) for question in one.questions) == 702
    assert "France" in gold_text(normans, 0)[0]
    english = list(squad(DATA / "multihop" / "xquad.en.json"))
    assert sum(len(one.questions) for one in english) == 1190
    for one in (*found, normans, *others, *english):
        sound(one)
    for one in (normans, *others, *english):
        for number, question in enumerate(one.questions):
            if question.answerable:
                (gold,) = gold_text(one, number)
                assert " ".join(question.references[0].split()) in gold
