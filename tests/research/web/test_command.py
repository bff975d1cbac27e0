"""`python -m research.web`: one step, reported and not carried out."""

from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine
from tests.research.web.pages import BARE, SHOP

TASK = "Find out what jobs there are"


@pytest.fixture
def shop(tmp_path: Path, engine: FakeEngine) -> Path:
    engine._chooses = lambda _, options: "Element 17" if "Element 17" in options else 0
    path = tmp_path / "shop.html"
    path.write_text(SHOP)
    return path


def test_json_is_one_document_with_element_operation_and_value(
    run: Run, shop: Path
) -> None:
    document = run(shop, TASK, "--json").json
    assert set(document) == {
        *(
            "task",
            "page",
            "element",
            "operation",
            "value",
            "lookups",
            "shown",
            "compression_rate",
            "usage",
        ),
    }
    assert document["task"] == TASK
    assert document["element"]["name"] == "Jobs"
    assert document["element"]["attributes"] == {"href": "/jobs"}
    assert set(document["element"]) == {
        "index",
        "tag",
        "role",
        "name",
        "attributes",
        "xpath",
    }
    assert (document["operation"], document["value"]) == ("click", "")


def test_earlier_steps_are_told(run: Run, shop: Path, engine: FakeEngine) -> None:
    assert (
        run(shop, TASK, "--done", "click Help", "--done", "click Tea").status
        == ExitStatus.DONE
    )
    assert "Done so far: click Help; click Tea\n" in engine.calls[-1].text


@pytest.mark.parametrize(
    ("content", "task", "status", "says"),
    [
        (SHOP, " ", ExitStatus.USAGE, "The task is empty."),
        (BARE, TASK, ExitStatus.BOOK, "page.html has no link"),
        ("", TASK, ExitStatus.BOOK, "is not an HTML page"),
        ("\x00\x01", TASK, ExitStatus.BOOK, "is not an HTML page"),
        (None, TASK, ExitStatus.BOOK, "No such file"),
    ],
)
def test_invalid_input_is_reported_in_at_most_two_lines(
    run: Run,
    tmp_path: Path,
    engine: FakeEngine,
    content: str | None,
    task: str,
    status: int,
    says: str,
) -> None:
    page = tmp_path / "page.html"
    if content is not None:
        page.write_text(content)
    ran = run(page, task)
    assert (ran.status, ran.out) == (status, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) <= 2
