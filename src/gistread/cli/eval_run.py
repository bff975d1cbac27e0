"""`gistread eval TASK`: a run from what was typed to the table, with its progress on standard error."""

import argparse
import asyncio
import shlex
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from gistread.cli.embedding import chosen_embedding_model, embedder_of
from gistread.cli.eval_report import opened, show
from gistread.cli.interrupt import InterruptError, run_until_interrupted
from gistread.cli.loading import chosen_model, loaded
from gistread.cli.opening import settings
from gistread.cli.progress import ProgressLine, bar, duration, reading_line
from gistread.config import Config
from gistread.engine.models import resolve_model
from gistread.engine.protocol import Engine, EngineInfo
from gistread.errors import ExitStatus, UsageError
from gistread.evaluation import overlap, texts
from gistread.evaluation.judging import rate_all
from gistread.evaluation.model import Task, TaskOptions
from gistread.evaluation.outcomes import FILE_NAME, OutcomeFile, by_reader, read_outcomes
from gistread.evaluation.remaining import seconds_left
from gistread.evaluation.running import Begun, Manner, Measured, MemoryGrown, MemoryPrepared, Plan, run
from gistread.evaluation.sampling import sample
from gistread.evaluation.settings import RunSettings, all_prompts, data_hash, settle
from gistread.evaluation.tasks.registry import TASKS
from gistread.memory.aim import task_of
from gistread.memory.estimate import Pace, expected_pace, pace_of
from gistread.memory.model import DEFAULT_READING, PageSize, Pauses, Reading
from gistread.memory.sizes import PRESETS
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from gistread.presets import preset_named
from gistread.readers.options import ReaderOptions

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
    embedding_model = chosen_embedding_model(arguments, config, arguments.readers)
    judge = resolve_model(arguments.judge) if arguments.judge else None
    folder = arguments.out or Path(f"eval-{task.name}")
    run_until_interrupted(_run(arguments, config, task, model, embedding_model, judge, folder))
    show([opened(folder)], arguments.baseline, as_json=arguments.json)
    return ExitStatus.DONE


async def _run(
    arguments: argparse.Namespace,
    config: Config,
    task: Task,
    model: Path,
    embedding_model: Path | None,
    judge: Path | None,
    folder: Path,
) -> None:
    with ProgressLine() as line:
        line.show(f"reading {arguments.data}")
        plan = await asyncio.to_thread(_plan, arguments, config, task)
        try:
            async with loaded(model, config, line) as engine, embedder_of(embedding_model, line) as embedder:
                plan = replace(plan, options=replace(plan.options, embedder=embedder))
                settle(folder, _settings(arguments, plan, engine.info, await asyncio.to_thread(_data, arguments)))
                store = MemoryStore(arguments.memories or folder / _MEMORIES)
                with OutcomeFile(folder / FILE_NAME) as outcomes:
                    await _Telling(plan, engine, outcomes, line).follow(store)
                if judge == model:
                    await _rate(folder, engine, line)
            if judge is not None and judge != model:
                async with loaded(judge, config, line) as engine:
                    await _rate(folder, engine, line)
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
        manner=Manner(
            reading=Reading(config.reading or DEFAULT_READING),
            pauses=Pauses(arguments.pages),
            guarded=not arguments.no_guard,
            size=_page_size(arguments.page_size, Pauses(arguments.pages)),
            preset=preset_named(arguments.preset, default_paths().user_presets) if arguments.preset else None,
            task=task_of(arguments.gist_task) if arguments.gist_task else "",
        ),
        timeout_s=arguments.timeout,
        retry=arguments.retry,
    )


def _page_size(typed: str, pauses: Pauses) -> PageSize | None:
    """What `--page-size` means: a preset, the most words, or the fewest and the most. Raises UsageError."""
    if not typed:
        return None
    if typed in PRESETS:
        return PRESETS[typed]
    words = [int(part) if part.isdecimal() else 0 for part in typed.split("-")]
    match words:
        case [most] if most >= 2 and pauses is Pauses.UNIFORM:
            return PageSize(most, most)
        case [most] if most >= 2:  # Table 6: the fewest in proportion.
            return PageSize(max(1, most * PRESETS["quality"].min_words // PRESETS["quality"].max_words), most)
        case [fewest, most] if 1 <= fewest <= most >= 2:
            return PageSize(fewest, most)
    raise UsageError(
        f"--page-size {typed} is no page size.",
        f"Give one of {', '.join(PRESETS)}, the most words of a page as 600, or the fewest and the most as 280-600.",
    )


def _data(arguments: argparse.Namespace) -> str:
    hashes = [data_hash(path) for path in (arguments.data, arguments.haystack) if path is not None]
    return "+".join(filter(None, (*hashes, arguments.split)))


def _settings(arguments: argparse.Namespace, plan: Plan, info: EngineInfo, data: str) -> RunSettings:
    size = plan.manner.size
    return RunSettings(
        task=plan.task.name,
        data=data,
        model=info.name,
        fingerprint=info.fingerprint,
        context_tokens=info.context_tokens,
        seed=arguments.seed,
        limit=arguments.limit,
        documents=arguments.documents,
        budget_tokens=arguments.budget_tokens,
        max_pages=plan.options.max_pages,
        reading=plan.manner.reading.value,
        pages=plan.manner.pauses.value,
        page_size=f"{size.min_words}-{size.max_words}" if size else "",
        guard=plan.manner.guarded,
        preset=plan.manner.preset.name if plan.manner.preset else "",
        gist_task=plan.manner.task,
        lengths=list(arguments.lengths or ()),
        depths=list(arguments.depths or ()),
        needles=arguments.needles or 0,
        prompts=all_prompts(),
    )


@dataclass
class _Telling:
    """A run on the screen: what it is at, how far it is, and what the figures are so far."""

    plan: Plan
    engine: Engine
    outcomes: OutcomeFile
    line: ProgressLine
    _read: set[str] = field(default_factory=set)
    """Documents whose memory is there."""
    _pace: Pace = field(default_factory=Pace)

    async def follow(self, store: MemoryStore) -> None:
        plan, line = self.plan, self.line
        self._pace = expected_pace(self.engine.info, plan.manner.reading)
        there = self._answers()
        line.say(
            f"{plan.task.name}: {_counted(sum(len(d.questions) for d in plan.documents), 'question')} about "
            f"{_counted(len(plan.documents), 'text')}, asked of {', '.join(plan.readers)}"
            + (f"; {there} of {plan.questions} answers are there." if there else ".")
        )
        if left := self._left():
            line.say(
                f"About {left} with {self.engine.info.name} on this machine. Ctrl+C stops; the same command goes on."
            )
        document = ""
        async with aclosing(run(plan, self.engine, store, self.outcomes)) as events:
            async for event in events:
                match event:
                    case MemoryGrown(document=text, memory=memory, notice=notice):
                        self._pace = pace_of(memory, self._pace)
                        if memory.complete:
                            self._read.add(text.id)
                            texts.keep(self.outcomes.path.parent, texts.figures_of(text, memory))
                        if notice:
                            line.say(f"Note: {notice}")
                        line.show(f"reading {text.id} · {reading_line(memory, self.engine.state, self._left_s())}")
                    case MemoryPrepared(reader=reader, need=need, done=done, total=total):
                        line.show(f"{self._bar()} · {reader}: {need}, {done} of {total}")
                    case Begun(document=text, reader=reader, question=question):
                        if text.id != document:
                            document = text.id
                            self._tell_document(document)
                        line.show(f"{self._bar()} · {reader} · {self._figure(reader)}{question.text}")
                    case Measured(asked=asked) if not asked.outcome.ended:
                        outcome = asked.outcome
                        line.say(f"   {outcome.reader}, {outcome.question}: did not end. {outcome.error}")

    def _tell_document(self, document: str) -> None:
        """A lasting line a document: what a log keeps of the way."""
        number = [one.id for one in self.plan.documents].index(document) + 1
        left = self._left()
        self.line.say(f"{number} of {len(self.plan.documents)}: {document}" + (f" · {left} left" if left else ""))

    def _answers(self) -> int:
        """Of this plan, those that are there."""
        return self.plan.questions - sum(len(todo.questions) for todo in self.plan.todo(self.outcomes.known))

    def _bar(self) -> str:
        done, total = self._answers(), self.plan.questions
        left = self._left()
        return f"{bar(done / max(1, total))}  {done} of {total}" + (f" · {left} left" if left else "")

    def _left(self) -> str:
        seconds = self._left_s()
        return duration(seconds) if seconds else ""

    def _left_s(self) -> float | None:
        return seconds_left(self.plan, self.outcomes.known, self._read, self._pace)

    def _figure(self, reader: str) -> str:
        """This reader's mean so far, of the first metric that it has."""
        scores = [dict(asked.outcome.scores) for asked in by_reader(self.outcomes.known.values()).get(reader, ())]
        for name in self.plan.task.metrics:
            values = [score[name] for score in scores if name in score]
            if values:
                return f"{name} {fmean(values):.0f} · "
        return ""


async def _rate(folder: Path, judge: Engine, line: ProgressLine) -> None:
    """Let the judge rate what it has not rated."""
    answers = list(read_outcomes(folder / FILE_NAME).values())
    async with aclosing(rate_all(folder, answers, judge)) as rating:
        async for done, total in rating:
            line.show(f"{bar(done / max(1, total))}  {judge.info.name} has judged {done} of {total} answers")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
