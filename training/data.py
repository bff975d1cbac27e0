"""The sources of training examples, by name."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from training import written
from training.packing import Example
from training.tales import FairyTales

SHARED = Path(os.environ.get("GISTREAD_DATA", Path(__file__).parents[2] / "shared" / "data"))
"""The folder with fairytaleqa/."""
WRITTEN = Path(os.environ.get("GISTREAD_WRITTEN", Path(__file__).parent / "data"))
"""The folder with written pages."""


class Source(Protocol):
    """Packs of examples over one text each, by number; numbers go on for ever."""

    def examples(self, number: int) -> list[Example]: ...


def sources(seed: int, names: Collection[str]) -> dict[str, Source]:
    """The sources of these names."""
    makers = {
        "tales": lambda: FairyTales(SHARED / "fairytaleqa" / "fairytaleqa_train.jsonl", seed),
        "gists": lambda: written.Gists(WRITTEN, seed),
        "single_pass": lambda: written.SinglePassGists(WRITTEN, seed),
        "memories": lambda: written.Memories(WRITTEN, seed),
        "answers": lambda: written.Answers(WRITTEN, seed),
    }
    return {name: makers[name]() for name in names}
