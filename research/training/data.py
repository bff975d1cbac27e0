"""The sources of training examples, by name."""

from collections.abc import Callable, Collection
from typing import Protocol

from research.evaluation.tasks.fairytaleqa import load_fairytaleqa
from research.evaluation.tasks.registry import TaskOptions
from research.training import written
from research.training.examples import Example
from research.training.pages import SHARED, as_documents, read_pages
from research.training.questions import documents, training_files
from research.training.retrieved import NearestAlone, Retrieved
from research.training.tales import Choices, FairyTales, Mentions, TaleLookups


class Source(Protocol):
    """Packs of examples over one text each, by a number that has no upper limit."""

    def examples(self, number: int) -> list[Example]: ...


TALES = SHARED / "fairytaleqa" / "fairytaleqa_train.jsonl"
SOURCES: dict[str, Callable[[int], Source]] = {
    "tales": lambda seed: FairyTales(TALES, seed),
    "retrieved": lambda seed: Retrieved(load_fairytaleqa(TALES, TaskOptions()), seed),
    "novels": lambda seed: Retrieved(as_documents(read_pages()), seed),
    "books": lambda seed: Retrieved(documents(training_files()), seed),
    "alone": lambda seed: NearestAlone(documents(training_files()), seed),
    "choices": lambda seed: Choices(TALES, seed),
    "mentions": lambda seed: Mentions(TALES, seed),
    "lookups": lambda seed: TaleLookups(TALES, seed),
    "gists": lambda seed: written.Gists(read_pages(), seed),
    "single_pass": lambda seed: written.SinglePassGists(read_pages(), seed),
    "memories": lambda seed: written.Memories(read_pages(), seed),
    "answers": lambda seed: written.Answers(read_pages(), seed),
}


def sources(seed: int, names: Collection[str]) -> dict[str, Source]:
    """The sources of these names."""
    return {name: SOURCES[name](seed) for name in names}
