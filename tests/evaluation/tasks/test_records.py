"""Files of benchmarks: what is read, and what is refused in words."""

from pathlib import Path

import pytest

from gistread.errors import GistreadError
from gistread.evaluation.tasks.records import json_document, json_records, table_records
from tests.evaluation.tasks.files import document, lines


def test_empty_lines_and_a_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf\r\n\r\n{"a": 1}\r\n\r\n{"a": 2}\n\n')
    assert [(record.number("a"), record.where) for record in json_records(path)] == [
        (1, "a.jsonl, line 3"),
        (2, "a.jsonl, line 5"),
    ]


def test_lines_are_read_lazily(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"a": 1})
    path.write_text(path.read_text() + "no JSON\n")
    records = json_records(path)
    assert next(records).number("a") == 1
    with pytest.raises(GistreadError, match=r"a\.jsonl, line 2: not JSON"):
        next(records)


def test_a_json_list_and_a_single_object_are_read(tmp_path: Path) -> None:
    assert [r.where for r in json_records(document(tmp_path / "a.json", [{"a": 1}, {"a": 2}]))] == [
        "a.json, entry 1",
        "a.json, entry 2",
    ]
    assert [r.number("a") for r in json_records(document(tmp_path / "b.json", {"a": 3}))] == [3]


def test_files_of_a_folder_are_read_by_name(tmp_path: Path) -> None:
    lines(tmp_path / "b.jsonl", {"a": 2}, {"a": 3})
    document(tmp_path / "a.json", {"a": 1})
    (tmp_path / "README.md").write_text("not data")
    assert [record.number("a") for record in json_records(tmp_path)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"[]", "holds an empty list"),
        (b"[1]", "entry 1: not an object"),
        (b"3", "neither a JSON object nor a list"),
        (b'{"a": \n', "line 2: not JSON"),
        (b'{"a": 1}\n[2]\n', "line 2: not a JSON object"),
        (b"PK\x03\x04...", "is a zip archive"),
        (b"\x1f\x8b\x08...", "is compressed with gzip"),
        (b"\xff\xfe{", "is not UTF-8"),
    ],
)
def test_an_invalid_file_is_refused_with_an_explanation(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(content)
    with pytest.raises(GistreadError, match=says) as refused:
        list(json_records(path))
    assert "wrong.json" in refused.value.message
    assert refused.value.hint


def test_lines_are_refused_where_one_document_is_expected(tmp_path: Path) -> None:
    with pytest.raises(GistreadError, match="is not one JSON document: line 2 has more"):
        json_document(lines(tmp_path / "a.jsonl", {"a": 1}, {"a": 2}))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for path, says in ((tmp_path / "none", "No such file"), (tmp_path, "is a folder")):
        with pytest.raises(GistreadError, match=says):
            json_document(path)
    with pytest.raises(GistreadError, match="a folder without a"):
        list(json_records(tmp_path))


def test_a_missing_field_is_reported_with_the_existing_ones(tmp_path: Path) -> None:
    (record,) = json_records(lines(tmp_path / "a.jsonl", {"one": "x", "two": None}))
    with pytest.raises(GistreadError, match=r"line 1: `two` is missing \(a text\); the fields are `one`\."):
        record.text("two")
    with pytest.raises(GistreadError, match="`one` is not a whole number"):
        record.number("one")
    with pytest.raises(GistreadError, match="`one` is not a list"):
        record.items("one")
    assert record.text("two", "one") == "x"


def test_numbers_may_be_strings_and_identifiers_numbers(tmp_path: Path) -> None:
    (record,) = json_records(lines(tmp_path / "a.jsonl", {"n": " 12", "f": 3.0, "i": 7, "b": True}))
    assert (record.number("n"), record.number("f"), record.label("i")) == (12, 3, "7")
    with pytest.raises(GistreadError, match="`b` is not a whole number"):
        record.number("b")


def test_a_table_may_have_quotes_line_breaks_and_long_fields(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f'name,text\na,"two\nlines, ""quoted"""\nb,{"x" * 200_000}\nc,\n', encoding="utf-8-sig")
    rows = table_records(path)
    assert rows[0].text("text") == 'two\nlines, "quoted"'
    assert len(rows[1].text("text")) == 200_000
    assert "text" not in rows[2]
    assert rows[2].where == "t.csv, line 5"


@pytest.mark.parametrize(("content", "says"), [("a,b\n1,2,3\n", "line 2: more fields"), ("a,b\n", "no rows")])
def test_an_invalid_table_is_refused(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(GistreadError, match=says):
        table_records(path)


def test_a_table_may_have_another_encoding_and_empty_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("name,text\r\n,\r\na,She said “no” – c’était fini.\r\n,\r\n".encode("cp1252"))
    (row,) = table_records(path)
    assert row.text("text") == "She said “no” – c’était fini."
    assert row.where == "t.csv, line 3"
