"""LongAgent: a leader, and members that have read one part of the book each (sections 2.2 to 2.4).

In each round all members are asked the same question at once: first whether their part tells anything of it, since
members that are not trained for this answer too readily; those who say no drop out. Different answers are a conflict:
one member of each of two groups reads both parts, and the group that is not confirmed is dropped. The leader then
answers from what is left, or asks the members something else first, a few times at most and never the same again.

Members run side by side, as many as the engine does well. It needs no gist memory. That their parts are read can be
seen to before (`memory/chunks.py`).
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from gistread import prompts
from gistread.book.normalise import count_words
from gistread.engine.concurrency_limit import ConcurrencyLimit
from gistread.engine.protocol import NO_USAGE, Engine, Message, Prompt, Sampling, Usage
from gistread.memory.chunks import TASK_TOKENS, chunk_text, chunk_tokens, pinned
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, join, split_into_chunks
from gistread.readers.agreement import agree, clusters
from gistread.readers.answering import (
    SHORT_TOKENS,
    AnswerContext,
    answer_from,
    answer_prompt,
    says_not_found,
    short_answer,
)
from gistread.readers.choices import without_options
from gistread.readers.citations import cite_passages
from gistread.readers.events import (
    Agreed,
    MembersAsked,
    ReaderEvent,
    Reported,
    Shared,
    Started,
    Steering,
    Stopped,
    StopReason,
    TeamFormed,
)
from gistread.readers.options import ReaderOptions

NAME = "longagent"

ROUNDS = 3
"""Questions that the leader may put to the members."""
CONFLICTS = 8
"""Pairs of parts that are read together in one round."""
_NOTHING = "Nobody found anything."


@dataclass(frozen=True, slots=True)
class _Report:
    part: int
    """Index of the member's part."""
    answer: str
    """Empty when its part tells nothing."""


@dataclass(slots=True)
class _Team:
    question: str
    memory: GistMemory
    engine: Engine
    options: ReaderOptions
    part_tokens: int = 0
    """Of a member's part, at most."""
    parts: list[Passage] = field(default_factory=list)
    most_reports: int = 0
    """That the leader can look at, of one round."""
    usage: Usage = NO_USAGE
    history: list[tuple[str, list[_Report]]] = field(default_factory=list)
    """Each question that was put to the members, and what is left of their reports."""

    def text(self, *parts: int) -> str:
        return chunk_text((self.parts[part] for part in parts), self.memory.book)

    def findings(self) -> str:
        lines = []
        for asked, reports in self.history:
            lines.append(f"Asked: {without_options(asked)}")
            lines += [f"Part {report.part + 1}: {report.answer}" for report in reports] or [_NOTHING]
        return "\n".join(lines)

    def reported(self) -> list[_Report]:
        return [report for _, found in self.history for report in found]

    def forget(self) -> None:
        """Leave out a report that fewest agree on, of the question with the most; and a question without any."""
        fullest = max((found for _, found in self.history), key=len)
        fullest[:] = _shortlist(fullest, len(fullest) - 1)
        self.history[:] = [(asked, found) for asked, found in self.history if found]

    def leader(self, task: str) -> Prompt:
        return _prompt(task, findings=self.findings(), question=self.question)


async def longagent(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` from the whole book, part by part. See `registry.Reader`."""
    team = _Team(question, memory, engine, options)
    answer_tokens = max(SHORT_TOKENS, options.answer_tokens)
    team.part_tokens = chunk_tokens(engine.info.context_tokens, await engine.count(question), answer_tokens)
    team.most_reports = max(2, team.part_tokens // (ROUNDS * SHORT_TOKENS))
    team.parts = await split_into_chunks(memory.book, team.part_tokens, engine.count)
    yield Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete, share_shown=1.0)
    yield TeamFormed(tuple(team.parts))

    asked = question
    reason = StopReason.LIMIT
    for round_number in range(1, ROUNDS + 1):
        yield MembersAsked(round_number, asked)
        reports: list[_Report] = []
        async with aclosing(_ask_members(team, asked, steering, from_end=round_number % 2 == 0)) as members:
            async for report in members:
                yield Reported(report.part + 1, report.answer, *team.parts[report.part])
                if report.answer:
                    reports.append(report)
        async for settled in _resolve(team, asked, reports, steering):
            yield settled
        team.history.append((asked, _shortlist(reports, team.most_reports)))
        if steering.stop:
            reason = StopReason.PERSON
        elif round_number < ROUNDS and (following := await _next_question(team)):
            asked = following
            continue
        elif round_number < ROUNDS:
            reason = StopReason.ENOUGH
        break
    yield Stopped(reason)
    async for event in _answer(team):
        yield event


async def _ask_members(
    team: _Team, question: str, steering: Steering, *, from_end: bool
) -> AsyncGenerator[_Report, None]:
    """What the members have to say to a question, as they are ready.

    At once are no more than fit one window together: only then does what a member is asked second surely begin with
    what was evaluated for its first. On a server each has a window of its own. Members whose parts the engine holds
    begin, so that those which it must read again do not drop them before. `from_end`: the last member begins. A server
    that does not say what it has kept has that of the members asked last.
    """
    info = team.engine.info
    in_window = info.context_tokens // (team.part_tokens + TASK_TOKENS + SHORT_TOKENS)
    places = ConcurrencyLimit(team.engine, None if info.is_remote else in_window)

    async def member(part: int) -> _Report | None:
        async with places:
            return None if steering.stop else await _ask(team, question, part)

    there = await pinned(team.parts, team.memory.book, team.engine)
    order = sorted(range(len(team.parts)), reverse=from_end)
    order.sort(key=lambda part: not there[part])
    tasks = [asyncio.create_task(member(part)) for part in order]
    try:
        for ready in asyncio.as_completed(tasks):
            if (report := await ready) is not None:
                yield report
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(team: _Team, question: str, part: int) -> _Report:
    """One member's report."""
    mentioned = await team.engine.choose(
        _prompt("member_mention", text=team.text(part), question=question), ["yes", "no"]
    )
    team.usage += mentioned.usage
    if mentioned.index == 1:
        return _Report(part, "")
    return _Report(part, await _short_answer(team, question, part))


async def _short_answer(team: _Team, question: str, *parts: int) -> str:
    """What these parts together tell; empty when they do not."""
    prompt = _prompt("member_answer", text=team.text(*parts), question=question)
    answer, usage = await short_answer(prompt, team.engine)
    team.usage += usage
    return answer


async def _resolve(
    team: _Team, question: str, reports: list[_Report], steering: Steering
) -> AsyncGenerator[Agreed | Shared, None]:
    """Let two members of different opinion read both their parts, until all that is left agrees (section 2.3)."""
    for attempt in range(CONFLICTS):
        groups = clusters([report.answer for report in reports])
        if not attempt:
            for group in groups:
                yield Agreed(reports[group[0]].answer, tuple(sorted(reports[index].part + 1 for index in group)))
        if len(groups) < 2 or steering.stop:
            return
        first, second = reports[groups[0][0]], reports[groups[1][0]]
        answer = await _short_answer(team, question, first.part, second.part)
        # An answer that confirms neither says nothing for the one that fewer believed.
        dropped = (
            groups[0] if answer and agree(answer, second.answer) and not agree(answer, first.answer) else groups[1]
        )
        kept = first if dropped is groups[1] else second
        yield Shared((first.part + 1, second.part + 1), kept.part + 1, kept.answer)
        reports[:] = [report for position, report in enumerate(reports) if position not in dropped]


def _shortlist(reports: list[_Report], most: int) -> list[_Report]:
    """As many reports as the leader's window takes, those that most members agree on first; by part."""
    order = [position for group in clusters([report.answer for report in reports]) for position in group]
    return sorted((reports[position] for position in order[:most]), key=lambda report: report.part)


async def _next_question(team: _Team) -> str:
    """What the leader asks the members next; empty when it can answer, or has nothing new to ask."""
    decision = await team.engine.choose(team.leader("leader_decide"), ["ANSWER", "ASK"])
    team.usage += decision.usage
    if decision.index == 0:
        return ""
    said = await team.engine.complete(
        team.leader("leader_ask"), Sampling(SHORT_TOKENS, repeat_penalty=1.1, stop=("\n",))
    )
    team.usage += said.usage
    question = " ".join(said.text.split()).strip('"“” ')
    known = any(agree(question, asked) for asked, _ in team.history)
    return "" if not question or known or says_not_found(question) else question


async def _answer(team: _Team) -> AsyncGenerator[ReaderEvent, None]:
    engine, options, book = team.engine, team.options, team.memory.book
    while team.reported() and 0 < options.budget_tokens < await engine.count(team.findings()):
        team.forget()
    reports = team.reported()
    places = [team.parts[part] for part in sorted({report.part for report in reports})]
    text = team.findings() if reports else ""
    basis = AnswerContext(
        text,
        100.0 * (1.0 - count_words(text) / max(1, book.words)),
        cite=lambda said, question: cite_passages(said, question, team.memory, places),
        seen=tuple(join(places, book)),
        usage=team.usage,
        tells=bool(reports),
    )
    prompt = answer_prompt("leader_answer", options, findings=text or _NOTHING, question=team.question)
    async for event in answer_from(basis, prompt, team.question, engine, options):
        yield event


def _prompt(task: str, **values: object) -> Prompt:
    return (Message("user", prompts.load(task).fill(**values)),)
