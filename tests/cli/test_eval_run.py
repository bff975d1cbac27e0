"""`gistread eval TASK` and `eval report`: from a file of questions to the table."""

import json
from pathlib import Path

import pytest

from gistread.cli.model_check import check_results
from gistread.engine.protocol import EngineInfo, Placement
from gistread.errors import ExitStatus
from gistread.memory.check_results import CheckResult, Worth
from gistread.readers.registry import METHODS
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
            {"question_id": n, "question": f"Where is w{seed + n}x{n}?", "cor_section": str(n), "answer1": "At sea."}
            for n in (1, 2)
        ]
        tales.append({"story": tale, "sections": sections, "questions": questions})
    path.write_text("".join(json.dumps(tale) + "\n" for tale in tales))
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture(autouse=True)
def no_plots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw plots in the test that looks at one only: each takes a second."""
    if "tokens_png" not in request.fixturenames:
        monkeypatch.setattr("gistread.cli.eval.draw_scatter", lambda *_: None)


@pytest.fixture
def tokens_png(out: Path) -> Path:
    return out / "tokens.png"


def go(run: Run, data: Path, out: Path, *more: str) -> Ran:
    return run(
        "eval", "fairytaleqa", "--data", data, "--readers", READERS, "--page-size", "80-160", "--out", out, *more
    )


def lines(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "outcomes.jsonl").read_text().splitlines()]


def test_a_run_ends_with_its_table_on_the_screen_and_in_files(
    run: Run, data: Path, out: Path, tokens_png: Path, engine: FakeEngine
) -> None:
    ran = go(run, data, out)
    assert ran.status == ExitStatus.DONE
    rows = [line.split()[0] for line in ran.out.splitlines() if line.startswith((*READERS.split(","), "closed-book"))]
    assert set(rows) == {*READERS.split(","), "closed-book"}
    assert "4 questions about 2 texts" in ran.out
    assert "4 questions about 2 texts" in ran.err
    markdown = (out / "table.md").read_text()
    assert "| readagent-s | 4 |" in markdown
    assert "- gold-coverage: " in markdown
    assert tokens_png.read_bytes().startswith(b"\x89PNG")
    assert len(lines(out)) == 16
    assert len((out / "texts.jsonl").read_text().splitlines()) == 2
    assert sum(line.isascii() and "│" in line for line in ran.out.splitlines()) == 0


def test_json_is_one_document_with_the_settings_and_every_figure(
    run: Run, data: Path, out: Path, engine: FakeEngine
) -> None:
    document = go(run, data, out, "--json", "--seed", "3").json
    (settings,) = document["runs"]
    assert (settings["task"], settings["seed"], settings["page_size"]) == ("fairytaleqa", 3, "80-160")
    assert [row["name"] for row in document["rows"]][-1] == "closed-book"
    bm25 = next(row for row in document["rows"] if row["name"] == "bm25")
    assert bm25["figures"]["ended"]["mean"] == 100
    assert all(row["baseline"] == "bm25" for row in document["rows"] if row is not bm25)


def test_repeating_a_run_asks_nothing_again(run: Run, data: Path, out: Path, engine: FakeEngine) -> None:
    first = go(run, data, out)
    engine.calls.clear()
    again = go(run, data, out)
    assert engine.calls == []
    assert again.out == first.out
    assert "16 of 16 answers exist already" in again.err
    assert len(lines(out)) == 16


def test_other_settings_are_refused_before_any_question(run: Run, data: Path, out: Path, engine: FakeEngine) -> None:
    go(run, data, out)
    engine.calls.clear()
    ran = go(run, data, out, "--seed", "1", "--no-guard")
    assert ran.status == ExitStatus.USAGE
    assert "--seed (0 there, 1 here), --no-guard (on there, off here)" in ran.err
    assert ran.err.count("\n") == 2
    assert engine.calls == []


def test_a_report_needs_no_model(run: Run, data: Path, out: Path, engine: FakeEngine) -> None:
    first = go(run, data, out)
    (out / "table.md").unlink()
    again = run("eval", "report", out)
    assert (again.status, again.out) == (ExitStatus.DONE, first.out)
    assert (out / "table.md").exists()


def test_runs_are_reported_side_by_side(run: Run, data: Path, out: Path, tmp_path: Path, engine: FakeEngine) -> None:
    go(run, data, out)
    other = tmp_path / "uniform"
    go(run, data, other, "--pages", "uniform")
    ran = run("eval", "report", out, other, "--json")
    baselines = {row["name"]: row["baseline"] for row in ran.json["rows"]}
    assert baselines["bm25 · run"] == ""
    assert baselines["bm25 · uniform"] == "bm25 · run"
    shown = run("eval", "report", out, other).out
    assert "pages uniform" in shown
    assert (out / "table-run-uniform.md").exists()


def test_all_readers_means_all_that_can_be_used(run: Run, data: Path, out: Path, engine: FakeEngine) -> None:
    ran = run("eval", "fairytaleqa", "--data", data, "--readers", "all", "--limit", "1", "--out", out, "--json")
    assert ran.status == ExitStatus.DONE
    assert {row["name"] for row in ran.json["rows"]} == {n for n, m in METHODS.items() if not m.needs_embedder}
    assert all(row["figures"]["ended"]["mean"] == 100 for row in ran.json["rows"])
    assert "Note: " in ran.err
    refused = run("eval", "fairytaleqa", "--data", data, "--readers", "dense,bm25", "--out", out)
    assert refused.status == ExitStatus.ENGINE


def test_a_judge_adds_its_ratings(run: Run, data: Path, out: Path, tmp_path: Path, engine: FakeEngine) -> None:
    ran = go(run, data, out, "--judge", str(tmp_path / "fake.gguf"))
    assert ran.status == ExitStatus.DONE
    assert "lr-1 %" in ran.out
    assert "LR-1 and LR-2 by fake. It rates all answers alike" in ran.out
    judged = sum("judge" in call.text or set(call.options) <= {"yes", "no", "partly"} for call in engine.calls)
    engine.calls.clear()
    again = go(run, data, out, "--judge", str(tmp_path / "fake.gguf"))
    assert judged
    assert engine.calls == []
    assert again.out == ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("eval", "fairytaleqa"), "--data FILE"),
        (("eval", "fairytaleqa", "--data", "nothing.jsonl"), "cannot find nothing.jsonl"),
        (("eval", "fairytale", "--data", "x"), "invalid choice: 'fairytale'"),
        (("eval", "fairytaleqa", "--readers", "bm25,nobody"), "no reader 'nobody'"),
        (("eval", "fairytaleqa", "--depths", "0,200"), "not a list of percentages"),
        (("eval", "fairytaleqa", "tales.jsonl"), "with --data FILE"),
        (("eval", "report"), "needs a run folder"),
        (("eval", "report", "nowhere"), "has no run"),
    ],
)
def test_invalid_options_are_reported_in_two_lines(run: Run, words: tuple[str, ...], said: str) -> None:
    ran = run(*words)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert said in ran.err
    assert ran.err.count("\n") <= 2


def test_a_file_without_questions_is_reported(run: Run, tmp_path: Path, out: Path, engine: FakeEngine) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    ran = go(run, empty, out)
    assert ran.status != ExitStatus.DONE
    assert ran.err.count("\n") <= 2
    assert not out.exists()


@pytest.mark.parametrize("size", ["0", "600-280", "big", "280-", "-600"])
def test_an_invalid_page_size_is_refused(run: Run, data: Path, out: Path, engine: FakeEngine, size: str) -> None:
    ran = run("eval", "fairytaleqa", "--data", data, "--out", out, f"--page-size={size}")
    assert ran.status == ExitStatus.USAGE
    assert "Invalid page size" in ran.err


def test_a_run_ended_by_the_engine_resumes_later(
    run: Run, data: Path, out: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gistread.errors import EngineError

    monkeypatch.setattr(engine, "_says", lambda _: EngineError("The model is gone."))
    ran = run("eval", "fairytaleqa", "--data", data, "--readers", "dos,full", "--out", out)
    assert ran.status == ExitStatus.ENGINE
    assert "The model is gone." in ran.err
    monkeypatch.setattr(engine, "_says", lambda _: "At sea.")
    ran = run("eval", "fairytaleqa", "--data", data, "--readers", "dos,full", "--out", out, "--retry")
    assert ran.status == ExitStatus.DONE
    assert "did not end" not in ran.out


class GuessingEngine(FakeEngine):
    """A model of this machine that always chooses the first of several."""

    @property
    def info(self) -> EngineInfo:
        return EngineInfo("guessing", "guessing-1", 8192, "CPU", placement=Placement(0, 3, 8192, "f16", 64, 1, True))

    async def start(self) -> EngineInfo:
        return self.info


def test_a_run_checks_its_model_and_keeps_the_result(
    run: Run, data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = "The book does not say."
    engine = GuessingEngine(says=lambda prompt: nothing if nothing in prompt else "At sea.")
    monkeypatch.setattr("gistread.cli.loading.new_engine", lambda *_, **__: engine)
    words = ("eval", "fairytaleqa", "--data", data, "--readers", "gistread,dos", "--no-closed-book", "--out", out)
    (settings,) = run(*words, "--json").json["runs"]
    assert settings["weighs"] is False
    assert "model check: chooses at random" in (out / "table.md").read_text()
    said = {(line["reader"], line["answer"], line["found"]) for line in lines(out)}
    # Only gistread asks an unreliable model again. No page has its "At sea.", so the nearest sentence takes its place.
    quoted = [" ".join(f"w{seed}x{word}" for word in range(10)).capitalize() + "." for seed in (2, 3, 51, 52)]
    not_found = ("dos", "Not found in the text that was looked at.", False)
    assert said == {not_found, *(("gistread", quote, True) for quote in quoted)}
    check_results().save("guessing-1", None, CheckResult(Worth.READING, "good for reading", chosen=6, choices=6))
    refused = run(*words)
    assert refused.status == ExitStatus.USAGE
    assert "the result of the model check (off there, on here)" in refused.err


def test_depths_are_reported_as_typed(run: Run, data: Path, out: Path, engine: FakeEngine) -> None:
    ran = go(run, data, out, "--depths", "0,12.5,50", "--limit", "1")
    assert "depths 0% 12.5% 50%" in " ".join(ran.out.split())
