"""`python -m research.evaluation TASK` and `report`: from a file of questions to the table."""

import json
from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from tests.cli.conftest import Ran, Run
from tests.fake_engine import FakeEngine
from tests.memory.books import prose

READERS = "readagent-s,bm25,dos"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two tales of three sections, two questions each."""
    path = tmp_path / "tales.jsonl"
    tales = []
    for tale, seed in (("the-lamp", 1), ("the-ship", 50)):
        sections = [prose(130, seed=seed + i) for i in range(3)]
        questions = [
            {
                "question_id": n,
                "question": f"Where is w{seed + n}x{n}?",
                "cor_section": str(n),
                "answer1": "At sea.",
            }
            for n in (1, 2)
        ]
        tales.append({"story": tale, "sections": sections, "questions": questions})
    path.write_text("".join(json.dumps(tale) + "\n" for tale in tales))
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def go(run: Run, data: Path, out: Path, *more: str) -> Ran:
    return run(
        "fairytaleqa",
        "--data",
        data,
        "--readers",
        READERS,
        "--page-size",
        "80-160",
        "--out",
        out,
        *more,
    )


def lines(out: Path) -> list[dict[str, object]]:
    return [
        json.loads(line) for line in (out / "outcomes.jsonl").read_text().splitlines()
    ]


def test_a_run_ends_with_its_table_on_the_screen_and_in_files(
    run: Run, data: Path, out: Path, engine: FakeEngine
) -> None:
    ran = go(run, data, out)
    assert ran.status == ExitStatus.DONE
    rows = {line.strip("| ").split(" ")[0] for line in ran.out.splitlines()}
    assert {"readagent-s", "bm25", "dos", "closed-book"} < rows
    assert "4 questions about 2 texts" in ran.out
    assert "4 questions about 2 texts" in ran.err
    assert sum(line.isascii() and "│" in line for line in ran.out.splitlines()) == 0
    check_files(out)


def check_files(out: Path) -> None:
    """What four questions about two texts, to four readers, leave in the folder."""
    markdown = (out / "table.md").read_text()
    assert "| readagent-s |   4 |" in markdown
    assert "- gold-coverage: " in markdown
    assert len(lines(out)) == 16
    assert len((out / "texts.jsonl").read_text().splitlines()) == 2


def test_json_is_one_document_with_the_settings_and_every_figure(
    run: Run, data: Path, out: Path, engine: FakeEngine
) -> None:
    document = go(run, data, out, "--json", "--seed", "3").json
    (settings,) = document["runs"]
    assert (settings["task"], settings["seed"], settings["page_size"]) == (
        "fairytaleqa",
        3,
        "80-160",
    )
    assert [row["name"] for row in document["rows"]][-1] == "closed-book"
    bm25 = next(row for row in document["rows"] if row["name"] == "bm25")
    assert bm25["figures"]["ended"]["mean"] == 100
    assert all(row["baseline"] == "bm25" for row in document["rows"] if row is not bm25)


def test_repeating_a_run_asks_nothing_again(
    run: Run, data: Path, out: Path, engine: FakeEngine
) -> None:
    first = go(run, data, out)
    engine.calls.clear()
    again = go(run, data, out)
    assert engine.calls == []
    assert again.out == first.out
    assert "16 of 16 answers exist already" in again.err
    assert len(lines(out)) == 16


def test_other_settings_are_refused_before_any_question(
    run: Run, data: Path, out: Path, engine: FakeEngine
) -> None:
    go(run, data, out)
    engine.calls.clear()
    ran = go(run, data, out, "--seed", "1", "--max-pages", "4")
    assert ran.status == ExitStatus.USAGE
    assert "seed (0 there, 1 here), max_pages (5 there, 4 here)" in ran.err
    assert ran.err.count("\n") == 2
    assert engine.calls == []


def test_a_report_needs_no_model(
    run: Run, data: Path, out: Path, engine: FakeEngine
) -> None:
    first = go(run, data, out)
    (out / "table.md").unlink()
    again = run("report", out)
    assert (again.status, again.out) == (ExitStatus.DONE, first.out)
    assert (out / "table.md").exists()


def test_runs_are_reported_side_by_side(
    run: Run, data: Path, out: Path, tmp_path: Path, engine: FakeEngine
) -> None:
    go(run, data, out)
    other = tmp_path / "careful"
    go(run, data, other, "--reading", "careful")
    ran = run("report", out, other, "--json")
    baselines = {row["name"]: row["baseline"] for row in ran.json["rows"]}
    assert baselines["bm25 · run"] == ""
    assert baselines["bm25 · careful"] == "bm25 · run"
    shown = run("report", out, other).out
    assert "reading careful" in shown
    assert (out / "table-run-careful.md").exists()


def test_a_judge_adds_its_ratings(
    run: Run, data: Path, out: Path, tmp_path: Path, engine: FakeEngine
) -> None:
    ran = go(run, data, out, "--judge", str(tmp_path / "fake.gguf"))
    assert ran.status == ExitStatus.DONE
    assert "lr-1 %" in ran.out
    assert "LR-1 and LR-2 by fake. It rates all answers alike" in ran.out
    judged = sum(
        "judge" in call.text or set(call.options) <= {"yes", "no", "partly"}
        for call in engine.calls
    )
    engine.calls.clear()
    again = go(run, data, out, "--judge", str(tmp_path / "fake.gguf"))
    assert judged
    assert engine.calls == []
    assert again.out == ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fairytaleqa",), "--data FILE"),
        (("fairytaleqa", "--data", "nothing.jsonl"), "cannot find nothing.jsonl"),
        (("fairytale", "--data", "x"), "invalid choice: 'fairytale'"),
        (("fairytaleqa", "--readers", "bm25,nobody"), "no reader 'nobody'"),
        (("fairytaleqa", "tales.jsonl"), "with --data FILE"),
        (("report",), "needs a run folder"),
        (("report", "nowhere"), "has no run"),
    ],
)
def test_invalid_options_are_reported_in_two_lines(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    ran = run(*words)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert message in ran.err
    assert ran.err.count("\n") <= 2


def test_a_run_ended_by_the_engine_resumes_later(
    run: Run, data: Path, out: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gistread.errors import EngineError

    monkeypatch.setattr(engine, "_says", lambda _: EngineError("The model is gone."))
    ran = run("fairytaleqa", "--data", data, "--readers", "dos,full", "--out", out)
    assert ran.status == ExitStatus.ENGINE
    assert "The model is gone." in ran.err
    monkeypatch.setattr(engine, "_says", lambda _: "At sea.")
    ran = run(
        "fairytaleqa", "--data", data, "--readers", "dos,full", "--out", out, "--retry"
    )
    assert ran.status == ExitStatus.DONE
    assert "did not end" not in ran.out
