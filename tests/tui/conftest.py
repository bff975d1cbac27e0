"""The reader of these tests says what the test tells it to."""

import pytest

from gistread.readers.registry import DEFAULT_READER
from gistread.tui import asking_task
from tests.tui.scripted import ScriptedReader


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> ScriptedReader:
    scripted = ScriptedReader()
    monkeypatch.setattr(asking_task, "READERS", {DEFAULT_READER: scripted})
    return scripted
