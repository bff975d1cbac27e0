import pytest

from research.evaluation.__main__ import main
from tests.cli.conftest import Run, engine, home, running

__all__ = ["engine", "home"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `python -m research.evaluation` in this process."""
    return running(main, capsys)
