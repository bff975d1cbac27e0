"""The example of the documents for a new format reads a book."""

import re
from pathlib import Path
from typing import Any

import pytest

from gistread.errors import BookError

_DOCUMENT = Path(__file__).parents[2] / "docs" / "architecture.md"
GEMTEXT = b"""# The Weir

Lucy Crane & the miller met.

# The Mill

The wheel stood still.
"""


@pytest.fixture
def example() -> dict[str, Any]:
    text = _DOCUMENT.read_text("utf-8").partition("## A new format")[2]
    match = re.search(r"^```py\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert match
    names: dict[str, Any] = {}
    exec(match[1], names)
    return names


def test_it_has_chapters_and_text(example: dict[str, Any]) -> None:
    book = example["read_gemtext"](GEMTEXT, "weir.gmi")
    assert [chapter.title for chapter in book.chapters] == ["The Weir", "The Mill"]
    assert "Lucy Crane & the miller met." in book.text
    assert book.source_format == "gemtext"


def test_it_refuses_what_is_no_text(example: dict[str, Any]) -> None:
    with pytest.raises(BookError):
        example["read_gemtext"](b"", "empty.gmi")
