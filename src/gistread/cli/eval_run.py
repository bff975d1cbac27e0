"""`gistread eval TASK`: a run from what was typed to the table, with its progress on standard error."""

import argparse
import asyncio
import shlex
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gistread.cli.checking import is_reliable
from gistread.cli.embedding import chosen_embedding_model, embedder_of
from gistread.cli.eval_progress import RunProgress
from gistread.cli.eval_report import opened, show
from gistread.cli.interrupt import InterruptError, run_until_interrupted
from gistread.cli.loading import chosen_model, loaded
from gistread.cli.opening import settings
from gistread.cli.output import say
from gistread.cli.progress import ProgressLine, bar
from gistread.config import Config
from gistread.engine.model_source import ModelSource, find_source
from gistread.engine.protocol import Engine, EngineInfo
from gistread.errors import ExitStatus, NoEmbeddingModelError, UsageError
from gistread.evaluation import overlap
from gistread.evaluation.judge import rate_all
from gistread.evaluation.outcomes import FILE_NAME, OutcomeFile, read_outcomes
from gistread.evaluation.running import Plan, RunConfig
from gistread.evaluation.sampling import sample
from gistread.evaluation.settings import RunSettings, all_prompts, data_hash, settle
from gistread.evaluation.tasks.registry import TASKS
from gistread.evaluation.tasks.task import Task, TaskOptions
from gistread.memory.focus import parse_task
from gistread.memory.model import DEFAULT_READING_MODE, PageSize, Pauses, ReadingMethod, ReadingMode
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from gistread.presets import find_preset
from gistread.readers.options import ReaderOptions
from gistread.readers.registry import METHODS

_CLOSED_BOOK = "closed-book"
_MEMORIES = "memories"


def run_task(arguments: argparse.Namespace) -> ExitStatus:
    config = settings(arguments)
    task = TASKS[arguments.task]
    if arguments.data is None:
        raise UsageError(f"eval {task.name} needs its file: --data FILE.", f"It is to be had from {task.source}.")
    if not arguments.data.exists():
        raise UsageError(f"{arguments.data} is not there.", f"The file is to be had from {task.source}.")
    if any(name.startswith("rouge") for name in task.metrics):
        overlap.rouge("a", "a")  # Not after an hour: it says what to install.
    model = chosen_model(arguments, config)
    try:
        embedding_model = chosen_embedding_model(arguments, config, arguments.readers)
    except NoEmbeddingModelError as error:
        if arguments.readers != tuple(METHODS):
            raise
        # `all` are all that can be asked here.
        say(f"Note: {error.message}")
        embedding_model = None
        arguments.readers = tuple(name for name in METHODS if not METHODS[name].needs_embedder)
    asking = find_source(config.asking_model) if config.asking_model else model
    judge = find_source(arguments.judge) if arguments.judge else None
    folder = arguments.out or Path(f"eval-{task.name}")
    run_until_interrupted(_run(arguments, config, task, _Models(model, asking, embedding_model, judge), folder))
    show([opened(folder)], arguments.baseline, as_json=arguments.json)
    return ExitStatus.DONE


class _Models(NamedTuple):
    """Who does what in a run."""

    reading: ModelSource
    asking: ModelSource
    """Often the same."""
    embedding: Path | None
    judge: ModelSource | None


async def _run(arguments: argparse.Namespace, config: Config, task: Task, models: _Models, folder: Path) -> None:
    with ProgressLine() as line:
        line.show(f"reading {arguments.data}")
        plan = await asyncio.to_thread(_plan, arguments, config, task)
        try:
            async with AsyncExitStack() as stack:
                engine = asking = await stack.enter_async_context(loaded(models.reading, config, line))
                if models.asking != models.reading:
                    asking = await stack.enter_async_context(loaded(models.asking, config, line))
                embedder = await stack.enter_async_context(embedder_of(models.embedding, line))
                reliable = await is_reliable(asking, models.asking, line)
                options = replace(plan.options, embedder=embedder, is_reliable=reliable)
                plan = replace(plan, options=options)
                embedding = (await embedder.start()).fingerprint if embedder else ""
                data = await asyncio.to_thread(_data, arguments)
                other = asking.info if asking is not engine else None
                settle(folder, _settings(arguments, plan, engine.info, other, data, embedding))
                store = MemoryStore(arguments.memories or folder / _MEMORIES)
                with OutcomeFile(folder / FILE_NAME) as outcomes:
                    await RunProgress(plan, engine, asking, outcomes, line).follow(store)
                if models.judge in (models.reading, models.asking):
                    await _rate(folder, engine if models.judge == models.reading else asking, line)
            if models.judge not in (None, models.reading, models.asking):
                async with loaded(models.judge, config, line) as judge:
                    await _rate(folder, judge, line)
        except asyncio.CancelledError:
            raise InterruptError(
                f"Stopped; every answer so far is kept in {folder}.",
                f"The same command goes on from there; `gistread eval report {shlex.quote(str(folder))}` shows the "
                "figures so far.",
            ) from None


def _plan(arguments: argparse.Namespace, config: Config, task: Task) -> Plan:
    options = TaskOptions(
        **{
            name: value
            for name in ("seed", "split", "lengths", "depths", "needles", "haystack")
            if (value := getattr(arguments, name)) is not None
        }
    )
    documents = sample(task.load(arguments.data, options), arguments.limit, arguments.seed, arguments.documents)
    if not documents:
        raise UsageError(f"There are no questions in {arguments.data}.", "`gistread eval list` says what it should be.")
    readers = list(arguments.readers)
    if not arguments.no_closed_book and _CLOSED_BOOK not in readers:
        readers.append(_CLOSED_BOOK)
    return Plan(
        task=task,
        documents=documents,
        readers=readers,
        options=ReaderOptions(max_pages=config.max_pages, budget_tokens=arguments.budget_tokens),
        config=RunConfig(
            ReadingMethod(
                ReadingMode(config.reading or DEFAULT_READING_MODE), Pauses(arguments.pages), not arguments.no_guard
            ),
            size=_page_size(arguments.page_size, Pauses(arguments.pages)),
            preset=find_preset(arguments.preset, default_paths().user_presets) if arguments.preset else None,
            task=parse_task(arguments.gist_task) if arguments.gist_task else "",
        ),
        timeout_s=arguments.timeout,
        retry=arguments.retry,
        at_once=arguments.at_once,
    )


def _page_size(typed: str, pauses: Pauses) -> PageSize | None:
    """What `--page-size` means: a usual size, the most words, or the fewest and the most. Raises UsageError."""
    if not typed:
        return None
    if typed in PAGE_SIZES:
        return PAGE_SIZES[typed]
    words = [int(part) if part.isdecimal() else 0 for part in typed.split("-")]
    match words:
        case [most] if most >= 2 and pauses is Pauses.UNIFORM:
            return PageSize(most, most)
        case [most] if most >= 2:  # Table 6: the fewest in proportion.
            return PageSize(max(1, most * PAGE_SIZES["quality"].min_words // PAGE_SIZES["quality"].max_words), most)
        case [fewest, most] if 1 <= fewest <= most >= 2:
            return PageSize(fewest, most)
    raise UsageError(
        f"--page-size {typed} is no page size.",
        f"Give one of {', '.join(PAGE_SIZES)}, the most words of a page as 600, or the fewest and the most as 280-600.",
    )


def _data(arguments: argparse.Namespace) -> str:
    hashes = [data_hash(path) for path in (arguments.data, arguments.haystack) if path is not None]
    return "+".join(filter(None, (*hashes, arguments.split)))


def _settings(
    arguments: argparse.Namespace, plan: Plan, info: EngineInfo, asking: EngineInfo | None, data: str, embedding: str
) -> RunSettings:
    """`asking`: of the model that answers, where that is another."""
    size = plan.config.size
    return RunSettings(
        task=plan.task.name,
        data=data,
        model=info.name,
        fingerprint=info.fingerprint,
        context_tokens=info.context_tokens,
        asking_model=asking.name if asking else "",
        asking_fingerprint=asking.fingerprint if asking else "",
        asking_context_tokens=asking.context_tokens if asking else 0,
        embedding=embedding,
        seed=arguments.seed,
        limit=arguments.limit,
        documents=arguments.documents,
        budget_tokens=arguments.budget_tokens,
        max_pages=plan.options.max_pages,
        weighs=plan.options.is_reliable is not False,
        reading=plan.config.method.mode.value,
        pages=plan.config.method.pauses.value,
        page_size=f"{size.min_words}-{size.max_words}" if size else "",
        guard=plan.config.method.guarded,
        preset=plan.config.preset.name if plan.config.preset else "",
        gist_task=plan.config.task,
        lengths=list(arguments.lengths or ()),
        depths=list(arguments.depths or ()),
        needles=arguments.needles or 0,
        prompts=all_prompts(),
    )


async def _rate(folder: Path, judge: Engine, line: ProgressLine) -> None:
    """Let the judge rate what it has not rated."""
    answers = list(read_outcomes(folder / FILE_NAME).values())
    async with aclosing(rate_all(folder, answers, judge)) as rating:
        async for done, total in rating:
            line.show(f"{bar(done / max(1, total))}  {judge.info.name} has judged {done} of {total} answers")
