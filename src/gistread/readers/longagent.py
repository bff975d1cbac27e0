"""LongAgent: a leader, and members who have read one chunk of the book each (sections 2.2 to 2.4).

In each round the leader asks all members one question. A member first says whether its chunk
mentions the subject at all, since untrained members answer too readily. Reports that differ
complement each other. Only if the leader says that two contradict each other, a member answers from
both of their chunks, and this answer replaces theirs. The leader then answers, or asks again a few
times.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import combinations

from gistread.engine.protocol import Prompt, Sampling
from gistread.errors import PromptTooLongError
from gistread.memory.derived import as_finished
from gistread.memory.passages import Span, join, render
from gistread.readers import answering, events
from gistread.readers.absence import says_not_found
from gistread.readers.answering import REPEAT_PENALTY, words_of
from gistread.readers.book_text import chunks_to_read, setting_of
from gistread.readers.evidence import statement_spans, telling_passage
from gistread.readers.thread import without_options
from gistread.words import count_words

NAME = "longagent"

ROUNDS = 3  # Most questions from the leader to the members
CONFLICTS = 8  # Most pairs of chunks read together in one round
_COMPARED = 6  # Most different reports that are compared at once
_REPORT_TOKENS = 96  # Longest report
_NOTHING = "(No part tells anything about it.)"
_NONE = "none"
MAX_CHUNK_TOKENS = 2000  # Section 2.1: 1,024 or 2,048
_TASK_TOKENS = 240  # Upper bound for the longest prompt and the chat template
# Upper bound for a usual question, so that all such questions share the same chunks
_QUESTION_TOKENS = 96


@dataclass(frozen=True, slots=True)
class _Report:
    # Indices of the member's chunk, or of two that were read together
    chunks: tuple[int, ...]
    answer: str  # Empty if the chunks have none

    @property
    def parts(self) -> str:
        numbers = " and ".join(str(chunk + 1) for chunk in self.chunks)
        return f"Parts {numbers}" if len(self.chunks) > 1 else f"Part {numbers}"


@dataclass(slots=True)
class _Team(answering.Asking):
    chunk_tokens: int = 0  # Longest chunk
    chunks: list[Span] = field(default_factory=list)
    max_reports: int = 0  # Reports of one round that fit the leader's window
    # Each question to the members, with the reports kept.
    history: list[tuple[str, list[_Report]]] = field(default_factory=list)

    def text(self, *chunks: int) -> str:
        return render(
            join((self.chunks[chunk] for chunk in chunks), self.memory.book),
            self.memory.book,
        )

    def findings(self) -> str:
        lines = []
        for question, reports in self.history:
            lines.append(f"Asked: {without_options(question)}")
            lines += [f"{report.parts}: {report.answer}" for report in reports] or [
                _NOTHING
            ]
        return "\n".join(lines)

    async def member(self, task: str, question: str, *chunks: int) -> Prompt:
        """A member's prompt for a task; it tells the setting of a single chunk."""
        where = ""
        if len(chunks) == 1:
            where = await asyncio.to_thread(
                setting_of, self.memory, self.chunks[chunks[0]]
            )
        wording = self.engine.info.wording
        return answering.user_prompt(
            task, wording, text=self.text(*chunks), where=where, question=question
        )

    def leader(self, task: str) -> Prompt:
        return answering.user_prompt(
            task, findings=self.findings(), question=self.question
        )


async def longagent(asking: answering.Asking) -> events.ReaderEvents:
    """Answer from the whole book, chunk by chunk."""
    team = _Team.of(asking)
    memory = asking.memory
    engine = asking.engine
    answer_tokens = max(_REPORT_TOKENS, team.answer_tokens)
    window, question_tokens = (
        engine.info.context_tokens,
        await engine.count(team.question),
    )
    # Two chunks fit the window with a question.
    room = (
        window - answer_tokens - _TASK_TOKENS - max(_QUESTION_TOKENS, question_tokens)
    ) // 2
    if room < _TASK_TOKENS:
        raise PromptTooLongError(
            window - answer_tokens - 2 * room + 2 * _TASK_TOKENS, answer_tokens, window
        )
    team.chunk_tokens = min(MAX_CHUNK_TOKENS, room)
    team.max_reports = max(
        2,
        (window - answer_tokens - _TASK_TOKENS - question_tokens)
        // (ROUNDS * _REPORT_TOKENS),
    )
    team.chunks = await chunks_to_read(team, team.chunk_tokens)
    yield events.Started(
        NAME,
        len(memory.read_entries),
        memory.estimated_pages,
        memory.complete,
        share_shown=1.0,
    )
    yield events.TeamFormed(tuple(team.chunks))

    question = team.question
    reason = events.StopReason.LIMIT
    for round_number in range(1, ROUNDS + 1):
        yield events.MembersAsked(round_number, question)
        reports: list[_Report] = []
        async with aclosing(
            _ask_members(team, question, from_end=round_number % 2 == 0)
        ) as members:
            async for report in members:
                yield events.Reported(
                    report.chunks[0] + 1, report.answer, *team.chunks[report.chunks[0]]
                )
                if report.answer:
                    reports.append(report)
        async for settled in _resolve(team, question, reports):
            yield settled
        team.history.append((question, _shortlist(reports, team.max_reports)))
        if team.steering.stop:
            reason = events.StopReason.PERSON
            break
        if round_number == ROUNDS:
            break
        question = await _next_question(team)
        if not question:
            reason = events.StopReason.ENOUGH
            break
    yield events.Stopped(reason)
    async for event in _answer(team):
        yield event


async def _ask_members(
    team: _Team, question: str, *, from_end: bool
) -> AsyncGenerator[_Report, None]:
    """Yield the members' reports as they finish.

    Only as many members run at once as fit one window together, so that the prompt of a member's
    first choice is still cached for its second prompt; on a server each has its own window.
    `from_end` reverses the order: the latest chunks may still be cached.
    """
    info = team.engine.info
    in_window = info.context_tokens // (
        team.chunk_tokens + _TASK_TOKENS + answering.SHORT_TOKENS
    )
    at_once = info.parallel
    if not info.is_remote:
        at_once = max(1, min(in_window, at_once))
    limit = asyncio.Semaphore(at_once)

    async def member(chunk: int) -> _Report | None:
        async with limit:
            if team.steering.stop:
                return None
            prompt = await team.member("member_mention", question, chunk)
            if await team.choose(prompt, ["yes", "no"], 0) != 0:
                return _Report((chunk,), "")
            return _Report((chunk,), await _answer_from(team, question, chunk))

    order = sorted(range(len(team.chunks)), reverse=from_end)
    tasks = [asyncio.create_task(member(chunk)) for chunk in order]
    async with aclosing(as_finished(tasks)) as reports:
        async for report in reports:
            if report is not None:
                yield report


async def _answer_from(team: _Team, question: str, *chunks: int) -> str:
    prompt = await team.member("member_answer", question, *chunks)
    sampling = Sampling(_REPORT_TOKENS, repeat_penalty=REPEAT_PENALTY, stop=("\n",))
    report = await team.complete(prompt, sampling)
    answer = " ".join(report.split()).strip(" .\"'“”")
    if says_not_found(answer):
        return ""
    return answer


async def _resolve(
    team: _Team, question: str, reports: list[_Report]
) -> events.ReaderEvents:
    """Read the chunks of two reports together while two contradict each other (section 2.3)."""
    groups = _groups_of(reports)
    for group in groups:
        yield _agreement([reports[at] for at in group])
    for _ in range(CONFLICTS):
        if len(groups) < 2 or team.steering.stop:
            return
        pair = await _conflict(
            team, question, [reports[group[0]] for group in groups[:_COMPARED]]
        )
        if pair is None:
            return
        larger, smaller = groups[pair[0]], groups[pair[1]]
        first, second = reports[larger[0]], reports[smaller[0]]
        together = await _read_together(team, question, first, second)
        kept = together or first  # Without an answer from both, the larger group stays.
        members = first.chunks[0] + 1, second.chunks[0] + 1
        yield events.Shared(members, kept.chunks[0] + 1, kept.answer)
        settled = {*larger, *smaller} if together else {*smaller}
        reports[:] = [report for at, report in enumerate(reports) if at not in settled]
        if together:
            reports.append(together)
        groups = _groups_of(reports)


def _groups_of(reports: Sequence[_Report]) -> list[list[int]]:
    return group_answers([report.answer for report in reports])


async def _read_together(
    team: _Team, question: str, first: _Report, second: _Report
) -> _Report | None:
    """The report of one member on the chunks of two; None if it has no answer."""
    chunks = tuple(dict.fromkeys((*first.chunks[:1], *second.chunks[:1])))
    answer = await _answer_from(team, question, *chunks)
    if not answer:
        return None
    return _Report(chunks, answer)


def _agreement(reports: Sequence[_Report]) -> events.Agreed:
    members = sorted(chunk + 1 for report in reports for chunk in report.chunks)
    return events.Agreed(reports[0].answer, tuple(members))


async def _conflict(
    team: _Team, question: str, reports: list[_Report]
) -> tuple[int, int] | None:
    """The positions of two reports that the leader finds to contradict each other."""
    pairs = list(combinations(range(len(reports)), 2))
    listed = "\n".join(
        f"{number}. {report.answer}" for number, report in enumerate(reports, start=1)
    )
    prompt = answering.user_prompt(
        "leader_conflict", reports=listed, question=without_options(question)
    )
    named_pairs = [f"{first + 1} and {second + 1}" for first, second in pairs]
    index = await team.choose(prompt, [*named_pairs, _NONE], len(pairs))
    if index >= len(pairs):
        return None
    return pairs[index]


def _shortlist(reports: list[_Report], most: int) -> list[_Report]:
    """The reports of the largest groups, in the order of their chunks."""
    ordered = [reports[at] for group in _groups_of(reports) for at in group]
    return sorted(ordered[:most], key=lambda report: report.chunks)


async def _next_question(team: _Team) -> str:
    if await team.choose(team.leader("leader_decide"), ["ANSWER", "ASK"], 0) == 0:
        return ""
    sampling = Sampling(
        answering.SHORT_TOKENS, repeat_penalty=REPEAT_PENALTY, stop=("\n",)
    )
    reply = await team.complete(team.leader("leader_ask"), sampling)
    question = " ".join(reply.split()).strip('"“” ')
    is_known = any(agree(question, earlier) for earlier, _ in team.history)
    if is_known or says_not_found(question):
        return ""
    return question


def _answer(team: _Team) -> events.ReaderEvents:
    reports = [report for _, of_round in team.history for report in of_round]
    places = {
        chunk + 1: team.chunks[chunk] for report in reports for chunk in report.chunks
    }
    seen = tuple(join(places.values(), team.memory.book))
    question = without_options(team.question)
    for number, place in places.items():
        answers = [report.answer for report in reports if number - 1 in report.chunks]
        if len(answers) == 1 and len(statement_spans(answers[0])) == 1:
            # Several statements may tell of several places.
            places[number] = telling_passage(answers[0], question, place, team.memory)
    text = team.findings() if reports else ""
    draft = events.Answered(
        found=bool(reports),
        compression_rate=team.compression_rate(count_words(text)),
        seen=seen,
    )
    prompt = team.answer_prompt("leader_answer", findings=text or _NOTHING)
    return team.answer_from(draft, text, prompt, team.to_cite(places.items()))


def agree(answer: str, other: str) -> bool:
    """Whether all words of one answer are among the other's."""
    first, second = words_of(answer), words_of(other)
    if not first or not second:
        return not first and not second
    return first <= second or second <= first


def group_answers(answers: Sequence[str]) -> list[list[int]]:
    """Positions of answers that agree, largest group first, then in order of appearance.

    >>> group_answers(["the butler", "Ferrand", "Mr. Ferrand"])
    [[1, 2], [0]]
    """
    groups: list[list[int]] = []
    for position, answer in enumerate(answers):
        home = next(
            (
                group
                for group in groups
                if all(agree(answer, answers[at]) for at in group)
            ),
            None,
        )
        if home is None:
            groups.append([position])
        else:
            home.append(position)
    return sorted(groups, key=lambda group: (-len(group), group[0]))
