"""Needles in haystacks: swapped answers, lengths and depths, the same for the same options."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gistread.errors import GistreadError
from gistread.evaluation.model import Document
from gistread.evaluation.tasks.registry import TASKS, TaskOptions, estimated_tokens
from tests.evaluation.tasks.files import DATA, document, gold_text, needs_data, sound

one, two = TASKS["needle"].load, TASKS["needle-2"].load
PEOPLE = ("Ann Lee", "Bo Holm", "Cy Young", "Di Moss", "Ed Park")
TOPICS = ("mill", "gate", "barn", "pier", "keep")
SMALL = TaskOptions(lengths=(300, 600), depths=(0.0, 0.5, 1.0), needles=2)


def prose(topic: str, number: int, sentences: int = 4) -> str:
    return " ".join(f"The {topic} of year {number} had {n} lamps and a keeper." for n in range(3, 3 + sentences))


def squad_file(path: Path) -> Path:
    """Five articles of three paragraphs; in one of each is a fact about a person."""
    data = []
    for number, (person, topic) in enumerate(zip(PEOPLE, TOPICS, strict=True)):
        fact = f"{prose(topic, 1)} The {topic} was painted by {person} alone. {person.split()[1]} was young."
        asked: list[dict[str, Any]] = [
            {
                "id": f"q{number}",
                "question": f"Who painted the {topic}?",
                "answers": [{"text": person, "answer_start": fact.index(person)}],
            },
            {
                "id": f"w{number}",
                "question": "What did they paint?",
                "answers": [{"text": topic, "answer_start": fact.index(topic)}],
            },
        ]
        paragraphs = [{"context": fact, "qas": asked}]
        paragraphs += [{"context": prose(topic, year), "qas": []} for year in (7, 8)]
        data.append({"title": topic.title(), "paragraphs": paragraphs})
    return document(path, {"version": "1.1", "data": data})


def hotpot_file(path: Path) -> Path:
    """Five questions of two hops, each with two distractors."""
    records = []
    for number, person in enumerate(PEOPLE):
        context = [
            [f"Mill {number}", [f"Mill {number} stands in Vale {number}.", " " + prose("mill", number, 2)]],
            [f"Fog {number}", [prose("fog", number)]],
            [f"Vale {number}", [f"Vale {number} is ruled by {person}.", " " + prose("vale", number, 2)]],
            [f"Dew {number}", [prose("dew", number)]],
        ]
        records.append(
            {
                "_id": f"h{number}",
                "question": f"Who rules the valley of Mill {number}?",
                "answer": person,
                "type": "bridge",
                "supporting_facts": [[f"Mill {number}", 0], [f"Vale {number}", 0]],
                "context": context,
            }
        )
    yes = {**records[0], "_id": "yes", "answer": "yes"}
    return document(path, [*records, yes])


def test_every_cell_has_a_first_needle_before_any_has_a_second(tmp_path: Path) -> None:
    documents = list(one(squad_file(tmp_path / "s.json"), SMALL))
    ids = [text.id for text in documents]
    assert ids[:6] == ["300-0-1", "300-50-1", "300-100-1", "600-0-1", "600-50-1", "600-100-1"]
    assert len(set(ids)) == len(ids) == 12
    assert {text.questions[0].cell for text in documents} == set(itertools.product((300.0, 600.0), SMALL.depths))
    for text in documents:
        sound(text)


def test_the_answer_is_replaced_by_another_of_its_kind(tmp_path: Path) -> None:
    for text in one(squad_file(tmp_path / "s.json"), SMALL):
        (asked,) = text.questions
        true = PEOPLE[int(asked.id[1])]
        (answer,) = asked.references
        assert asked.id.startswith("q"), "what they painted is no entity"
        assert answer in PEOPLE
        assert answer != true
        assert gold_text(text, 0) == [f"The {TOPICS[int(asked.id[1])]} was painted by {answer} alone."]
        assert f"{answer.split()[1]} was young." in text.book.text
        assert true not in text.book.text
        assert true.split()[1] not in text.book.text


def tokens_before(text: Document) -> float:
    start = min(place[0] for place in text.questions[0].gold_places)
    return estimated_tokens(text.book.text[:start])


def test_length_and_depth_are_those_of_the_cell(tmp_path: Path) -> None:
    options = TaskOptions(lengths=(4000,), depths=(0.0, 0.25, 0.5, 1.0), needles=3)
    for text in one(squad_file(tmp_path / "s.json"), options):
        length, depth = text.questions[0].cell or (0, 0)
        tokens = estimated_tokens(text.book.text)
        assert tokens == pytest.approx(length, rel=0.03)
        assert tokens_before(text) / tokens == pytest.approx(depth, abs=0.04)


def test_no_hay_is_from_the_needles_article(tmp_path: Path) -> None:
    for text in one(squad_file(tmp_path / "s.json"), SMALL):
        topic = TOPICS[int(text.questions[0].id[1])]
        assert f"The {topic} of year 1 " in text.book.text
        assert f"The {topic} of year 7 " not in text.book.text
        assert f"The {topic} of year 8 " not in text.book.text


def test_the_same_options_make_the_same_texts(tmp_path: Path) -> None:
    path = squad_file(tmp_path / "s.json")

    def texts(seed: int) -> list[tuple[str, str]]:
        options = TaskOptions(seed=seed, lengths=(300,), needles=3)
        return [(text.id, text.book.sha256) for text in one(path, options)]

    assert texts(1) == texts(1) != texts(2)


def test_texts_are_made_lazily(tmp_path: Path) -> None:
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += 1
        return estimated_tokens(text)

    documents: Iterator[Document] = iter(one(squad_file(tmp_path / "s.json"), TaskOptions(count=count)))
    next(documents)
    first = counted
    next(documents)
    assert first < counted < 3 * first


def test_needles_in_a_book_are_placed_between_sentences(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    paragraphs = (" ".join(f"Wolf {n} ran {m} miles." for m in range(40)) for n in range(9))
    book.write_text("CHAPTER I\n\n" + "\n\n".join(paragraphs))
    options = TaskOptions(lengths=(500,), depths=(0.0, 0.3, 1.0), needles=1, haystack=book)
    for text in one(squad_file(tmp_path / "s.json"), options):
        sound(text)
        assert text.preset == "fiction"
        assert "CHAPTER" not in text.book.text
        assert text.book.text.count("Wolf") > 30
        assert all(paragraph.end > paragraph.start for paragraph in text.book.paragraphs)
        assert "ran\n" not in text.book.text, "no sentence is parted"


def test_a_needle_longer_than_its_haystack_stands_alone(tmp_path: Path) -> None:
    for text in one(squad_file(tmp_path / "s.json"), TaskOptions(lengths=(1, 70), depths=(0.5,), needles=5)):
        sound(text)
        assert estimated_tokens(text.book.text) < 90


def test_two_needles_at_two_depths_have_the_same_new_entity(tmp_path: Path) -> None:
    options = TaskOptions(lengths=(1000,), depths=(1.0, 0.0, 0.5), needles=2)
    documents = list(two(hotpot_file(tmp_path / "h.json"), options))
    assert [text.id for text in documents[:3]] == ["1000-0-50-1", "1000-0-100-1", "1000-50-100-1"]
    assert [text.questions[0].cell for text in documents[:3]] == [(1000.0, 0.0), (1000.0, 0.0), (1000.0, 0.5)]
    orders = set()
    for text in documents:
        sound(text)
        (asked,) = text.questions
        number = asked.id[1]
        (answer,) = asked.references
        gold = gold_text(text, 0)
        assert sorted(gold) == [f"Mill {number} stands in Vale {number}.", f"Vale {number} is ruled by {answer}."]
        assert PEOPLE[int(number)] not in text.book.text
        assert f"Fog {number}" not in text.book.text, "a distractor made for this question"
        orders.add(gold[0][:4])
    assert orders == {"Mill", "Vale"}, "either can come first"


def test_musique_gives_pairs_of_needles(tmp_path: Path) -> None:
    records = [
        {
            "id": f"2hop{number}",
            "question": f"Who rules the valley of Mill {number}?",
            "answer": person,
            "answer_aliases": [f"Ruler {number}"] if number else [],
            "paragraphs": [
                {"title": f"Mill {number}", "paragraph_text": f"It stands in Vale {number}.", "is_supporting": True},
                {"title": person, "paragraph_text": f"{person} rules Vale {number}.", "is_supporting": True},
                {"title": "Fog", "paragraph_text": prose("fog", number), "is_supporting": False},
            ],
        }
        for number, person in enumerate(PEOPLE)
    ]
    for text in two(document(tmp_path / "m.json", records), TaskOptions(lengths=(200,), depths=(0.0, 1.0))):
        sound(text)
        (asked,) = text.questions
        (answer,) = asked.references
        assert f"{answer}\n\n{answer} rules Vale {asked.id[-1]}." in text.book.text, "in its title, too"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (TaskOptions(haystack=Path("none.txt")), "No such file"),
        (TaskOptions(depths=(0.5,)), "Two needles need two depths"),
    ],
)
def test_impossible_options_are_refused(tmp_path: Path, options: TaskOptions, says: str) -> None:
    with pytest.raises(GistreadError, match=says):
        list(two(hotpot_file(tmp_path / "h.json"), options))


def test_a_file_without_swappable_answers_or_hay_is_refused(tmp_path: Path) -> None:
    asked = [{"id": "a", "question": "Who?", "answers": [{"text": "Ann Lee", "answer_start": 0}]}]
    alone = {"data": [{"title": "x", "paragraphs": [{"context": "Ann Lee did.", "qas": asked}]}]}
    with pytest.raises(GistreadError, match=r"alone\.json: no question has an answer that can be swapped"):
        list(one(document(tmp_path / "alone.json", alone)))
    asked = [{"id": "b", "question": "Who?", "answers": [{"text": "Bo Holm", "answer_start": 0}]}]
    alone["data"][0]["paragraphs"].append({"context": "Bo Holm did.", "qas": asked})
    with pytest.raises(GistreadError, match=r"No haystack for [ab]:"):
        list(one(document(tmp_path / "alone.json", alone)))
    with pytest.raises(GistreadError, match="is not one JSON object"):
        list(one(hotpot_file(tmp_path / "h.json")))
    with pytest.raises(GistreadError, match="`supporting_facts` is missing"):
        list(two(squad_file(tmp_path / "s.json")))


@needs_data
@pytest.mark.parametrize(
    ("task", "file", "haystack"),
    [
        ("needle", "xquad.en.json", ""),
        pytest.param("needle", "squad_v2_dev_first5articles.json", "2600_War-and-Peace.txt", marks=pytest.mark.slow),
        ("needle-2", "hotpotqa_dev_120.json", ""),
        ("needle-2", "musique_dev_60.jsonl", "2600_War-and-Peace.txt"),
    ],
)
def test_needles_are_made_of_real_files(task: str, file: str, haystack: str) -> None:
    book = DATA / "books" / haystack if haystack else None
    options = TaskOptions(lengths=(1000, 16_000, 128_000), depths=(0.0, 0.5, 1.0), needles=1, haystack=book)
    documents = list(TASKS[task].load(DATA / "multihop" / file, options))
    assert len(documents) == 9
    for text in documents:
        sound(text)
        length, depth = text.questions[0].cell or (0, 0)
        assert estimated_tokens(text.book.text) == pytest.approx(length, rel=0.08)
        if length > 1000:
            assert tokens_before(text) / length == pytest.approx(depth, abs=0.05)
        assert any(reference in place for reference in text.questions[0].references for place in gold_text(text, 0))
