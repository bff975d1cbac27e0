"""Files of benchmarks: what is read, and what is refused in words."""

from pathlib import Path

import pytest

from gistread.errors import GistreadError
from research.evaluation.tasks.records import json_records
from tests.research.evaluation.tasks.files import lines


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"[]", "holds an empty list"),
        (b"[1]", "entry 1: not an object"),
        (b"3", "not an object"),
        (b'{"a": \n', "line 2: not JSON"),
        (b'{"a": 1}\n[2]\n', "line 2: not an object"),
        (b"PK\x03\x04\x00...", "is not text"),
    ],
)
def test_an_invalid_file_is_refused_with_an_explanation(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(content)
    with pytest.raises(GistreadError, match=says) as refused:
        list(json_records(path))
    assert "wrong.json" in refused.value.message
    assert refused.value.hint


def test_a_missing_field_is_reported_with_the_existing_ones(tmp_path: Path) -> None:
    (record,) = json_records(lines(tmp_path / "a.jsonl", {"one": "x", "two": None}))
    with pytest.raises(GistreadError, match="line 1: `two` is missing"):
        record.text("two")
    with pytest.raises(GistreadError, match="`one` is not a whole number"):
        record.number("one")
    with pytest.raises(GistreadError, match="`one` is not a list"):
        record.items("one")
    assert record.text("two", "one") == "x"
