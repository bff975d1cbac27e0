"""The examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gistread.book.open import open_book
from gistread.memory.sizes import unread_memory
from gistread.people.index import Index
from gistread.sample import story_path

SOURCE = Path(__file__).parents[1] / "src"
ROOMS = ("book", "exporting", "engine", "memory", "people", "readers", "search")
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for room in ROOMS
    for path in sorted((SOURCE / "gistread" / room).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What examples may use without making it: the sample story, its names, a memory of it."""
    book = open_book(story_path())
    return {"book": book, "index": Index.from_book(book), "memory": unread_memory(book)}


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_are_true(module: str, names: dict[str, Any]) -> None:
    result = doctest.testmod(import_module(module), extraglobs=names)
    assert result.attempted
    assert not result.failed
