"""A home of its own for every test, a book, and a fake model."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gistread.cli import main
from gistread.cli.output import SCHEMA
from tests.fake_engine import FakeEngine

XDG = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty settings, data, cache and logs, with one configured model that no test really loads."""
    home = tmp_path / "home"
    for variable in XDG:
        monkeypatch.setenv(variable, str(home / variable))
    model = tmp_path / "fake.gguf"
    model.write_bytes(b"not looked at")
    config = home / "XDG_CONFIG_HOME" / "gistread" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'model = "{model}"\n')
    return home


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A text of three chapters, some 2,400 words."""
    path = tmp_path / "The Lamp.txt"
    chapters = []
    for number, name in enumerate(("The Keeper", "The Storm", "The Letter"), 1):
        paragraphs = [
            f"{name} stood before the door for the {n}. time and counted the stairs, one by one, "
            "as the "
            "sea below went on with its own counting. Nobody saw her there since the day of the "
            f"{name.split()[1].lower()}, and the lamp had burned {n * number} hours without a "
            "hand to trim it, "
            "until the glass was black."
            for n in range(1, 15)
        ]
        chapters.append(f"Chapter {number}: {name}\n\n" + "\n\n".join(paragraphs))
    path.write_text("\n\n\n".join(chapters) + "\n")
    return path


@dataclass(frozen=True)
class Ran:
    """The result of a command line."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The only document on standard output."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        document = json.loads(self.out)
        assert document.pop("schema") == SCHEMA
        return document

    @property
    def events(self) -> list[Any]:
        events = [json.loads(line) for line in self.out.splitlines()]
        assert all(event.pop("schema") == SCHEMA for event in events)
        return events


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command line in this process."""
    return running(main, capsys)


def running(
    main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> Run:
    def run_command(*words: str | Path) -> Ran:
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return run_command


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """The engine that every command of the test gets."""
    fake = FakeEngine()
    monkeypatch.setattr(
        "gistread.engine.llama.client.LlamaEngine", lambda path, **options: fake
    )
    return fake
