"""`gistread export --template`: documents by the user's own template."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from gistread.book.open import open_book
from gistread.cli import read as screens
from gistread.cli.opening import open_named
from gistread.cli.parser import parse
from gistread.errors import ExitStatus
from gistread.marking import MarkKind, new_mark, quote_at
from gistread.paths import default_paths
from gistread.store.user_data import MarkStore, UserData
from tests.book.make_epub import epub, page
from tests.cli.conftest import Run

_DOCUMENT = Path(__file__).parents[2] / "docs" / "scripting.md"


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """The example in the documents."""
    example = re.search(
        r"^```jinja\n(.*?)^```", _DOCUMENT.read_text(), re.DOTALL | re.MULTILINE
    )
    path = tmp_path / "book.md"
    path.write_text(example[1])
    return path


@pytest.fixture
def marked(book: Path) -> Path:
    opened = open_book(book)
    UserData(default_paths()).record_opening(
        opened.sha256,
        title=opened.title,
        authors=(),
        length=len(opened.text),
        path=book,
    )
    start = opened.text.index("The Storm stood")
    place = quote_at(opened.text, start, start + len("The Storm stood"))
    MarkStore(default_paths()).put(
        opened.sha256, new_mark(MarkKind.HIGHLIGHT, place, note="A *bold* storm")
    )
    return book


def test_the_example_makes_a_note_for_obsidian_that_leads_back(
    run: Run, marked: Path, template: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    ran = run("export", marked, "--template", template, "--output", notes)
    assert ran.status == ExitStatus.DONE
    text = (notes / "The Lamp – notes.md").read_text()
    _, front, body = text.split("---\n", 2)
    assert yaml.safe_load(front) == {
        "title": "The Lamp",
        "author": [],
        "tags": ["book"],
    }
    assert "> The Storm stood\n> — Chapter 2: The Storm, p. " in body
    assert r"A \*bold\* storm" in body
    command = re.search("`(gistread .*)`", body)[1]
    arguments = parse(shlex.split(command)[1:])
    opened = open_book(marked)
    look = screens.Look.at(arguments.at, opened, marked)
    assert arguments.book == str(marked)
    assert opened.text[look.start :].startswith("The Storm stood")


@pytest.mark.parametrize("name", ["The Lamp", "-Lamp-", "sample"])
def test_the_command_names_this_book_whatever_its_title(
    run: Run, tmp_path: Path, name: str
) -> None:
    path = tmp_path / f"{name}.txt"
    path.write_text("The lamp burned.\n")
    book = open_book(path)
    mark = new_mark(MarkKind.HIGHLIGHT, quote_at(book.text, 0, 8))
    MarkStore(default_paths()).put(book.sha256, mark)
    template = tmp_path / "command.txt"
    template.write_text("{{ marks[0].open }}")
    command = run("export", path, "--template", template).out
    named = parse(shlex.split(command)[1:]).book
    assert open_named(named).sha256 == book.sha256


def test_paragraphs_are_kept_behind_a_prefix(
    run: Run, marked: Path, tmp_path: Path
) -> None:
    book = open_book(marked)
    place = quote_at(book.text, 100, 140)
    note = new_mark(MarkKind.NOTE, place, note="A\nb\n\n# C")
    MarkStore(default_paths()).put(book.sha256, note)
    template = tmp_path / "notes.md"
    template.write_text('- {{ marks[0].note | markdown("  ") }}')
    assert run("export", marked, "--template", template).out == "- A\\\n  b\n\n  \\# C"


def test_a_field_that_is_not_there_is_told_in_one_line(
    run: Run, marked: Path, tmp_path: Path
) -> None:
    path = tmp_path / "own.txt.j2"
    for text, reason in (
        (
            "{{ book.title }}\n{% for m in marks %}{{ m.colour }}{% endfor %}",
            "line 2: there is no",
        ),
        ("{{ bok.title }}", "own.txt.j2: there is no field 'bok'."),
        ("{{ book.title", "own.txt.j2, line 1: unexpected end of template"),
        ("{{ book.__class__ }}", "line 1: there is no field '__class__'."),
    ):
        path.write_text(text)
        ran = run("export", marked, "--template", path)
        assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
        assert reason in ran.err.splitlines()[0]
    path.write_text("{{ book.title }}: {{ marks | length }}{{ marks[0].color }}\n")
    assert run("export", marked, "--template", path).out == "The Lamp: 1\n"
    assert (
        "cannot be read" in run("export", marked, "--template", tmp_path / "none").err
    )


def test_all_books_are_exported_by_a_template(
    run: Run, marked: Path, template: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    assert (
        run("export", "--all", "--template", template, "--output", folder).status == 0
    )
    assert [path.name for path in folder.iterdir()] == ["The Lamp – notes.md"]
    ran = run("export", "--all", "--template", template)
    assert "An export by book.md has a file for each book" in ran.err


def test_a_template_that_writes_whole_marks_gets_their_cfis(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(epub({"a.xhtml": page("<p>The <em>boat</em> came in.</p>")}))
    opened = open_book(path)
    start = opened.text.index("boat")
    place = quote_at(opened.text, start, start + len("boat"))
    MarkStore(default_paths()).put(opened.sha256, new_mark(MarkKind.HIGHLIGHT, place))
    template = tmp_path / "marks.json"
    template.write_text("{{ marks | tojson }}")
    (mark,) = json.loads(run("export", path, "--template", template).out)
    assert mark["cfi"].startswith("epubcfi(/6/2!")
