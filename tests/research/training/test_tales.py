"""The sources made of tales ask in the program's prompts, over a window of a tale or its memory."""

import json
from pathlib import Path

import pytest

from research.training.tales import NOT_SAID, Choices, FairyTales, Mentions, TaleLookups

ANIMALS = ("fox", "hen", "bear", "owl", "cat", "goat")
WINDOWS = 60


def tale(name: str, place: str) -> dict[str, object]:
    return {
        "story": name,
        "sections": [
            f"One day the {animal} came to the {place}." for animal in ANIMALS
        ],
        "questions": [
            {
                "question": f"who came to the {place} on day {day} ?",
                "cor_section": str(day),
                "answer1": f"the {animal} .",
            }
            for day, animal in enumerate(ANIMALS, 1)
        ],
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tales.jsonl"
    tales = [tale("river", "river"), tale("mill", "mill")]
    path.write_text("\n".join(map(json.dumps, tales)), encoding="utf-8")
    return path


@pytest.mark.parametrize("source", [FairyTales, Choices, Mentions, TaleLookups])
def test_every_window_makes_examples(source: type[FairyTales], path: Path) -> None:
    tales = source(path, seed=1)
    windows = [tales.examples(number) for number in range(WINDOWS)]
    assert all(windows)
    assert all(
        example.prompt and example.reply for window in windows for example in window
    )
    assert source(path, seed=1).examples(3) == windows[3]


def test_questions_are_asked_over_passages_and_over_a_memory(path: Path) -> None:
    tales = FairyTales(path, seed=1)
    examples = [
        example for number in range(WINDOWS) for example in tales.examples(number)
    ]
    answers = {f"The {animal}." for animal in ANIMALS}
    over_memory = [
        example for example in examples if "what you remember" in example.prompt
    ]
    assert answers & {example.reply for example in over_memory}
    assert answers & {
        example.reply for example in examples if example not in over_memory
    }
    assert NOT_SAID in {example.reply for example in examples}
