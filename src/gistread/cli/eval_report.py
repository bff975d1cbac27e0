"""`gistread eval report DIR …`, and the end of every run: the table and the plots of what was measured.

On the screen, as `table.md` and as pictures beside the outcomes. Of several runs: their readers side by side, each
held against itself in the first of them.
"""

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from textwrap import fill

from gistread.cli.output import say, write, write_json
from gistread.cli.progress import counted
from gistread.errors import ExitStatus, GistreadError, StorageError, UsageError
from gistread.evaluation import memory_figures
from gistread.evaluation.judge import with_ratings
from gistread.evaluation.metrics import METRICS
from gistread.evaluation.outcomes import FILE_NAME, AnsweredQuestion, by_reader, read_outcomes
from gistread.evaluation.plots import draw_heat_maps, draw_scatter, heat_map_cells, heat_maps, points, shown_metric
from gistread.evaluation.settings import RunSettings, read_settings
from gistread.evaluation.table import FEWEST, Table, differences, figures, markdown, tabulate, text, to_json
from gistread.evaluation.tasks.registry import TASKS
from gistread.readers.registry import METHODS

_TABLE = "table.md"
_SCATTER = "tokens.png"
_HEAT_MAP = "needles.png"
_LEGEND = (
    "Differences are paired, question by question. ▲ better, ▼ worse, beyond the interval at 95% and over at least "
    f"{FEWEST} questions."
)


@dataclass(frozen=True, slots=True)
class Reported:
    """A run on disk."""

    folder: Path
    settings: RunSettings
    asked: tuple[AnsweredQuestion, ...]
    judge: str
    """Who rated; empty: nobody."""
    memories: str
    """What its memories came to, in one line."""


def report(arguments: argparse.Namespace) -> ExitStatus:
    """Of the runs that were named."""
    if not arguments.dirs:
        raise UsageError("eval report needs the folder of a run.", "As in: gistread eval report eval-fairytaleqa")
    show([opened(folder) for folder in arguments.dirs], arguments.baseline, as_json=arguments.json)
    return ExitStatus.DONE


def opened(folder: Path) -> Reported:
    """The run in this folder. Raises UsageError when there is none or nothing has been answered yet."""
    settings = read_settings(folder)
    asked = list(read_outcomes(folder / FILE_NAME).values()) if (folder / FILE_NAME).exists() else []
    if not asked:
        raise UsageError(f"{folder}: nothing has been answered yet.", f"`gistread eval {settings.task} --out {folder}`")
    rated, judge = with_ratings(folder, asked)
    return Reported(folder, settings, tuple(rated), judge, memory_figures.summary(memory_figures.read(folder)))


def show(runs: Sequence[Reported], baseline: str, *, as_json: bool) -> None:
    """Print the table, and write it and its pictures into the folder of the (first) run."""
    rows, baselines = _side_by_side(runs) if len(runs) > 1 else _of_one(runs[0], baseline)
    metrics = TASKS[runs[0].settings.task].metrics
    table = tabulate(rows, metrics, baselines, seed=runs[0].settings.seed)
    first = shown_metric(table)
    maps = heat_maps(rows, first)
    if as_json:
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
            if drawn := points(table, first):
                draw_scatter(drawn, first, title, folder / _SCATTER)
            if maps:
                draw_heat_maps(maps, first, title, folder / _HEAT_MAP)
    except OSError as error:
        raise StorageError(f"{error.filename}: {error.strerror}.") from error
    except GistreadError as error:
        say(f"Note: {error}")
    if not as_json:
        say(f"\nTable, pictures and every answer are in {folder}.")


Rows = dict[str, list[AnsweredQuestion]]


def _of_one(run: Reported, baseline: str) -> tuple[Rows, dict[str, str]]:
    """A row a reader, in the order in which readers are always named: what the model knew before comes last."""
    asked = by_reader(run.asked)
    rows = {name: asked[name] for name in METHODS if name in asked}
    return rows, {name: baseline for name in rows if name != baseline and baseline in rows}


def _side_by_side(runs: Sequence[Reported]) -> tuple[Rows, dict[str, str]]:
    """A row a reader and run, those of one reader together. Raises UsageError for runs of different tasks."""
    if len(tasks := {run.settings.task for run in runs}) > 1:
        raise UsageError(f"These are runs of different tasks: {', '.join(sorted(tasks))}.", "Report them one by one.")
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


def _names(runs: Sequence[Reported]) -> list[str]:
    """Of the folders; their whole paths where the names alone are the same."""
    names = [run.folder.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]


def _screen(runs: Sequence[Reported], table: Table, columns: int) -> str:
    about = [_about(run) for run in runs]
    notes = [_LEGEND] if any(row.against for row in table.rows) else []
    notes += [line for run in runs for line in _notes(run)]

    def wrapped(lines: Sequence[str]) -> str:
        return "\n".join(fill(line, max(20, columns - 1)) for line in lines)

    return "\n\n".join([wrapped(about), *(text(cells, columns) for cells in _parts(table)), wrapped(notes)])


def _markdown(runs: Sequence[Reported], table: Table) -> str:
    parts = [f"# {runs[0].settings.task}", *(_about(run) for run in runs)]
    parts += [markdown(cells) for cells in _parts(table)]
    if any(row.against for row in table.rows):
        parts.append(_LEGEND)
    parts += [line for run in runs for line in _notes(run)]
    parts.append("\n".join(f"- {name}: {METRICS[name].summary}" for name in (*table.metrics, *table.costs)))
    return "\n\n".join(parts) + "\n"


def _parts(table: Table) -> list[list[list[str]]]:
    """Answers, differences, costs."""
    found = [figures(table, table.metrics)] if table.metrics else []
    if any(row.against for row in table.rows):
        found.append(differences(table))
    return [*found, figures(table, table.costs)]


def _about(run: Reported) -> str:
    """Whose figures these are, and how they came about: what departs from the usual is named."""
    settings = run.settings
    documents = len({one.outcome.document for one in run.asked})
    questions = len({(one.outcome.document, one.outcome.question) for one in run.asked})
    usual = RunSettings("", "", "", "", 0)
    said = (
        *(
            "limit",
            "documents",
            "budget_tokens",
            "max_pages",
            "reading",
            "pages",
            "page_size",
            "guard",
            "preset",
            "gist_task",
        ),
        *("lengths", "depths", "needles"),
    )
    others = [
        f"{one.name.replace('_', ' ')} {_said(getattr(settings, one.name))}"
        for one in fields(RunSettings)
        if one.name in said and getattr(settings, one.name) != getattr(usual, one.name)
    ]
    if not settings.weighs:
        others.append("found to choose by chance")
    return " · ".join(
        [
            f"{run.folder.resolve().name}: {settings.task}, {_who(settings)}",
            f"{counted(questions, 'question')} about {counted(documents, 'text')}, seed {settings.seed}",
            *others,
        ]
    )


def _who(settings: RunSettings) -> str:
    """Who read and who answered."""
    reading = f"{settings.model}, window {settings.context_tokens}"
    if not settings.asking_model:
        return reading
    return f"{settings.asking_model}, window {settings.asking_context_tokens}, over memories of {reading}"


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        # Shares are depths, which are typed in percent.
        return " ".join(f"{100 * one:g}%" if isinstance(one, float) else str(one) for one in value)
    return str(value)


def _notes(run: Reported) -> list[str]:
    """What the table does not show."""
    judged = f"LR-1 and LR-2 by {run.judge}." if run.judge else ""
    failed = [one.outcome for one in run.asked if not one.outcome.ended]
    unended = f"{len(failed)} of {len(run.asked)} did not end; of them: {failed[0].error}" if failed else ""
    counts = {len(each) for each in by_reader(run.asked).values()}
    unfinished = "" if len(counts) == 1 else "Not every reader has answered every question yet: rows differ in theirs."
    return [line for line in (run.memories, judged, unended, unfinished) if line]


def _document(run: Reported) -> dict[str, object]:
    return {"folder": str(run.folder), "judge": run.judge, "memories": run.memories, **asdict(run.settings)}
