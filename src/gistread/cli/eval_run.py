"""Runs `gistread eval TASK`, with progress on standard error."""

import argparse
import asyncio
import shlex
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from gistread import prompts
from gistread.cli.interrupt import InterruptError, run_until_interrupted
from gistread.cli.loading import choose_embedding_model, new_embedder, open_engine
from gistread.cli.model_check import ensure_checked
from gistread.cli.opening import load_settings
from gistread.cli.output import say
from gistread.cli.progress import ProgressLine, at_work, reading_line
from gistread.config import Config
from gistread.engine.model_source import ModelSource, find_source
from gistread.engine.protocol import Engine, EngineInfo
from gistread.errors import NoEmbeddingModelError, UsageError
from gistread.evaluation import memory_figures, running
from gistread.evaluation.judge import rate_all
from gistread.evaluation.metrics import rouge
from gistread.evaluation.outcomes import FILE_NAME, OutcomeFile, by_reader, read_outcomes
from gistread.evaluation.running import sample, seconds_left
from gistread.evaluation.settings import RunSettings, data_hash, save_or_compare
from gistread.evaluation.tasks.registry import TASKS, Task, TaskOptions
from gistread.memory.estimate import expected_pace, pace_of
from gistread.memory.focus import parse_task
from gistread.memory.model import DEFAULT_READING_MODE, PageSize, Pauses, ReadingMethod, ReadingMode
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from gistread.presets import find_preset
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.units import counted, format_duration, progress_bar

_CLOSED_BOOK = "closed-book"
_MEMORIES = "memories"


@dataclass(frozen=True, slots=True)
class _Models:
    reading: ModelSource
    asking: ModelSource  # Often the same
    embedding: Path | None
    judge: ModelSource | None


def run_task(arguments: argparse.Namespace) -> Path:
    """Run a task, or resume its run. Returns the run folder. Raises GistreadError."""
    config = load_settings(arguments)
    task = TASKS[arguments.task]
    if arguments.data is None or not arguments.data.exists():
        problem = "needs a data file" if arguments.data is None else f"cannot find {arguments.data}"
        raise UsageError(f"eval {task.name} {problem}.", f"Get it from {task.source} and give it with --data FILE.")
    if any(name.startswith("rouge") for name in task.metrics):
        rouge("a", "a")  # If its library is missing, raises before the first answer.
    reading = find_source(arguments.model or config.model)
    readers: tuple[str, ...] = arguments.readers
    try:
        embedding = choose_embedding_model(arguments.embedding_model, config, readers)
    except NoEmbeddingModelError as error:
        if readers != tuple(METHODS):
            raise
        say(f"Note: {error.message}")  # `--readers all` then means all that work without one.
        embedding = None
        readers = tuple(name for name in METHODS if not METHODS[name].needs_embedder)
    models = _Models(
        reading,
        find_source(config.asking_model) if config.asking_model else reading,
        embedding,
        find_source(arguments.judge) if arguments.judge else None,
    )
    if not arguments.no_closed_book and _CLOSED_BOOK not in readers:
        readers = (*readers, _CLOSED_BOOK)
    folder: Path = arguments.out or Path(f"eval-{task.name}")
    run_until_interrupted(_run(arguments, config, task, readers, models, folder))
    return folder


async def _run(
    arguments: argparse.Namespace, config: Config, task: Task, readers: tuple[str, ...], models: _Models, folder: Path
) -> None:
    with ProgressLine() as line:
        line.show(f"reading {arguments.data}")
        plan = await asyncio.to_thread(_plan, arguments, config, task, readers)
        try:
            async with AsyncExitStack() as stack:
                engine = asking = await stack.enter_async_context(open_engine(models.reading, config, line))
                if models.asking != models.reading:
                    asking = await stack.enter_async_context(open_engine(models.asking, config, line))
                embedder = new_embedder(models.embedding, line) if models.embedding else None
                if embedder:
                    stack.push_async_callback(embedder.close)
                result = await ensure_checked(asking, models.asking, line)
                trust = (result.is_reliable, result.knows_absence) if result else (None, False)
                options = replace(plan.options, embedder=embedder, is_reliable=trust[0], knows_absence=trust[1])
                plan = replace(plan, options=options)
                embedding = (await embedder.start()).fingerprint if embedder else ""
                data = await asyncio.to_thread(_data, arguments)
                other = asking.info if asking is not engine else None
                save_or_compare(folder, _settings(arguments, plan, engine.info, other, data, embedding))
                store = MemoryStore(arguments.memories or folder / _MEMORIES)
                with OutcomeFile(folder / FILE_NAME) as outcomes:
                    await _RunProgress(plan, engine, asking, outcomes, line).follow(store)
                if models.judge in (models.reading, models.asking):
                    await _rate(folder, engine if models.judge == models.reading else asking, line)
            if models.judge not in (None, models.reading, models.asking):
                async with open_engine(models.judge, config, line) as judge:
                    await _rate(folder, judge, line)
        except asyncio.CancelledError:
            raise InterruptError(
                f"Stopped; every answer so far is kept in {folder}.",
                "Run the same command again to resume. "
                f"`gistread eval report {shlex.quote(str(folder))}` shows the figures so far.",
            ) from None


def _plan(arguments: argparse.Namespace, config: Config, task: Task, readers: tuple[str, ...]) -> running.Plan:
    names = ("seed", "split", "lengths", "depths", "needles", "haystack")
    options = TaskOptions(**{name: value for name in names if (value := getattr(arguments, name)) is not None})
    documents = sample(task.load(arguments.data, options), arguments.limit, arguments.seed, arguments.documents)
    if not documents:
        raise UsageError(f"No questions in {arguments.data}.", "`gistread eval list` describes the format.")
    pauses = Pauses(arguments.pages)
    return running.Plan(
        task=task,
        documents=documents,
        readers=readers,
        options=ReaderOptions(max_pages=config.max_pages, budget_tokens=arguments.budget_tokens),
        config=running.RunConfig(
            ReadingMethod(ReadingMode(config.reading or DEFAULT_READING_MODE), pauses, not arguments.no_guard),
            size=_page_size(arguments.page_size, pauses),
            preset=find_preset(arguments.preset, default_paths().presets) if arguments.preset else None,
            task=parse_task(arguments.gist_task) if arguments.gist_task else "",
        ),
        timeout_s=arguments.timeout,
        retry=arguments.retry,
        at_once=arguments.at_once,
    )


def _page_size(text: str, pauses: Pauses) -> PageSize | None:
    """The value of `--page-size`: a named size, a maximum, or a range in words. Raises UsageError."""
    if not text:
        return None
    if text in PAGE_SIZES:
        return PAGE_SIZES[text]
    words = [int(part) if part.isdecimal() else 0 for part in text.split("-")]
    match words:
        case [most] if most >= 2 and pauses is Pauses.UNIFORM:
            return PageSize(most, most)
        case [most] if most >= 2:  # ReadAgent, table 6: the fewest in proportion.
            return PageSize(max(1, most * PAGE_SIZES["quality"].min_words // PAGE_SIZES["quality"].max_words), most)
        case [fewest, most] if 1 <= fewest <= most >= 2:
            return PageSize(fewest, most)
    raise UsageError(
        f"Invalid page size: {text}", f"Use {', '.join(PAGE_SIZES)}, a maximum such as 600, or a range such as 280-600."
    )


def _data(arguments: argparse.Namespace) -> str:
    hashes = [data_hash(path) for path in (arguments.data, arguments.haystack) if path is not None]
    return "+".join(filter(None, (*hashes, arguments.split)))


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
    method = plan.config.method
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
        knows_absence=plan.options.knows_absence,
        reading=method.mode.value,
        pages=method.pauses.value,
        page_size=f"{size.min_words}-{size.max_words}" if size else "",
        guard=method.guarded,
        preset=plan.config.preset.name if plan.config.preset else "",
        gist_task=plan.config.task,
        lengths=list(arguments.lengths or ()),
        depths=list(arguments.depths or ()),
        needles=arguments.needles or 0,
        prompts=prompts.version(*prompts.names()),
    )


async def _rate(folder: Path, judge: Engine, line: ProgressLine) -> None:
    answers = list(read_outcomes(folder / FILE_NAME).values())
    async with aclosing(rate_all(folder, answers, judge)) as rating:
        async for done, total in rating:
            line.show(f"{progress_bar(done / max(1, total))}  {judge.info.name} has rated {done} of {total} answers")


class _RunProgress:
    """Shows a run on the progress line, and new texts and failed questions as messages."""

    def __init__(
        self, plan: running.Plan, engine: Engine, asking: Engine, outcomes: OutcomeFile, line: ProgressLine
    ) -> None:
        """`engine` builds memories, `asking` answers; they may be the same."""
        self._plan = plan
        self._engine = engine
        self._asking = asking
        self._outcomes = outcomes
        self._line = line
        self._read: set[str] = set()  # Documents with a complete memory
        self._announced: set[str] = set()  # Documents whose questions have begun
        self._text: Callable[[], str] = lambda: ""  # Returns the current text of the line
        self._pace = expected_pace(engine.info, plan.config.method.mode)
        self._update_estimate()

    async def follow(self, store: MemoryStore) -> None:
        plan = self._plan
        questions = sum(len(document.questions) for document in plan.documents)
        self._line.say(
            f"{plan.task.name}: {counted(questions, 'question')} about {counted(len(plan.documents), 'text')}, "
            f"answered by {', '.join(plan.readers)}"
            + (f"; {self._done} of {plan.questions} answers exist already." if self._done else ".")
        )
        if self._left_s:
            self._line.say(
                f"About {format_duration(self._left_s)} with {at_work(self._asking.info)}. "
                "Press Ctrl+C to stop; run the same command again to resume."
            )
        unwatches = [engine.watch(lambda _: self._line.show(self._text())) for engine in (self._engine, self._asking)]
        try:
            async with aclosing(running.run(self._plan, self._engine, store, self._outcomes, self._asking)) as events:
                async for event in events:
                    self._on_event(event)
                    self._line.show(self._text())
        finally:
            for unwatch in unwatches:
                unwatch()
            self._line.clear()

    def _on_event(self, event: running.RunEvent) -> None:
        match event:
            case running.MemoryProgress(document=document, memory=memory, notice=notice):
                self._pace = pace_of(memory.entries, self._pace)
                if memory.complete:
                    self._read.add(document.id)
                    memory_figures.save(self._outcomes.path.parent, memory_figures.figures_of(document, memory))
                if notice:
                    self._line.say(f"Note: {notice}")
                self._update_estimate()
                self._text = lambda: f"{document.id} · {reading_line(memory, self._engine.state, self._left_s)}"
            case running.ArtifactBuilt(reader=reader, artifact=artifact, done=done, total=total):
                self._text = lambda: f"{self._bar()} · {reader}: {artifact}, {done} of {total}"
            case running.QuestionStarted(document=document, reader=reader, question=question):
                if document.id not in self._announced:
                    self._announced.add(document.id)
                    documents = [one.id for one in self._plan.documents]
                    self._line.say(
                        f"{documents.index(document.id) + 1} of {len(documents)}: {document.id}{self._left()}"
                    )
                mean = self._mean(reader)
                self._text = lambda: f"{self._bar()} · {reader} · {mean}{question.text}"
            case running.QuestionMeasured(asked=asked):
                self._update_estimate()
                if not asked.outcome.ended:
                    outcome = asked.outcome
                    self._line.say(f"   {outcome.reader}, {outcome.question}: failed. {outcome.error}")

    def _update_estimate(self) -> None:
        known = self._outcomes.known
        self._done = self._plan.questions - sum(len(todo.questions) for todo in self._plan.todo(known))
        self._left_s = seconds_left(
            self._plan, known, self._read, self._pace, running.question_limit(self._plan, self._asking).capacity
        )

    def _bar(self) -> str:
        done, all_questions = self._done, self._plan.questions
        return f"{progress_bar(done / max(1, all_questions))}  {done} of {all_questions}{self._left()}"

    def _left(self) -> str:
        return f" · {format_duration(self._left_s)} left" if self._left_s else ""

    def _mean(self, reader: str) -> str:
        """The reader's mean so far in its first metric, such as `f1 62 · `."""
        scores = [dict(asked.outcome.scores) for asked in by_reader(self._outcomes.known.values()).get(reader, ())]
        for name in self._plan.task.metrics:
            values = [score[name] for score in scores if name in score]
            if values:
                return f"{name} {fmean(values):.0f} · "
        return ""
