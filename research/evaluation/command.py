"""Runs `python -m research.evaluation TASK`, with progress on standard error."""

import argparse
import asyncio
import shlex
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gistread import prompts
from gistread.cli.interrupt import InterruptError, run_until_interrupted
from gistread.cli.models import check_results
from gistread.cli.opening import load_settings
from gistread.cli.output import say
from gistread.cli.progress import ProgressLine, reading_line
from gistread.cli.sessions import open_engine
from gistread.config import Config
from gistread.engine.models import ModelSource, find_chosen, find_source
from gistread.engine.protocol import Engine, EngineInfo, Priority
from gistread.errors import UsageError
from gistread.memory.check_results import CheckResult
from gistread.memory.model import (
    DEFAULT_READING_MODE,
    PageSize,
    ReadingMode,
    parse_task,
)
from gistread.memory.model_check import TooSlowError, check_model
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from gistread.presets import Preset, find_preset
from gistread.readers.model_class import class_of
from gistread.units import counted, progress_bar
from research.evaluation import memory_figures, running
from research.evaluation.baselines import EvaluationOptions
from research.evaluation.embedding import Embedder
from research.evaluation.judge import rate_all
from research.evaluation.metrics import rouge
from research.evaluation.outcomes import FILE_NAME, OutcomeFile, read_outcomes
from research.evaluation.readers import METHODS
from research.evaluation.running import sample
from research.evaluation.settings import RunSettings, data_hash, save_or_compare
from research.evaluation.tasks.registry import TASKS, Task, TaskOptions

_CLOSED_BOOK = "closed-book"
_MEMORIES = "memories"


@dataclass(frozen=True, slots=True)
class _Models:
    reading: ModelSource
    asking: ModelSource  # Often the same
    judge: ModelSource | None


def run_task(arguments: argparse.Namespace) -> Path:
    """Run a task, or resume its run. Returns the run folder. Raises GistreadError."""
    config = load_settings(arguments)
    task = _task(arguments)
    reading = find_chosen(arguments.model, config)
    embedder: Embedder | None = None
    if arguments.embedding_model:
        embedder = Embedder(arguments.embedding_model)
    readers = _readers(arguments, has_embedder=embedder is not None)
    models = _Models(
        reading,
        find_source(config.asking_model) if config.asking_model else reading,
        find_source(arguments.judge) if arguments.judge else None,
    )
    folder: Path = arguments.out or Path(f"eval-{task.name}")
    run_until_interrupted(
        _run(arguments, config, task, readers, models, embedder, folder)
    )
    return folder


def _task(arguments: argparse.Namespace) -> Task:
    """The chosen task. Raises GistreadError if its data or a library is missing."""
    task = TASKS[arguments.task]
    problem = ""
    if arguments.data is None:
        problem = "needs a data file"
    elif not arguments.data.exists():
        problem = f"cannot find {arguments.data}"
    if problem:
        raise UsageError(
            f"{task.name} {problem}.",
            f"Get it from {task.source} and give it with --data FILE.",
        )
    if any(name.startswith("rouge") for name in task.metrics):
        rouge("a", "a")  # Raises before the first answer if its library is missing.
    return task


def _readers(arguments: argparse.Namespace, *, has_embedder: bool) -> tuple[str, ...]:
    """The chosen readers, and `closed-book` unless it is not wanted. Raises UsageError."""
    readers: tuple[str, ...] = arguments.readers
    if not has_embedder and readers == tuple(METHODS):
        say("Note: dense is left out: it needs --embedding-model.")
        readers = tuple(name for name in METHODS if name != "dense")
    elif not has_embedder and "dense" in readers:
        raise UsageError(
            "The reader dense needs an embedding model.",
            "Give one with --embedding-model FILE.",
        )
    if not arguments.no_closed_book and _CLOSED_BOOK not in readers:
        readers = (*readers, _CLOSED_BOOK)
    return readers


async def _run(
    arguments: argparse.Namespace,
    config: Config,
    task: Task,
    readers: tuple[str, ...],
    models: _Models,
    embedder: Embedder | None,
    folder: Path,
) -> None:
    """Ask the questions and rate the answers. Raises InterruptError on Ctrl+C."""
    with ProgressLine() as line:
        line.show(f"reading {arguments.data}")
        plan = await asyncio.to_thread(
            _plan, arguments, config, task, readers, embedder
        )
        try:
            async with AsyncExitStack() as stack:
                opening = open_engine(models.reading, config, line)
                engine = await stack.enter_async_context(opening)
                asking = engine
                if models.asking != models.reading:
                    opening = open_engine(models.asking, config, line)
                    asking = await stack.enter_async_context(opening)
                result = await _checked(asking, models.asking, line)
                options = replace(plan.options, model=class_of(asking.info, result))
                plan = replace(plan, options=options)
                embedding = embedder.fingerprint if embedder else ""
                data = await asyncio.to_thread(_data, arguments)
                other = asking.info if asking is not engine else None
                settings = _settings(
                    arguments, plan, engine.info, other, data, embedding
                )
                save_or_compare(folder, settings)
                store = MemoryStore(arguments.memories or folder / _MEMORIES)
                with OutcomeFile(folder / FILE_NAME) as outcomes:
                    await _follow(plan, engine, asking, store, outcomes, line)
                if models.judge == models.reading:
                    await _rate(folder, engine, line)
                elif models.judge == models.asking:
                    await _rate(folder, asking, line)
            if models.judge not in (None, models.reading, models.asking):
                async with open_engine(models.judge, config, line) as judge:
                    await _rate(folder, judge, line)
        except asyncio.CancelledError:
            raise InterruptError(
                f"Stopped; every answer so far is kept in {folder}.",
                "Run the same command again to resume. "
                f"`python -m research.evaluation report {shlex.quote(str(folder))}` shows the "
                "figures so far.",
            ) from None


def _plan(
    arguments: argparse.Namespace,
    config: Config,
    task: Task,
    readers: tuple[str, ...],
    embedder: Embedder | None,
) -> running.Plan:
    """The questions to ask, and how. Reads the data. Raises GistreadError."""
    every_document = task.load(
        arguments.data, TaskOptions(arguments.seed, arguments.split)
    )
    documents = sample(
        every_document, arguments.limit, arguments.seed, arguments.documents
    )
    if not documents:
        raise UsageError(
            f"No questions in {arguments.data}.",
            "`python -m research.evaluation list` describes the format.",
        )
    preset: Preset | None = None
    if arguments.preset:
        preset = find_preset(arguments.preset, default_paths().presets)
    options = EvaluationOptions(
        max_pages=config.max_pages,
        budget_tokens=arguments.budget_tokens,
        embedder=embedder,
    )
    run_config = running.RunConfig(
        ReadingMode(config.reading or DEFAULT_READING_MODE),
        size=_page_size(arguments.page_size),
        preset=preset,
        task=parse_task(arguments.gist_task) if arguments.gist_task else "",
    )
    return running.Plan(
        task=task,
        documents=documents,
        readers=readers,
        options=options,
        config=run_config,
        timeout_s=arguments.timeout,
        retry=arguments.retry,
        at_once=arguments.at_once,
    )


def _page_size(text: str) -> PageSize | None:
    """The value of `--page-size`: a named size, a maximum, or a range in words.

    Raises UsageError.
    """
    if not text:
        return None
    if text in PAGE_SIZES:
        return PAGE_SIZES[text]
    words = [int(part) if part.isdecimal() else 0 for part in text.split("-")]
    match words:
        case [most] if most >= 2:
            # ReadAgent, table 6: the fewest in proportion
            quality = PAGE_SIZES["quality"]
            fewest = max(1, most * quality.min_words // quality.max_words)
            return PageSize(fewest, most)
        case [fewest, most] if 1 <= fewest <= most >= 2:
            return PageSize(fewest, most)
    raise UsageError(
        f"Invalid page size: {text}",
        f"Use {', '.join(PAGE_SIZES)}, a maximum such as 600, or a range such as 280-600.",
    )


def _data(arguments: argparse.Namespace) -> str:
    """Identifies the data: a hash of the file, and the split."""
    digest = data_hash(arguments.data)
    if not arguments.split:
        return digest
    return f"{digest}+{arguments.split}"


def _settings(
    arguments: argparse.Namespace,
    plan: running.Plan,
    info: EngineInfo,
    asking: EngineInfo | None,
    data: str,
    embedding: str,
) -> RunSettings:
    """`asking`: the answering model, if it differs from the reading model."""
    size = plan.config.size
    folder = Path(prompts.__file__).parent
    prompt_names = sorted(path.stem for path in folder.glob("*.txt"))
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
        model_class=plan.options.model.name,
        knows_absence=plan.options.model.abstains,
        reading=plan.config.mode.value,
        page_size=f"{size.min_words}-{size.max_words}" if size else "",
        preset=plan.config.preset.name if plan.config.preset else "",
        gist_task=plan.config.task,
        prompts=prompts.version(*prompt_names),
    )


async def _rate(folder: Path, judge: Engine, line: ProgressLine) -> None:
    """Rate the answers of a run, with the progress on the line."""
    answers = list(read_outcomes(folder / FILE_NAME).values())
    async with aclosing(rate_all(folder, answers, judge)) as rating:
        async for done, total in rating:
            bar = progress_bar(done / max(1, total))
            line.show(f"{bar}  {judge.info.name} has rated {done} of {total} answers")


async def _follow(
    plan: running.Plan,
    engine: Engine,
    asking: Engine,
    store: MemoryStore,
    outcomes: OutcomeFile,
    line: ProgressLine,
) -> None:
    """Run the plan with its progress on the line; failed questions and notices become messages."""
    total = plan.questions
    done = total - sum(len(todo.questions) for todo in plan.todo(outcomes.known))
    line.say(_describe_plan(plan, done))
    folder = outcomes.path.parent
    async with aclosing(running.run(plan, engine, store, outcomes, asking)) as events:
        async for event in events:
            bar = f"{progress_bar(done / max(1, total))}  {done} of {total}"
            match event:
                case running.MemoryProgress(document=document, memory=memory):
                    if memory.complete:
                        figures = memory_figures.figures_of(document, memory)
                        memory_figures.save(folder, figures)
                    if event.notice:
                        line.say(f"Note: {event.notice}")
                    progress = reading_line(memory, engine.state, None)
                    line.show(f"{document.id} · {progress}")
                case running.ArtifactBuilt():
                    progress = f"{event.artifact}, {event.done} of {event.total}"
                    line.show(f"{bar} · {event.reader}: {progress}")
                case running.QuestionStarted(reader=reader, question=question):
                    line.show(f"{bar} · {reader} · {question.text}")
                case running.QuestionMeasured(answered=answered):
                    done += 1
                    outcome = answered.outcome
                    if not outcome.ended:
                        failed = f"{outcome.reader}, {outcome.question}: failed."
                        line.say(f"{failed} {outcome.error}")
    line.clear()


def _describe_plan(plan: running.Plan, done: int) -> str:
    """What is asked, and by whom it is answered. `done`: answers that exist already."""
    questions = sum(len(document.questions) for document in plan.documents)
    already = f"; {done} of {plan.questions} answers exist already" if done else ""
    return (
        f"{plan.task.name}: {counted(questions, 'question')} about "
        f"{counted(len(plan.documents), 'text')}, "
        f"answered by {', '.join(plan.readers)}{already}."
    )


async def _checked(
    engine: Engine, model: ModelSource, line: ProgressLine
) -> CheckResult | None:
    """The result of a loaded model's check, run if needed; None on a server or if too slow.

    Raises EngineError.
    """
    results = check_results()
    info = engine.info
    is_local = info.placement is not None
    if is_local and results.get(info.fingerprint) is None:
        line.show(f"checking {info.name} …")
        with suppress(TooSlowError):
            result = await check_model(engine, Priority.INTERACTIVE)
            results.save(info.fingerprint, model.path, result)
    return results.get(info.fingerprint)
