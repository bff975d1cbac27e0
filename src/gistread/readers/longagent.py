"""LongAgent: a leader, and members who have read one chunk of the book each (sections 2.2 to 2.4).

In each round the leader asks all members one question. A member first says whether its chunk mentions the subject at
all, since untrained members answer too readily. If answers conflict, a member answers from a chunk of each of two
groups, and the group that is not confirmed is dropped. The leader then answers, or asks again a few times.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from gistread.book.normalise import count_words
from gistread.engine.concurrency_limit import ConcurrencyLimit
from gistread.engine.protocol import NO_USAGE, Engine, Prompt, Sampling, Usage
from gistread.memory.chunks import TASK_TOKENS, chunk_text, chunk_tokens, pinned
from gistread.memory.derived import as_finished
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, join, split_into_chunks
from gistread.readers import answering, events
from gistread.readers.agreement import agree, group_answers
from gistread.readers.choices import without_options
from gistread.readers.citations import cite_passages
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering

NAME = "longagent"

ROUNDS = 3  # Most questions from the leader to the members
CONFLICTS = 8  # Most pairs of chunks read together in one round
_NOTHING = "Nobody found anything."


@dataclass(frozen=True, slots=True)
class _Report:
    chunk: int  # Index of the member's chunk
    answer: str  # Empty if the chunk has none


@dataclass(slots=True)
class _Team:
    question: str
    memory: GistMemory
    engine: Engine
    options: ReaderOptions
    chunk_tokens: int = 0  # Longest chunk
    chunks: list[Passage] = field(default_factory=list)
    max_reports: int = 0  # Reports of one round that fit the leader's window
    usage: Usage = NO_USAGE
    # Each question to the members, with the reports kept.
    history: list[tuple[str, list[_Report]]] = field(default_factory=list)

    def text(self, *chunks: int) -> str:
        return chunk_text((self.chunks[chunk] for chunk in chunks), self.memory.book)

    def findings(self) -> str:
        lines = []
        for asked, reports in self.history:
            lines.append(f"Asked: {without_options(asked)}")
            lines += [f"Part {report.chunk + 1}: {report.answer}" for report in reports] or [_NOTHING]
        return "\n".join(lines)

    def reported(self) -> list[_Report]:
        return [report for _, found in self.history for report in found]

    def drop_report(self) -> None:
        fullest = max((found for _, found in self.history), key=len)
        fullest[:] = _shortlist(fullest, len(fullest) - 1)
        self.history[:] = [(asked, found) for asked, found in self.history if found]

    def leader(self, task: str) -> Prompt:
        return answering.user_prompt(task, findings=self.findings(), question=self.question)


async def longagent(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[events.ReaderEvent, None]:
    """Answer from the whole book, chunk by chunk. See `registry.Reader`."""
    team = _Team(question, memory, engine, options)
    answer_tokens = max(answering.SHORT_TOKENS, options.answer_tokens)
    team.chunk_tokens = chunk_tokens(engine.info.context_tokens, await engine.count(question), answer_tokens)
    team.max_reports = max(2, team.chunk_tokens // (ROUNDS * answering.SHORT_TOKENS))
    team.chunks = await split_into_chunks(memory.book, team.chunk_tokens, engine.count)
    yield events.Started(NAME, len(memory.entries), memory.estimated_pages, memory.complete, share_shown=1.0)
    yield events.TeamFormed(tuple(team.chunks))

    asked = question
    reason = events.StopReason.LIMIT
    for round_number in range(1, ROUNDS + 1):
        yield events.MembersAsked(round_number, asked)
        reports: list[_Report] = []
        async with aclosing(_ask_members(team, asked, steering, from_end=round_number % 2 == 0)) as members:
            async for report in members:
                yield events.Reported(report.chunk + 1, report.answer, *team.chunks[report.chunk])
                if report.answer:
                    reports.append(report)
        async for settled in _resolve(team, asked, reports, steering):
            yield settled
        team.history.append((asked, _shortlist(reports, team.max_reports)))
        if steering.stop:
            reason = events.StopReason.PERSON
        elif round_number < ROUNDS and (following := await _next_question(team)):
            asked = following
            continue
        elif round_number < ROUNDS:
            reason = events.StopReason.ENOUGH
        break
    yield events.Stopped(reason)
    async for event in _answer(team):
        yield event


async def _ask_members(
    team: _Team, question: str, steering: Steering, *, from_end: bool
) -> AsyncGenerator[_Report, None]:
    """Yield the members' reports as they finish.

    Only as many members run at once as fit one window together, so that the prompt of a member's first choice is still
    cached for its second prompt; on a server each has its own window. Members with pinned chunks go first, before
    others evict them. `from_end` reverses the order, for servers that still cache the latest chunks.
    """
    info = team.engine.info
    in_window = info.context_tokens // (team.chunk_tokens + TASK_TOKENS + answering.SHORT_TOKENS)
    limit = ConcurrencyLimit(team.engine, None if info.is_remote else in_window)

    async def member(chunk: int) -> _Report | None:
        async with limit:
            return None if steering.stop else await _ask(team, question, chunk)

    are_pinned = await pinned(team.chunks, team.memory.book, team.engine)
    order = sorted(range(len(team.chunks)), reverse=from_end)
    order.sort(key=lambda chunk: not are_pinned[chunk])
    tasks = [asyncio.create_task(member(chunk)) for chunk in order]
    async with aclosing(as_finished(tasks)) as reports:
        async for report in reports:
            if report is not None:
                yield report


async def _ask(team: _Team, question: str, chunk: int) -> _Report:
    mentions = await team.engine.choose(
        answering.user_prompt("member_mention", text=team.text(chunk), question=question), ["yes", "no"]
    )
    team.usage += mentions.usage
    if mentions.index == 1:
        return _Report(chunk, "")
    return _Report(chunk, await _short_answer(team, question, chunk))


async def _short_answer(team: _Team, question: str, *chunks: int) -> str:
    prompt = answering.user_prompt("member_answer", text=team.text(*chunks), question=question)
    answer, usage = await answering.short_answer(prompt, team.engine)
    team.usage += usage
    return answer


async def _resolve(
    team: _Team, question: str, reports: list[_Report], steering: Steering
) -> AsyncGenerator[events.Agreed | events.Shared, None]:
    """Let two members who disagree read both chunks, until all remaining answers agree (section 2.3)."""
    for attempt in range(CONFLICTS):
        groups = group_answers([report.answer for report in reports])
        if not attempt:
            for group in groups:
                yield events.Agreed(
                    reports[group[0]].answer, tuple(sorted(reports[index].chunk + 1 for index in group))
                )
        if len(groups) < 2 or steering.stop:
            return
        first, second = reports[groups[0][0]], reports[groups[1][0]]
        answer = await _short_answer(team, question, first.chunk, second.chunk)
        # If the answer confirms neither group, the majority stays.
        dropped = (
            groups[0] if answer and agree(answer, second.answer) and not agree(answer, first.answer) else groups[1]
        )
        kept = first if dropped is groups[1] else second
        yield events.Shared((first.chunk + 1, second.chunk + 1), kept.chunk + 1, kept.answer)
        reports[:] = [report for position, report in enumerate(reports) if position not in dropped]


def _shortlist(reports: list[_Report], most: int) -> list[_Report]:
    order = [position for group in group_answers([report.answer for report in reports]) for position in group]
    return sorted((reports[position] for position in order[:most]), key=lambda report: report.chunk)


async def _next_question(team: _Team) -> str:
    decision = await team.engine.choose(team.leader("leader_decide"), ["ANSWER", "ASK"])
    team.usage += decision.usage
    if decision.index == 0:
        return ""
    said = await team.engine.complete(
        team.leader("leader_ask"), Sampling(answering.SHORT_TOKENS, repeat_penalty=1.1, stop=("\n",))
    )
    team.usage += said.usage
    question = " ".join(said.text.split()).strip('"“” ')
    known = any(agree(question, asked) for asked, _ in team.history)
    return "" if not question or known or answering.says_not_found(question) else question


async def _answer(team: _Team) -> AsyncGenerator[events.ReaderEvent, None]:
    engine, options, book = team.engine, team.options, team.memory.book
    while team.reported() and 0 < options.budget_tokens < await engine.count(team.findings()):
        team.drop_report()
    reports = team.reported()
    places = [team.chunks[chunk] for chunk in sorted({report.chunk for report in reports})]
    text = team.findings() if reports else ""
    context = answering.AnswerContext(
        text,
        answering.compression_rate(count_words(text), book),
        cite=lambda said, question: cite_passages(said, question, team.memory, places),
        seen=tuple(join(places, book)),
        usage=team.usage,
        has_evidence=bool(reports),
    )
    prompt = answering.answer_prompt("leader_answer", options, findings=text or _NOTHING, question=team.question)
    async for event in answering.answer_from(context, prompt, team.question, engine, options):
        yield event
