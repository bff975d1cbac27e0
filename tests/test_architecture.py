"""Which packages may know each other, and what may be imported when, in fresh interpreters."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gistread

ROOT = Path(__file__).parent.parent
PACKAGE = Path(gistread.__file__).parent
HEAVY = {
    "textual",
    "rich",
    "llama_cpp",
    "lxml",
    "jinja2",
    "asyncio",
    "tomlkit",
    "psutil",
}


def modules_after(statement: str) -> set[str]:
    """Top-level modules that are imported when this has been run."""
    return {name.split(".")[0] for name in all_modules_after(statement)}


def all_modules_after(statement: str) -> set[str]:
    """All of them, by their whole names."""
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def core_modules() -> list[str]:
    """Everything but the screen, the command line and the worker process."""
    names = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        is_worker = parts[:3] == ("engine", "llama", "worker")
        if parts[0] in ("tui", "__main__") or is_worker:
            continue
        names.append(
            ".".join(("gistread", *(part for part in parts if part != "__init__")))
        )
    return sorted(names)


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["index", "--help"], ["indx"]]
)
def test_help_and_version_import_nothing_heavy(words: list[str]) -> None:
    assert not modules_after(f"from gistread.cli import main; main({words})") & HEAVY


def test_what_can_be_typed_is_known_without_books_and_engines() -> None:
    known = all_modules_after("import gistread.cli.parser")
    assert not {
        name
        for name in known
        if name.startswith(("gistread.book", "gistread.engine", "gistread.memory"))
    }


def test_the_commands_are_listed_without_what_they_control() -> None:
    imported = all_modules_after("import gistread.tui.all_commands")
    assert not imported & {
        "gistread.tui.reading.controllers",
        "gistread.tui.marking.caret",
        "gistread.tui.widgets.memory_pane",
        "gistread.tui.text.widget",
        "gistread.readers.answering",
    }


def test_a_western_text_is_opened_without_what_other_texts_need(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("“Call me Ishmael,” he said — and went to sea.\n" * 40, "utf-8")
    imported = all_modules_after(
        f"from gistread.book.open import open_book; open_book({str(book)!r})"
    )
    formats = "gistread.book.formats"
    assert f"{formats}.text" in imported
    unneeded = {
        f"{formats}.aozora",
        f"{formats}.encoding_guess",
        "gistread.word_patterns",
    }
    assert not imported & unneeded


@pytest.mark.slow
def test_the_core_and_the_command_line_never_import_the_screen_or_llama_cpp() -> None:
    names = core_modules()
    assert len(names) > 15
    assert not modules_after("\n".join(f"import {name}" for name in names)) & {
        "textual",
        "rich",
        "llama_cpp",
    }


def test_the_screen_does_not_import_llama_cpp() -> None:
    names = ["gistread.tui.app"]
    imported = modules_after("\n".join(f"import {name}" for name in names))
    assert "textual" in imported
    assert "llama_cpp" not in imported


def test_the_import_contracts_hold() -> None:
    command = shutil.which(
        "lint-imports", path=str(Path(sys.executable).parent)
    ) or shutil.which("lint-imports")
    if command is None:
        pytest.skip("import-linter is not installed")
    done = subprocess.run(
        [command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_architecture_page_has_the_layers_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "importlinter"
    ]["contracts"]
    layers = next(
        contract["layers"] for contract in contracts if contract["type"] == "layers"
    )
    assert re.findall(r"```\n(.*?)```", ARCHITECTURE, re.DOTALL) == [
        "\n".join([*layers, ""])
    ]


def test_the_architecture_page_names_every_room() -> None:
    rooms = set(re.findall(r"^\| `([a-z_]+)(?:/|\.py)` \|", ARCHITECTURE, re.MULTILINE))
    there = {
        path.stem
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert rooms == there - {"__init__", "__main__"}


def test_every_path_on_the_architecture_page_exists() -> None:
    paths = re.findall(r"`((?:[a-z_]+/)*[a-z_]+(?:\.py|/))`", ARCHITECTURE)
    assert len(paths) > 40
    missing = [path for path in paths if not any(PACKAGE.rglob(path.rstrip("/")))]
    assert not missing


def test_the_worked_path_names_functions_in_the_order_of_their_files() -> None:
    steps = re.findall(r"^\d\. `([^`]+)`: ((?:.|\n  )+)", ARCHITECTURE, re.MULTILINE)
    assert len(steps) == 8
    for file, words in steps:
        text = (PACKAGE / file).read_text("utf-8")
        is_table = file.endswith("commands.py")
        named = [] if is_table else re.findall(r"`(?:(\w+)\.)?(\w+)`", words)
        places = [
            text.find(f"def {name}(", text.index(f"class {owner}") if owner else 0)
            for owner, name in named
        ]
        assert -1 not in places, f"{file}: {named}"
        assert places == sorted(places), f"{file}: {named}"
        assert places or is_table, file
    table = (PACKAGE / steps[0][0]).read_text("utf-8")
    assert re.search(
        r'"ask",\s+"a",\s+"Ask the book",\s+lambda on: on.questions.ask\(\)', table
    )
