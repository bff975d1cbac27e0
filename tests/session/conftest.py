"""A reader that says what the test tells it to."""

from types import SimpleNamespace

import pytest

from gistread.readers.registry import DEFAULT_READER
from gistread.session import asking_task
from tests.tui.scripted import ScriptedReader


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> ScriptedReader:
    scripted = ScriptedReader()
    method = SimpleNamespace(reader=lambda: scripted, needs_memory=True)
    monkeypatch.setattr(asking_task, "METHODS", {DEFAULT_READER: method})
    return scripted
