"""No proxy and no token of whoever runs the tests."""

import pytest

from tests.engine.fetching.server import without_environment


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    without_environment(monkeypatch)
