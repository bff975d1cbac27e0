"""The sources of training examples, by name."""

from collections.abc import Collection
from typing import Protocol

from training import written
from training.packing import Example
from training.pages import SHARED, read_pages
from training.retrieved import Retrieved
from training.tales import Choices, FairyTales, Mentions, TaleLookups


class Source(Protocol):
    """Packs of examples over one text each, by number; numbers go on for ever."""

    def examples(self, number: int) -> list[Example]: ...


def sources(seed: int, names: Collection[str]) -> dict[str, Source]:
    """The sources of these names."""
    tales = SHARED / "fairytaleqa" / "fairytaleqa_train.jsonl"
    makers = {
        "tales": lambda: FairyTales(tales, seed),
        "choices": lambda: Choices(tales, seed),
        "mentions": lambda: Mentions(tales, seed),
        "lookups": lambda: TaleLookups(tales, seed),
        "retrieved": lambda: Retrieved(tales, seed),
        "gists": lambda: written.Gists(read_pages(), seed),
        "single_pass": lambda: written.SinglePassGists(read_pages(), seed),
        "memories": lambda: written.Memories(read_pages(), seed),
        "answers": lambda: written.Answers(read_pages(), seed),
    }
    return {name: makers[name]() for name in names}
