"""Readers and exporters of another package, which is the example in the documents."""

import importlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from gistread.plugins import plugins_of
from gistread.readers.registry import METHODS, OWN_METHODS
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine

_DOCUMENT = Path(__file__).parents[2] / "docs" / "scripting.md"
_MODULE = "gistread_extras"
_BROKEN = {
    "missing": "gistread_nowhere:reader",
    "raises": f"{_MODULE}:raises",
    "silent": f"{_MODULE}:silent",
    "number": f"{_MODULE}:number",
    "exits": f"{_MODULE}:exits",
    "plain": f"{_MODULE}:plain",
}
_BROKEN_CODE = r'''

async def raises(asking):
    yield Started("raises", 0, 1, True)
    raise ValueError("two\nlines")


async def silent(asking):
    """Says nothing."""
    yield Started("silent", 0, 1, True)


def number(export):
    return 7


async def exits(asking):
    yield Started("exits", 0, 1, True)
    raise SystemExit(3)


async def plain(asking):
    """Has no yield."""
'''


def example(language: str) -> str:
    text = _DOCUMENT.read_text().partition("## Plugins")[2]
    return re.search(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package of the documents, as pip unpacks it, with some faulty readers and exporters."""
    site = tmp_path / "site"
    project = tomllib.loads(example("toml"))["project"]
    information = site / f"{_MODULE}-{project['version']}.dist-info"
    information.mkdir(parents=True)
    lines = [
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    ]
    (information / "METADATA").write_text("".join(lines))
    groups = project["entry-points"]
    for group in groups.values():
        group.update(_BROKEN)
    written = [
        f"[{group}]\n"
        + "\n".join(f"{name} = {value}" for name, value in entries.items())
        for group, entries in groups.items()
    ]
    (information / "entry_points.txt").write_text("\n\n".join(written))
    (site / f"{_MODULE}.py").write_text(example("py") + _BROKEN_CODE)
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    plugins_of.cache_clear()
    yield
    plugins_of.cache_clear()
    sys.modules.pop(_MODULE, None)


@pytest.mark.usefixtures("installed")
def test_a_reader_of_another_package_answers(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    question = "Who counted the stairs after the storm?"
    ran = run("ask", book, question, "--reader", "nearest", "--json")
    assert ran.status == ExitStatus.DONE
    citation = ran.json["citations"][0]
    assert ran.json["reader"] == "nearest"
    assert citation["quote"] == ran.json["answer"]
    assert "storm" in citation["quote"].lower()
    assert METHODS["nearest"].summary == "Quotes the passage nearest to the question."
    assert list(METHODS)[: len(OWN_METHODS)] == list(OWN_METHODS)
    assert {"nearest", "missing"} < set(METHODS)
    assert "cannot be loaded" in METHODS["missing"].summary


@pytest.mark.usefixtures("installed")
def test_an_exporter_of_another_package_writes_a_file(
    run: Run,
    book: Path,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    assert run("export", book, "--format", "org").status == ExitStatus.DONE
    assert (
        run("export", book, "--format", "org", "--output", folder).status
        == ExitStatus.DONE
    )
    assert [path.name for path in folder.iterdir()] == ["The Lamp – notes.org"]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["ask", "Who?", "--reader", "missing"],
            "The reader 'missing' of the package gistread-extras cannot be loaded: "
            "ModuleNotFoundError: No module named 'gistread_nowhere'.",
        ),
        (
            ["ask", "Who?", "--reader", "raises"],
            "The reader 'raises' of the package gistread-extras failed: ValueError: two lines.",
        ),
        (
            ["ask", "Who?", "--reader", "silent"],
            "The reader 'silent' of the package gistread-extras ended without an answer.",
        ),
        (
            ["ask", "Who?", "--reader", "exits"],
            "The reader 'exits' of the package gistread-extras failed: SystemExit: 3.",
        ),
        (
            ["ask", "Who?", "--reader", "plain"],
            "The reader 'plain' of the package gistread-extras failed: TypeError: it is no async "
            "generator.",
        ),
        (
            ["export", "--format", "missing"],
            "The exporter 'missing' of the package gistread-extras cannot be loaded: "
            "ModuleNotFoundError: No module named 'gistread_nowhere'.",
        ),
        (
            ["export", "--format", "number"],
            "The exporter 'number' of the package gistread-extras returned int instead of text.",
        ),
    ],
)
def test_a_fault_of_a_plugin_is_told_in_one_line(
    run: Run,
    book: Path,
    engine: FakeEngine,
    arguments: list[str],
    message: str,
) -> None:
    command, *rest = arguments
    ran = run(command, book, *rest)
    assert (ran.status, ran.out) == (ExitStatus.FAILED, "")
    assert f"gistread: {message}\n" in ran.err
    assert "Traceback" not in ran.err
    assert (
        run("ask", book, "Who?", "--reader", "quoting", "--json").status
        == ExitStatus.DONE
    )


@pytest.mark.usefixtures("installed")
def test_unknown_names_are_told_with_those_of_other_packages(
    run: Run, book: Path
) -> None:
    assert "nearest" in run("ask", book, "Who?", "--reader", "neerest").err
    ran = run("export", book, "--format", "orgg")
    assert ran.status == ExitStatus.USAGE
    assert "'orgg'" in ran.err


def test_nothing_is_looked_up_until_a_name_is_unknown(
    run: Run,
    book: Path,
    engine: FakeEngine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugins_of.cache_clear()

    def look(**_: str) -> None:
        pytest.fail("entry points were looked up")

    monkeypatch.setattr(metadata, "entry_points", look)
    for arguments in (
        ["books"],
        ["export", book],
        ["export", book, "--format", "anki"],
    ):
        assert run(*arguments).status == ExitStatus.DONE
    answered = run("ask", book, "Who counted?", "--json")
    assert json.loads(answered.out)["answer"]
