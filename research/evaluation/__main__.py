"""`python -m research.evaluation`.

Evaluates readers on questions with known answers, lists tasks, reports runs.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from gistread.cli import prepare, report_errors
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus, StorageError, UsageError
from gistread.units import counted
from research.evaluation import memory_figures
from research.evaluation.command import run_task
from research.evaluation.judge import with_ratings
from research.evaluation.metrics import METRICS
from research.evaluation.options import parse
from research.evaluation.outcomes import (
    FILE_NAME,
    AnsweredQuestion,
    by_reader,
    read_outcomes,
)
from research.evaluation.readers import METHODS
from research.evaluation.settings import RunSettings, read_settings
from research.evaluation.table import (
    FEWEST,
    Table,
    differences,
    figures,
    markdown,
    tabulate,
    to_json,
)
from research.evaluation.tasks.registry import TASKS

_TABLE = "table.md"
_LEGEND = (
    "Differences are paired by question. ▲ better, ▼ worse: outside the 95% interval, over at "
    "least "
    f"{FEWEST} questions."
)
_REPORTED_SETTINGS = (
    *(
        "limit",
        "documents",
        "budget_tokens",
        "max_pages",
        "reading",
        "page_size",
        "preset",
    ),
    "gist_task",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit status.

    Never raises.
    """
    return report_errors(list(sys.argv[1:] if argv is None else argv), _run)


def _run(words: list[str]) -> ExitStatus:
    arguments = prepare(parse(words))
    task = arguments.task
    folders = arguments.dirs
    if folders and task != "report":
        raise UsageError(
            f"{task} does not take {folders[0]}.",
            "Give the data file of a task with --data FILE.",
        )
    if task == "list":
        _list_tasks(json=arguments.json)
        return ExitStatus.DONE
    if task == "report":
        if not folders:
            raise UsageError(
                "report needs a run folder.",
                "Example: python -m research.evaluation report eval-fairytaleqa",
            )
    else:
        folders = [run_task(arguments)]
    _report(
        [_read_run(folder) for folder in folders],
        arguments.baseline,
        json=arguments.json,
    )
    return ExitStatus.DONE


def _list_tasks(*, json: bool) -> None:
    if json:
        metrics = [{"name": metric.name, **metric.facts} for metric in METRICS.values()]
        names = ("name", "summary", "source", "licence", "metrics")
        tasks = [
            {
                **{name: getattr(task, name) for name in names},
                "format": task.file_format,
            }
            for task in TASKS.values()
        ]
        write_json({"tasks": tasks, "metrics": metrics})
        return
    for task in TASKS.values():
        write(f"{task.name}: {task.summary}")
        facts = (
            f"from {task.source} ({task.licence})",
            task.file_format,
            f"metrics: {', '.join(task.metrics)}",
        )
        write("\n".join(f"    {fact}" for fact in facts), end="\n\n")
    write("metrics")
    for metric in METRICS.values():
        write(f"    {metric.name}: {metric.summary}")


@dataclass(frozen=True, slots=True)
class _Run:
    folder: Path
    settings: RunSettings
    answered: tuple[AnsweredQuestion, ...]
    judge: str  # The model that rated the answers; may be empty
    memories: str  # Summary of its memories, on one line


def _read_run(folder: Path) -> _Run:
    settings = read_settings(folder)
    if (folder / FILE_NAME).exists():
        answered = list(read_outcomes(folder / FILE_NAME).values())
    else:
        answered = []
    if not answered:
        raise UsageError(
            f"No answers in {folder} yet.",
            f"`python -m research.evaluation {settings.task} --out {folder}`",
        )
    rated, judge = with_ratings(folder, answered)
    return _Run(
        folder,
        settings,
        tuple(rated),
        judge,
        memory_figures.summary(memory_figures.read(folder)),
    )


def _report(runs: Sequence[_Run], baseline: str, *, json: bool) -> None:
    rows, baselines = (
        _side_by_side(runs) if len(runs) > 1 else _of_one(runs[0], baseline)
    )
    metrics = TASKS[runs[0].settings.task].metrics
    table = tabulate(rows, metrics, baselines, seed=runs[0].settings.seed)
    if json:
        documents = [
            {
                "folder": str(run.folder),
                "judge": run.judge,
                "memories": run.memories,
                **asdict(run.settings),
            }
            for run in runs
        ]
        write_json({"runs": documents, **to_json(table)})
    else:
        write(_markdown(runs, table))
    folder = runs[0].folder
    name = _TABLE if len(runs) == 1 else f"table-{'-'.join(_names(runs))}.md"
    try:
        (folder / name).write_text(_markdown(runs, table), encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{error.filename}: {error.strerror}.") from error
    if not json:
        say(f"\nTable and answers are in {folder}.")


Rows = dict[str, list[AnsweredQuestion]]


def _of_one(run: _Run, baseline: str) -> tuple[Rows, dict[str, str]]:
    by_name = by_reader(run.answered)
    rows = {name: by_name[name] for name in METHODS if name in by_name}
    return rows, {
        name: baseline for name in rows if name != baseline and baseline in rows
    }


def _side_by_side(runs: Sequence[_Run]) -> tuple[Rows, dict[str, str]]:
    if len(tasks := {run.settings.task for run in runs}) > 1:
        raise UsageError(
            f"The runs are of different tasks: {', '.join(sorted(tasks))}.",
            "Report them separately.",
        )
    rows: Rows = {}
    baselines: dict[str, str] = {}
    names = _names(runs)
    of_run = [by_reader(run.answered) for run in runs]
    for reader in METHODS:
        for name, readers in zip(names, of_run, strict=True):
            if reader in readers:
                rows[f"{reader} · {name}"] = readers[reader]
                baselines[f"{reader} · {name}"] = f"{reader} · {names[0]}"
    return rows, {
        row: base for row, base in baselines.items() if base in rows and base != row
    }


def _names(runs: Sequence[_Run]) -> list[str]:
    names = [run.folder.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]


def _markdown(runs: Sequence[_Run], table: Table) -> str:
    parts = [f"# {runs[0].settings.task}", *(_about(run) for run in runs)]
    compared = any(row.against_baseline for row in table.rows)
    tables = [figures(table, table.metrics)] if table.metrics else []
    tables += [differences(table)] if compared else []
    parts += [markdown(cells) for cells in (*tables, figures(table, table.costs))]
    if compared:
        parts.append(_LEGEND)
    parts += [line for run in runs for line in _notes(run)]
    parts.append(
        "\n".join(
            f"- {name}: {METRICS[name].summary}"
            for name in (*table.metrics, *table.costs)
        )
    )
    return "\n\n".join(parts) + "\n"


def _about(run: _Run) -> str:
    settings = run.settings
    documents = len({each.outcome.document for each in run.answered})
    questions = len(
        {(each.outcome.document, each.outcome.question) for each in run.answered}
    )
    default = RunSettings("", "", "", "", 0)
    others = [
        f"{setting.name.replace('_', ' ')} {getattr(settings, setting.name)}"
        for setting in fields(RunSettings)
        if setting.name in _REPORTED_SETTINGS
        and getattr(settings, setting.name) != getattr(default, setting.name)
    ]
    if settings.model_class != default.model_class:
        others.append(f"asked as a {settings.model_class} model")
    return " · ".join(
        [
            f"{run.folder.resolve().name}: {settings.task}, {_models(settings)}",
            (
                f"{counted(questions, 'question')} about {counted(documents, 'text')}, seed "
                f"{settings.seed}"
            ),
            *others,
        ]
    )


def _models(settings: RunSettings) -> str:
    reading = f"{settings.model}, window {settings.context_tokens}"
    if not settings.asking_model:
        return reading
    return (
        f"{settings.asking_model}, window {settings.asking_context_tokens}, over memories of "
        f"{reading}"
    )


def _notes(run: _Run) -> list[str]:
    judged = f"LR-1 and LR-2 by {run.judge}." if run.judge else ""
    ratings = {
        score
        for each in run.answered
        for score in each.outcome.scores
        if score[0] in ("lr-1", "lr-2")
    }
    if judged and len(ratings) == 2 and len(run.answered) > 1:
        judged += " It rates all answers alike, right or wrong: choose another judge."
    failed = [each.outcome for each in run.answered if not each.outcome.ended]
    if failed:
        failures = f"{len(failed)} of {len(run.answered)} failed, for example: {failed[0].error}"
    else:
        failures = ""
    counts = {len(each) for each in by_reader(run.answered).values()}
    unfinished = (
        "" if len(counts) == 1 else "Unfinished: the rows are over different questions."
    )
    return [line for line in (run.memories, judged, failures, unfinished) if line]


if __name__ == "__main__":
    sys.exit(main())
