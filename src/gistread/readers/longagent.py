"""LongAgent: a leader, and members who have read one chunk of the book each (sections 2.2 to 2.4).

In each round the leader asks all members one question. A member first says whether its chunk
mentions the subject at all, since untrained members answer too readily. Reports that differ
complement each other. If the leader says that two contradict each other, one member reads both
chunks, and its answer replaces the two. The leader then answers, or asks again a few times.
"""

import asyncio
from collections import defaultdict
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
    """What a member answers."""

    # Indices of the member's chunk, or of two that were read together
    chunks: tuple[int, ...]
    answer: str  # Empty if the chunks have none

    @property
    def first_member(self) -> int:
        """The number of the member of the first chunk, from 1."""
        return self.chunks[0] + 1

    @property
    def parts(self) -> str:
        noun = "Part" if len(self.chunks) == 1 else "Parts"
        numbers = " and ".join(str(chunk + 1) for chunk in self.chunks)
        return f"{noun} {numbers}"


@dataclass(slots=True)
class _Team(answering.Asking):
    """A question with the members' chunks and what they reported."""

    chunk_tokens: int = 0  # Longest chunk
    chunks: list[Span] = field(default_factory=list)
    # Reports of one round, so that those of all rounds fit the leader's window
    max_reports: int = 0
    # Each question to the members, with the reports shown to the leader
    history: list[tuple[str, list[_Report]]] = field(default_factory=list)

    def text(self, *chunks: int) -> str:
        book = self.memory.book
        places = join((self.chunks[chunk] for chunk in chunks), book)
        return render(places, book)

    def findings(self) -> str:
        """All questions to the members and what they reported, for the leader."""
        lines: list[str] = []
        for question, reports in self.history:
            lines.append(f"Asked: {without_options(question)}")
            lines += [f"{report.parts}: {report.answer}" for report in reports]
            if not reports:
                lines.append(_NOTHING)
        return "\n".join(lines)

    async def member_prompt(self, task: str, question: str, *chunks: int) -> Prompt:
        """A member's prompt for a task. For a single chunk it includes the setting."""
        where = ""
        if len(chunks) == 1:
            place = self.chunks[chunks[0]]
            where = await asyncio.to_thread(setting_of, self.memory, place)
        wording = self.engine.info.wording
        return answering.user_prompt(
            task, wording, text=self.text(*chunks), where=where, question=question
        )

    def leader_prompt(self, task: str) -> Prompt:
        return answering.user_prompt(
            task, findings=self.findings(), question=self.question
        )


async def longagent(asking: answering.Asking) -> events.ReaderEvents:
    """Answer from the whole book, chunk by chunk."""
    memory = asking.memory
    team = await _form_team(asking)
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
        is_even = round_number % 2 == 0
        asking_members = _ask_members(team, question, from_end=is_even)
        async with aclosing(asking_members) as members:
            async for report in members:
                chunk = report.chunks[0]
                start, end = team.chunks[chunk]
                yield events.Reported(chunk + 1, report.answer, start, end)
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


async def _form_team(asking: answering.Asking) -> _Team:
    """Give each member a chunk. Raises PromptTooLongError."""
    team = _Team.of(asking)
    engine = asking.engine
    answer_tokens = max(_REPORT_TOKENS, team.answer_tokens)
    window = engine.info.context_tokens
    question_tokens = await engine.count(team.question)
    room = window - answer_tokens - _TASK_TOKENS
    # Two chunks fit the window with a question.
    chunk_room = (room - max(_QUESTION_TOKENS, question_tokens)) // 2
    if chunk_room < _TASK_TOKENS:
        needed = window - answer_tokens - 2 * chunk_room + 2 * _TASK_TOKENS
        raise PromptTooLongError(needed, answer_tokens, window)
    team.chunk_tokens = min(MAX_CHUNK_TOKENS, chunk_room)
    reports_in_room = (room - question_tokens) // (ROUNDS * _REPORT_TOKENS)
    team.max_reports = max(2, reports_in_room)  # Two, to be compared
    team.chunks = await chunks_to_read(team, team.chunk_tokens)
    return team


async def _ask_members(
    team: _Team, question: str, *, from_end: bool
) -> AsyncGenerator[_Report, None]:
    """Yield the members' reports as they finish.

    Only as many members run at once as fit one window together, so that the prompt of a member's
    first choice is still cached for its second prompt; on a server each has its own window.
    `from_end` reverses the order: the latest chunks may still be cached.
    """
    info = team.engine.info
    at_once = info.parallel
    if not info.is_remote:
        member_tokens = team.chunk_tokens + _TASK_TOKENS + answering.SHORT_TOKENS
        in_window = info.context_tokens // member_tokens
        at_once = max(1, min(in_window, at_once))
    limit = asyncio.Semaphore(at_once)

    async def member(chunk: int) -> _Report | None:
        async with limit:
            if team.steering.stop:
                return None
            prompt = await team.member_prompt("member_mention", question, chunk)
            answer = ""
            mentions_subject = await team.choose(prompt, ["yes", "no"], 0) == 0
            if mentions_subject:
                answer = await _answer_from(team, question, chunk)
            return _Report((chunk,), answer)

    order = sorted(range(len(team.chunks)), reverse=from_end)
    tasks = [asyncio.create_task(member(chunk)) for chunk in order]
    async with aclosing(as_finished(tasks)) as reports:
        async for report in reports:
            if report is not None:
                yield report


async def _answer_from(team: _Team, question: str, *chunks: int) -> str:
    """A member's answer from these chunks; empty if they have none."""
    prompt = await team.member_prompt("member_answer", question, *chunks)
    sampling = Sampling(_REPORT_TOKENS, repeat_penalty=REPEAT_PENALTY, stop=("\n",))
    report = await team.complete(prompt, sampling)
    answer = " ".join(report.split()).strip(" .\"'“”")
    if says_not_found(answer):
        return ""
    return answer


async def _resolve(
    team: _Team, question: str, reports: list[_Report]
) -> events.ReaderEvents:
    """Read the chunks of two reports together while two contradict each other (section 2.3).

    Changes `reports`: the common answer replaces the reports of both groups. Without one, those of
    the larger group remain.
    """
    groups = _groups_of(reports)
    for group in groups:
        yield _agreement(group)
    for _ in range(CONFLICTS):
        if len(groups) < 2 or team.steering.stop:
            return
        compared = groups[:_COMPARED]
        pair = await _conflict(team, question, [group[0] for group in compared])
        if pair is None:
            return
        larger, smaller = (compared[index] for index in pair)
        first, second = larger[0], smaller[0]
        common = await _read_together(team, question, first, second)
        result = common or first
        members = first.first_member, second.first_member
        yield events.Shared(members, result.first_member, result.answer)
        replaced = [*larger, *smaller] if common else smaller
        for report in replaced:
            reports.remove(report)
        if common:
            reports.append(common)
        groups = _groups_of(reports)


def _groups_of(reports: Sequence[_Report]) -> list[list[_Report]]:
    """The reports in groups that agree, the largest group first."""
    groups = group_answers([report.answer for report in reports])
    return [[reports[index] for index in group] for group in groups]


async def _read_together(
    team: _Team, question: str, first: _Report, second: _Report
) -> _Report | None:
    """The report of one member on the chunks of two; None if it has no answer."""
    # A report may be on two chunks already: its first one stands for both.
    chunks = tuple(dict.fromkeys((first.chunks[0], second.chunks[0])))
    answer = await _answer_from(team, question, *chunks)
    if not answer:
        return None
    return _Report(chunks, answer)


def _agreement(reports: Sequence[_Report]) -> events.Agreed:
    """The event that tells that these reports agree."""
    members = sorted(chunk + 1 for report in reports for chunk in report.chunks)
    return events.Agreed(reports[0].answer, tuple(members))


async def _conflict(
    team: _Team, question: str, reports: list[_Report]
) -> tuple[int, int] | None:
    """The positions of two reports that the leader finds contradictory; None without any."""
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
    ordered = [report for group in _groups_of(reports) for report in group]
    return sorted(ordered[:most], key=lambda report: report.chunks)


async def _next_question(team: _Team) -> str:
    """The leader's next question; empty if it answers, or would ask the same again."""
    decision = team.leader_prompt("leader_decide")
    if await team.choose(decision, ["ANSWER", "ASK"], 0) == 0:
        return ""
    sampling = Sampling(
        answering.SHORT_TOKENS, repeat_penalty=REPEAT_PENALTY, stop=("\n",)
    )
    reply = await team.complete(team.leader_prompt("leader_ask"), sampling)
    question = " ".join(reply.split()).strip('"“” ')
    is_known = any(agree(question, earlier) for earlier, _ in team.history)
    if is_known or says_not_found(question):
        return ""
    return question


def _answer(team: _Team) -> events.ReaderEvents:
    """Answer from the reports of all rounds. They are cited by the numbers of their chunks."""
    reports = [report for _, of_round in team.history for report in of_round]
    answers: dict[int, list[str]] = defaultdict(list)  # By chunk
    for report in reports:
        for chunk in report.chunks:
            answers[chunk].append(report.answer)
    places = {chunk + 1: team.chunks[chunk] for chunk in answers}
    seen = tuple(join(places.values(), team.memory.book))
    question = without_options(team.question)
    for chunk, from_chunk in answers.items():
        note, *others = from_chunk
        # Several statements may be from several places of the chunk.
        if not others and len(statement_spans(note)) == 1:
            place = team.chunks[chunk]
            places[chunk + 1] = telling_passage(note, question, place, team.memory)
    text = team.findings() if reports else ""
    draft = events.Answered(
        found=bool(reports),
        compression_rate=team.compression_rate(count_words(text)),
        seen=seen,
    )
    prompt = team.answer_prompt("leader_answer", findings=text or _NOTHING)
    return team.answer_from(draft, text, prompt, team.to_cite(places.items()))


def agree(answer: str, other: str) -> bool:
    """Whether all words of one answer are among the other's; an empty one only equals an empty."""
    first, second = words_of(answer), words_of(other)
    if not first or not second:
        return first == second
    return first <= second or second <= first


def group_answers(answers: Sequence[str]) -> list[list[int]]:
    """Positions of answers that agree, largest group first, then in order of appearance.

    >>> group_answers(["the butler", "Ferrand", "Mr. Ferrand"])
    [[1, 2], [0]]
    """
    groups: list[list[int]] = []
    for position, answer in enumerate(answers):
        for group in groups:
            if all(agree(answer, answers[other]) for other in group):
                group.append(position)
                break
        else:
            groups.append([position])
    return sorted(groups, key=lambda group: (-len(group), group[0]))
