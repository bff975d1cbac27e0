"""A reader that says what the test tells it to."""

from types import SimpleNamespace

import pytest

from gistread.readers.registry import DEFAULT_READER
from gistread.session import artifacts, questions
from gistread.session import session as session_module
from tests.scripted import ScriptedReader


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> ScriptedReader:
    return scripted_reader(monkeypatch)


def scripted_reader(monkeypatch: pytest.MonkeyPatch) -> ScriptedReader:
    """In place of every reader."""
    scripted = ScriptedReader()
    method = SimpleNamespace(reader=lambda: scripted, needs_memory=True, artifacts=())
    for module in (artifacts, questions, session_module):
        monkeypatch.setattr(module, "METHODS", {DEFAULT_READER: method})
    return scripted
