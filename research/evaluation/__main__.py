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
from research.evaluation.model import Outcome
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
    f"least {FEWEST} questions."
)
_REPORTED_SETTINGS = (
    "limit",
    "documents",
    "budget_tokens",
    "max_pages",
    "reading",
    "page_size",
    "preset",
    "gist_task",
)
_RATINGS = ("lr-1", "lr-2")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit status.

    Never raises.
    """
    words = sys.argv[1:] if argv is None else argv
    return report_errors(list(words), _run)


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
    runs = [_read_run(folder) for folder in folders]
    _report(runs, arguments.baseline, json=arguments.json)
    return ExitStatus.DONE


def _list_tasks(*, json: bool) -> None:
    if json:
        _list_tasks_as_json()
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


def _list_tasks_as_json() -> None:
    tasks = [
        {
            "name": task.name,
            "summary": task.summary,
            "source": task.source,
            "licence": task.licence,
            "metrics": task.metrics,
            "format": task.file_format,
        }
        for task in TASKS.values()
    ]
    metrics = [{"name": metric.name, **metric.facts} for metric in METRICS.values()]
    write_json({"tasks": tasks, "metrics": metrics})


@dataclass(frozen=True, slots=True)
class _Run:
    folder: Path
    settings: RunSettings
    answered: tuple[AnsweredQuestion, ...]
    judge: str  # The model that rated the answers; may be empty
    memories: str  # Summary of its memories, on one line


def _read_run(folder: Path) -> _Run:
    """The run in a folder. Raises UsageError if it has no answers, StorageError."""
    settings = read_settings(folder)
    answered: list[AnsweredQuestion] = []
    if (folder / FILE_NAME).exists():
        answered = list(read_outcomes(folder / FILE_NAME).values())
    if not answered:
        raise UsageError(
            f"No answers in {folder} yet.",
            f"`python -m research.evaluation {settings.task} --out {folder}`",
        )
    rated, judge = with_ratings(folder, answered)
    memories = memory_figures.summary(memory_figures.read(folder))
    return _Run(folder, settings, tuple(rated), judge, memories)


def _report(runs: Sequence[_Run], baseline: str, *, json: bool) -> None:
    """Print the table of the runs, and write it into the folder of the first."""
    if len(runs) > 1:
        rows, baselines = _side_by_side(runs)
    else:
        rows, baselines = _of_one(runs[0], baseline)
    settings = runs[0].settings
    metrics = TASKS[settings.task].metrics
    table = tabulate(rows, metrics, baselines, seed=settings.seed)
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


# The answers of each row of a table, by its name
Rows = dict[str, list[AnsweredQuestion]]


def _of_one(run: _Run, baseline: str) -> tuple[Rows, dict[str, str]]:
    """A row for each reader, and the baseline of each row."""
    by_name = by_reader(run.answered)
    rows = {name: by_name[name] for name in METHODS if name in by_name}
    if baseline not in rows:
        return rows, {}
    return rows, {name: baseline for name in rows if name != baseline}


def _side_by_side(runs: Sequence[_Run]) -> tuple[Rows, dict[str, str]]:
    """A row for each reader of each run, and as its baseline that reader of the first run.

    Raises UsageError if the runs are of different tasks.
    """
    tasks = {run.settings.task for run in runs}
    if len(tasks) > 1:
        raise UsageError(
            f"The runs are of different tasks: {', '.join(sorted(tasks))}.",
            "Report them separately.",
        )
    rows: Rows = {}
    baselines: dict[str, str] = {}
    names = _names(runs)
    answers_of_runs = [by_reader(run.answered) for run in runs]
    for reader in METHODS:
        baseline = f"{reader} · {names[0]}"
        for name, answers in zip(names, answers_of_runs, strict=True):
            if reader not in answers:
                continue
            row = f"{reader} · {name}"
            rows[row] = answers[reader]
            if row != baseline and baseline in rows:
                baselines[row] = baseline
    return rows, baselines


def _names(runs: Sequence[_Run]) -> list[str]:
    """The names of the runs' folders; their paths if names are equal."""
    names = [run.folder.resolve().name for run in runs]
    if len(set(names)) < len(names):
        return [str(run.folder) for run in runs]
    return names


def _markdown(runs: Sequence[_Run], table: Table) -> str:
    is_compared = any(row.against_baseline for row in table.rows)
    parts = [f"# {runs[0].settings.task}"]
    parts += [_about(run) for run in runs]
    if table.metrics:
        parts.append(markdown(figures(table, table.metrics)))
    if is_compared:
        parts.append(markdown(differences(table)))
    parts.append(markdown(figures(table, table.costs)))
    if is_compared:
        parts.append(_LEGEND)
    for run in runs:
        parts += _notes(run)
    names = (*table.metrics, *table.costs)
    parts.append("\n".join(f"- {name}: {METRICS[name].summary}" for name in names))
    return "\n\n".join(parts) + "\n"


def _about(run: _Run) -> str:
    """The models, questions and settings of a run, on one line."""
    settings = run.settings
    outcomes = [answered.outcome for answered in run.answered]
    documents = len({outcome.document for outcome in outcomes})
    questions = len({(outcome.document, outcome.question) for outcome in outcomes})
    facts = [
        f"{run.folder.resolve().name}: {settings.task}, {_models(settings)}",
        f"{counted(questions, 'question')} about {counted(documents, 'text')}, "
        f"seed {settings.seed}",
    ]
    default = RunSettings("", "", "", "", 0)
    for field in fields(RunSettings):
        value = getattr(settings, field.name)
        is_reported = field.name in _REPORTED_SETTINGS
        if is_reported and value != getattr(default, field.name):
            facts.append(f"{field.name.replace('_', ' ')} {value}")
    if settings.model_class != default.model_class:
        facts.append(f"asked as a {settings.model_class} model")
    return " · ".join(facts)


def _models(settings: RunSettings) -> str:
    reading = f"{settings.model}, window {settings.context_tokens}"
    if not settings.asking_model:
        return reading
    return (
        f"{settings.asking_model}, window {settings.asking_context_tokens}, over memories of "
        f"{reading}"
    )


def _notes(run: _Run) -> list[str]:
    """Lines about the memories, the judge, failures and missing answers, as far as they apply."""
    outcomes = [answered.outcome for answered in run.answered]
    notes: list[str] = []
    if run.memories:
        notes.append(run.memories)
    if run.judge:
        judged = f"LR-1 and LR-2 by {run.judge}."
        if _rates_alike(outcomes):
            judged += (
                " It rates all answers alike, right or wrong: choose another judge."
            )
        notes.append(judged)
    failed = [outcome for outcome in outcomes if not outcome.ended]
    if failed:
        notes.append(
            f"{len(failed)} of {len(outcomes)} failed, for example: {failed[0].error}"
        )
    counts = {len(answers) for answers in by_reader(run.answered).values()}
    if len(counts) > 1:
        notes.append("Unfinished: the rows are over different questions.")
    return notes


def _rates_alike(outcomes: Sequence[Outcome]) -> bool:
    """Whether each of the two ratings is the same for several answers."""
    ratings = {
        (name, score)
        for outcome in outcomes
        for name, score in outcome.scores
        if name in _RATINGS
    }
    return len(ratings) == len(_RATINGS) and len(outcomes) > 1


if __name__ == "__main__":
    sys.exit(main())
