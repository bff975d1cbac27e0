"""The files that `docs/architecture.md` names between a key and a citation are those that run."""

import re
from pathlib import Path

from tests.benchmarks.question_path import record_question

_COMMANDS = "tui/reading/commands.py"
_PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def documented_path() -> dict[str, set[str]]:
    """Functions by file, from the numbered list of the page."""
    section = _PAGE.read_text("utf-8").partition("## A question, from key to citation")[
        2
    ]
    steps = re.findall(
        r"^\d\. (.*(?:\n   .*)*)", section.partition("\n## ")[0], re.MULTILINE
    )
    path: dict[str, set[str]] = {}
    for step in steps:
        file, *others = re.findall(r"`([^`]+)`", step)
        path[file] = {name for name in others if "/" not in name}
    return path


async def test_the_documented_path_of_a_question_is_the_one_that_runs(
    tmp_path: Path,
) -> None:
    documented = documented_path()
    documented[_COMMANDS] = set()  # Names a command, whose function has no name
    assert len(documented) == 8
    functions = await record_question(tmp_path)
    for file, names in documented.items():
        qualified = set(functions[file])
        plain = {name.rpartition(".")[2] for name in qualified}
        assert names <= qualified | plain, file
