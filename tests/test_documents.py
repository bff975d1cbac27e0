"""The documents: their Python runs, their command lines parse, their settings are TOML."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gistread.book.open import open_bytes
from gistread.cli import main
from gistread.cli.docs import documents
from gistread.cli.parser import parse
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.library import installed_version
from gistread.errors import GistreadError
from gistread.memory.check_results import CheckResult, CheckResults, Worth
from gistread.paths import default_paths
from tests.book.make_epub import epub, page
from tests.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_REMARK = re.compile(r"\s+#\s.*|\s{2,}(?!-).*")
"""What a command line in a document is followed by."""
_INLINE = re.compile(r"(?<!`)`(gistread [^`\s]+ [^`\n]+)`")
"""Not `gistread eval`, the command by its name alone."""
_PLACEHOLDER = re.compile(r"…|\.\.\.|\bTASK\b")


@dataclass(frozen=True)
class Snippet:
    where: str
    language: str
    text: str


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
                yield snippet.where, _REMARK.sub("", line)
    for document in DOCUMENTS:
        for line in _INLINE.findall(document.read_text()):
            if not _PLACEHOLDER.search(line):
                yield document.name, line


def of(language: str) -> list[object]:
    return [pytest.param(one, id=one.where) for one in snippets() if one.language == language]


def test_links_in_the_documents_lead_somewhere() -> None:
    text = documents()
    book = open_bytes(text.encode(), "gistread.md")
    assert len([link for link in book.links if link.target is not None]) == len(re.findall(r"\]\((?!https://)", text))
    for document in [*ROOT.glob("*.md"), ROOT / "training" / "README.md"]:
        for link in re.findall(r"\]\(([^):#]+)\)", document.read_text()):
            assert (document.parent / link).exists(), f"{document.name}: {link}"


def test_the_index_names_every_page_and_the_site_has_its_order() -> None:
    names = re.findall(r"\]\(([a-z-]+\.md)\)", (ROOT / "docs" / "index.md").read_text())
    assert sorted(["index.md", *names]) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    assert tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"] == ["index.md", *names]


def test_docs_prints_a_page_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "models"]) == 0
    assert capsys.readouterr().out.startswith("# Models\n")
    assert main(["docs", "model"]) == 2
    assert "models" in capsys.readouterr().err


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a book, and the tiny model as the starter. All snippets share one home, and its memories."""
    folder = tmp_path_factory.mktemp("library")
    tiny = write_tiny_gguf(folder / "tiny.gguf", brief=True)
    line = "Justine stood before the door and counted the stairs, one by one, as the sea went on below. "
    pages = {f"c{number}.xhtml": page(f"<h1>Part {number}</h1><p>{line * 4}</p>") for number in (1, 2)}
    (folder / "frankenstein.epub").write_bytes(epub(pages))
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
            patch.setenv(f"XDG_{kind}_HOME", str(folder / kind))
        patch.setattr("gistread.engine.models.starter_path", lambda: tiny)
        patch.chdir(folder)
        config = folder / "CONFIG" / "gistread" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('model = "starter"\nmin_words = 60\nmax_words = 120\n')
        results = CheckResults(default_paths().check_results, installed_version())
        results.save(read_header(tiny).fingerprint, tiny, CheckResult(Worth.SOME, "known"))  # not checked again
        yield folder


@pytest.mark.parametrize("snippet", of("python"))
def test_python_runs(snippet: Snippet, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(snippet.text, snippet.where, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


def test_the_table_of_json_fields_is_true(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = re.findall(
        r"^\| `gistread (.* --json)` \| (.*) \|$", (ROOT / "docs" / "scripting.md").read_text(), re.MULTILINE
    )
    for line, fields in rows:
        assert main(shlex.split(line)) == 0, line
        assert list(json.loads(capsys.readouterr().out)) == ["schema", *re.findall(r"`(\w+)`", fields)], line


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


@pytest.mark.parametrize("snippet", of("toml"))
def test_settings_are_toml(snippet: Snippet) -> None:
    assert tomllib.loads(snippet.text)
