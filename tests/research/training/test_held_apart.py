"""Nothing that is evaluated is trained on.

No longer run of words of a training text stands in an evaluated one.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gistread.sample import story_path
from research.training.pages import SHARED, read_pages

RUN_WORDS = 13
MOST_SHARED = 0.02
"""Share of the runs of a training text: proverbs and formulas of tales stand in several books."""

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")


def runs(text: str, step: int = 1) -> list[int]:
    """Hashes of the runs of words of a text, one beginning every `step` words."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return [
        hash(tuple(words[at : at + RUN_WORDS]))
        for at in range(0, len(words) - RUN_WORDS + 1, step)
    ]


def records(path: Path) -> Iterator[dict]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def evaluated() -> Iterator[str]:
    yield story_path().read_text(encoding="utf-8")
    for tale in records(SHARED / "fairytaleqa" / "fairytaleqa_dev.jsonl"):
        yield " ".join(tale["sections"])
    for name in ("quality_4opt_dev", "quality_2opt_dev"):
        yield from (
            re.sub("<[^>]+>", " ", story["article"])
            for story in records(SHARED / "quality" / f"{name}.jsonl")
        )
    yield from (
        story["document"]
        for story in records(SHARED / "squality" / "squality_dev.jsonl")
    )
    for meeting in records(SHARED / "qmsum" / "qmsum_val.jsonl"):
        yield " ".join(turn["content"] for turn in meeting["meeting_transcripts"])
    for book in records(SHARED / "literaryqa" / "literaryqa_dev.jsonl"):
        yield (SHARED / book["text_file"]).read_text(encoding="utf-8", errors="replace")
    # Alice, The Time Machine, The Cask of Amontillado, He Walked Around the Horses
    for number in (
        11,
        35,
        1063,
        18807,
    ):
        (path,) = (SHARED / "books").glob(f"{number}_*.txt")
        yield path.read_text(encoding="utf-8", errors="replace")


def trained() -> Iterator[tuple[str, str]]:
    for tale in records(SHARED / "fairytaleqa" / "fairytaleqa_train.jsonl"):
        yield tale["story"], " ".join(tale["sections"])
    for pages in read_pages():
        yield pages[0].source, " ".join(page.text for page in pages)


@pytest.mark.slow
def test_no_evaluated_text_is_trained_on() -> None:
    known = {run for text in evaluated() for run in runs(text)}
    overlapping = {}
    for name, text in trained():
        own = runs(text, step=3)
        share = sum(run in known for run in own) / max(1, len(own))
        if share > MOST_SHARED:
            overlapping[name] = round(share, 2)
    assert not overlapping
