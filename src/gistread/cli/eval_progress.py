"""A run on the screen: what it is at, how far it is, how long it will take, and what the figures are so far.

One line that is drawn anew, and lasting ones for a log: a text that is begun, a question that did not end.
"""

from collections.abc import Callable
from contextlib import aclosing
from statistics import fmean

from gistread.cli.progress import ProgressLine, at_work, bar, counted, reading_line
from gistread.engine.protocol import Engine
from gistread.evaluation import memory_figures
from gistread.evaluation.model import Document
from gistread.evaluation.outcomes import OutcomeFile, by_reader
from gistread.evaluation.remaining import seconds_left
from gistread.evaluation.running import (
    ArtifactBuilt,
    MemoryProgress,
    Plan,
    QuestionMeasured,
    QuestionStarted,
    RunEvent,
    places_for,
    run,
)
from gistread.memory.estimate import expected_pace, pace_of
from gistread.memory.store import MemoryStore
from gistread.units import format_duration


class RunProgress:
    """Follows one run to its end."""

    def __init__(self, plan: Plan, engine: Engine, asking: Engine, outcomes: OutcomeFile, line: ProgressLine) -> None:
        """`engine` makes memories, `asking` answers; they may be one."""
        self._plan = plan
        self._engine = engine
        self._asking = asking
        self._outcomes = outcomes
        self._line = line
        self._read: set[str] = set()
        """Documents whose memory is there."""
        self._told: set[str] = set()
        """Documents that were told of."""
        self._now: Callable[[], str] = lambda: ""
        """What the line says at this moment."""
        self._pace = expected_pace(engine.info, plan.config.method.mode)
        self._measured()

    async def follow(self, store: MemoryStore) -> None:
        """Run, and tell of it. Raises as `run`."""
        self._tell_beginning()
        unwatches = [one.watch(lambda _: self._line.show(self._now())) for one in (self._engine, self._asking)]
        try:
            async with aclosing(run(self._plan, self._engine, store, self._outcomes, self._asking)) as events:
                async for event in events:
                    self._take(event)
                    self._line.show(self._now())
        finally:
            for unwatch in unwatches:
                unwatch()
            self._line.clear()

    def _take(self, event: RunEvent) -> None:
        match event:
            case MemoryProgress(document=document, memory=memory, notice=notice):
                self._pace = pace_of(memory, self._pace)
                if memory.complete:
                    self._read.add(document.id)
                    memory_figures.save(self._outcomes.path.parent, memory_figures.figures_of(document, memory))
                if notice:
                    self._line.say(f"Note: {notice}")
                self._measured()
                self._now = lambda: f"{document.id} · {reading_line(memory, self._engine.state, self._left_s)}"
            case ArtifactBuilt(reader=reader, artifact=artifact, done=done, total=total):
                self._now = lambda: f"{self._bar()} · {reader}: {artifact}, {done} of {total}"
            case QuestionStarted(document=document, reader=reader, question=question):
                if document.id not in self._told:
                    self._told.add(document.id)
                    self._tell_document(document)
                figure = self._figure(reader)
                self._now = lambda: f"{self._bar()} · {reader} · {figure}{question.text}"
            case QuestionMeasured(asked=asked):
                self._measured()
                if not asked.outcome.ended:
                    outcome = asked.outcome
                    self._line.say(f"   {outcome.reader}, {outcome.question}: did not end. {outcome.error}")

    def _measured(self) -> None:
        """Reckon again what is done and what is left."""
        known = self._outcomes.known
        self._done = self._plan.questions - sum(len(todo.questions) for todo in self._plan.todo(known))
        self._left_s = seconds_left(
            self._plan, known, self._read, self._pace, places_for(self._plan, self._asking).capacity
        )

    def _tell_beginning(self) -> None:
        plan = self._plan
        questions = sum(len(document.questions) for document in plan.documents)
        self._line.say(
            f"{plan.task.name}: {counted(questions, 'question')} about {counted(len(plan.documents), 'text')}, "
            f"asked of {', '.join(plan.readers)}"
            + (f"; {self._done} of {plan.questions} answers are there." if self._done else ".")
        )
        if self._left_s:
            self._line.say(
                f"About {format_duration(self._left_s)} with {at_work(self._asking.info)}. "
                "Press Ctrl+C to stop; run the same command again to resume."
            )

    def _tell_document(self, document: Document) -> None:
        documents = [one.id for one in self._plan.documents]
        left = f" · {format_duration(self._left_s)} left" if self._left_s else ""
        self._line.say(f"{documents.index(document.id) + 1} of {len(documents)}: {document.id}{left}")

    def _bar(self) -> str:
        left = f" · {format_duration(self._left_s)} left" if self._left_s else ""
        return f"{bar(self._done / max(1, self._plan.questions))}  {self._done} of {self._plan.questions}{left}"

    def _figure(self, reader: str) -> str:
        """This reader's mean so far, of the first metric that it has."""
        scores = [dict(asked.outcome.scores) for asked in by_reader(self._outcomes.known.values()).get(reader, ())]
        for name in self._plan.task.metrics:
            values = [score[name] for score in scores if name in score]
            if values:
                return f"{name} {fmean(values):.0f} · "
        return ""
