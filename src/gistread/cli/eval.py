"""`gistread eval`: evaluate readers on questions with known answers; list the tasks; report runs."""

import argparse
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus, GistreadError, StorageError, UsageError
from gistread.evaluation import memory_figures
from gistread.evaluation.judge import with_ratings
from gistread.evaluation.metrics import COSTS, METRICS, Metric
from gistread.evaluation.outcomes import FILE_NAME, AnsweredQuestion, by_reader, read_outcomes
from gistread.evaluation.plots import draw_heat_maps, draw_scatter, heat_map_cells, heat_maps, plotted, shown_metric
from gistread.evaluation.settings import RunSettings, read_settings
from gistread.evaluation.table import FEWEST, Table, differences, figures, markdown, tabulate, text, to_json
from gistread.evaluation.tasks.registry import TASKS, Task
from gistread.readers.registry import METHODS
from gistread.units import counted

_MOST_COLUMNS = 100
_LABEL_COLUMNS = 10
_METRIC_COLUMNS = 18
_TABLE = "table.md"
_SCATTER = "tokens.png"
_HEAT_MAP = "needles.png"
_LEGEND = (
    "Differences are paired by question. ▲ better, ▼ worse: outside the 95% interval, over at least "
    f"{FEWEST} questions."
)
_REPORTED_SETTINGS = (
    *("limit", "documents", "budget_tokens", "max_pages", "reading", "pages", "page_size", "guard", "preset"),
    *("gist_task", "lengths", "depths", "needles"),
)


def run(arguments: argparse.Namespace) -> ExitStatus:
    task, folders, json = arguments.task, arguments.dirs, arguments.json
    if folders and task != "report":
        raise UsageError(f"eval {task} does not take {folders[0]}.", "Give the data file of a task with --data FILE.")
    if task == "list":
        _list_tasks(json=json)
        return ExitStatus.DONE
    if task == "report":
        if not folders:
            raise UsageError("eval report needs a run folder.", "Example: gistread eval report eval-fairytaleqa")
    else:
        from gistread.cli.eval_run import run_task

        folders = [run_task(arguments)]
    _report([_read_run(folder) for folder in folders], arguments.baseline, json=json)
    return ExitStatus.DONE


def _list_tasks(*, json: bool) -> None:
    if json:
        metrics = [{"name": metric.name, **metric.facts} for metric in METRICS.values()]
        write_json({"tasks": [_task_document(task) for task in TASKS.values()], "metrics": metrics})
        return
    columns = min(_MOST_COLUMNS, shutil.get_terminal_size((_MOST_COLUMNS, 24)).columns)
    for task in TASKS.values():
        write("\n".join(_task_lines(task, columns)), end="\n\n")
    write("metrics")
    for metric in METRICS.values():
        write("\n".join(_metric_lines(metric, columns)))
    write("\n".join(_hanging("", f"For every task: {', '.join(COSTS)}.", columns)))


def _task_document(task: Task) -> dict[str, object]:
    facts = {name: getattr(task, name) for name in ("name", "summary", "source", "licence", "metrics")}
    return {**facts, "format": task.file_format}


def _task_lines(task: Task, columns: int) -> Iterator[str]:
    yield from _hanging(f"{task.name}: ", task.summary, columns)
    facts = {"from": f"{task.source} ({task.licence})", "format": task.file_format, "metrics": ", ".join(task.metrics)}
    for label, fact in facts.items():
        yield from _hanging(f"  {label:{_LABEL_COLUMNS}}", fact, columns)


def _metric_lines(metric: Metric, columns: int) -> list[str]:
    better = {True: "higher is better", False: "lower is better", None: ""}[metric.more_is_better]
    facts = "; ".join(filter(None, (metric.summary, metric.unit, better)))
    return _hanging(f"  {metric.name:{_METRIC_COLUMNS}}", facts, columns)


def _hanging(head: str, text: str, columns: int) -> list[str]:
    behind = " " * len(head)
    return textwrap.wrap(
        text, columns, initial_indent=head, subsequent_indent=behind, break_long_words=False, break_on_hyphens=False
    )


@dataclass(frozen=True, slots=True)
class _Run:
    folder: Path
    settings: RunSettings
    asked: tuple[AnsweredQuestion, ...]
    judge: str  # The model that rated the answers; may be empty
    memories: str  # Summary of its memories, on one line


def _read_run(folder: Path) -> _Run:
    settings = read_settings(folder)
    asked = list(read_outcomes(folder / FILE_NAME).values()) if (folder / FILE_NAME).exists() else []
    if not asked:
        raise UsageError(f"No answers in {folder} yet.", f"`gistread eval {settings.task} --out {folder}`")
    rated, judge = with_ratings(folder, asked)
    return _Run(folder, settings, tuple(rated), judge, memory_figures.summary(memory_figures.read(folder)))


def _report(runs: Sequence[_Run], baseline: str, *, json: bool) -> None:
    rows, baselines = _side_by_side(runs) if len(runs) > 1 else _of_one(runs[0], baseline)
    metrics = TASKS[runs[0].settings.task].metrics
    table = tabulate(rows, metrics, baselines, seed=runs[0].settings.seed)
    first = shown_metric(table)
    maps = heat_maps(rows, first)
    if json:
        write_json({"runs": [_document(run) for run in runs], **to_json(table)})
    else:
        columns = shutil.get_terminal_size().columns
        write(_screen(runs, table, columns))
        for one in maps:
            write("\n" + text(heat_map_cells(one), columns))
    folder = runs[0].folder
    title = f"{runs[0].settings.task}, {runs[0].settings.model}"
    name = _TABLE if len(runs) == 1 else f"table-{'-'.join(_names(runs))}.md"
    try:
        (folder / name).write_text(_markdown(runs, table), encoding="utf-8")
        if len(runs) == 1:
            if drawn := plotted(table, first):
                draw_scatter(drawn, first, title, folder / _SCATTER)
            if maps:
                draw_heat_maps(maps, first, title, folder / _HEAT_MAP)
    except OSError as error:
        raise StorageError(f"{error.filename}: {error.strerror}.") from error
    except GistreadError as error:
        say(f"Note: {error}")
    if not json:
        say(f"\nTable, plots and answers are in {folder}.")


Rows = dict[str, list[AnsweredQuestion]]


def _of_one(run: _Run, baseline: str) -> tuple[Rows, dict[str, str]]:
    asked = by_reader(run.asked)
    rows = {name: asked[name] for name in METHODS if name in asked}
    return rows, {name: baseline for name in rows if name != baseline and baseline in rows}


def _side_by_side(runs: Sequence[_Run]) -> tuple[Rows, dict[str, str]]:
    if len(tasks := {run.settings.task for run in runs}) > 1:
        raise UsageError(f"The runs are of different tasks: {', '.join(sorted(tasks))}.", "Report them separately.")
    rows: Rows = {}
    baselines: dict[str, str] = {}
    names = _names(runs)
    of_run = [by_reader(run.asked) for run in runs]
    for reader in METHODS:
        for name, readers in zip(names, of_run, strict=True):
            if reader in readers:
                rows[f"{reader} · {name}"] = readers[reader]
                baselines[f"{reader} · {name}"] = f"{reader} · {names[0]}"
    return rows, {row: base for row, base in baselines.items() if base in rows and base != row}


def _names(runs: Sequence[_Run]) -> list[str]:
    names = [run.folder.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]


def _screen(runs: Sequence[_Run], table: Table, columns: int) -> str:
    about = [_about(run) for run in runs]
    notes = [_LEGEND] if any(row.against_baseline for row in table.rows) else []
    notes += [line for run in runs for line in _notes(run)]

    def wrapped(lines: Sequence[str]) -> str:
        return "\n".join(textwrap.fill(line, max(20, columns - 1)) for line in lines)

    return "\n\n".join([wrapped(about), *(text(cells, columns) for cells in _parts(table)), wrapped(notes)])


def _markdown(runs: Sequence[_Run], table: Table) -> str:
    parts = [f"# {runs[0].settings.task}", *(_about(run) for run in runs)]
    parts += [markdown(cells) for cells in _parts(table)]
    if any(row.against_baseline for row in table.rows):
        parts.append(_LEGEND)
    parts += [line for run in runs for line in _notes(run)]
    parts.append("\n".join(f"- {name}: {METRICS[name].summary}" for name in (*table.metrics, *table.costs)))
    return "\n\n".join(parts) + "\n"


def _parts(table: Table) -> list[list[list[str]]]:
    found = [figures(table, table.metrics)] if table.metrics else []
    if any(row.against_baseline for row in table.rows):
        found.append(differences(table))
    return [*found, figures(table, table.costs)]


def _about(run: _Run) -> str:
    settings = run.settings
    documents = len({one.outcome.document for one in run.asked})
    questions = len({(one.outcome.document, one.outcome.question) for one in run.asked})
    default = RunSettings("", "", "", "", 0)
    others = [
        f"{one.name.replace('_', ' ')} {_setting(getattr(settings, one.name))}"
        for one in fields(RunSettings)
        if one.name in _REPORTED_SETTINGS and getattr(settings, one.name) != getattr(default, one.name)
    ]
    if not settings.weighs:
        others.append("model check: chooses at random")
    return " · ".join(
        [
            f"{run.folder.resolve().name}: {settings.task}, {_models(settings)}",
            f"{counted(questions, 'question')} about {counted(documents, 'text')}, seed {settings.seed}",
            *others,
        ]
    )


def _models(settings: RunSettings) -> str:
    reading = f"{settings.model}, window {settings.context_tokens}"
    if not settings.asking_model:
        return reading
    return f"{settings.asking_model}, window {settings.asking_context_tokens}, over memories of {reading}"


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        # Floats are depths.
        return " ".join(f"{100 * one:g}%" if isinstance(one, float) else str(one) for one in value)
    return str(value)


def _notes(run: _Run) -> list[str]:
    judged = f"LR-1 and LR-2 by {run.judge}." if run.judge else ""
    ratings = {score for one in run.asked for score in one.outcome.scores if score[0] in ("lr-1", "lr-2")}
    if judged and len(ratings) == 2 and len(run.asked) > 1:
        judged += " It rates all answers alike, right or wrong: choose another judge."
    failed = [one.outcome for one in run.asked if not one.outcome.ended]
    failures = f"{len(failed)} of {len(run.asked)} failed, for example: {failed[0].error}" if failed else ""
    counts = {len(each) for each in by_reader(run.asked).values()}
    unfinished = "" if len(counts) == 1 else "Unfinished: the rows are over different questions."
    return [line for line in (run.memories, judged, failures, unfinished) if line]


def _document(run: _Run) -> dict[str, object]:
    return {"folder": str(run.folder), "judge": run.judge, "memories": run.memories, **asdict(run.settings)}
