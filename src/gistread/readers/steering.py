"""The user's control over a running reader: pinned and refused pages, decisions about look-ups, steps back."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from gistread.memory.passages import Span
from gistread.readers.events import Proposed, Refused

OBJECTION_S = 1.0  # Time to object to an announced look-up


class Steps(StrEnum):
    """Who decides which pages are looked up."""

    ALONE = "alone"  # The reader
    ANNOUNCE = "announce"  # The reader, unless the user objects within `OBJECTION_S`
    ASK = "ask"  # The user


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's decision about a proposal; by default it is accepted."""

    refuses: bool = False  # Refuse what is proposed, except the pages in `pages`
    pages: tuple[int, ...] = ()  # Pages to open instead or in addition
    offsets: tuple[int, ...] = ()  # Places to show instead or in addition, if `Proposed.text_end` allows it
    goes_back: bool = False  # Decide the previous step again

    @property
    def names_any(self) -> bool:
        return bool(self.pages or self.offsets)


async def objection_time() -> None:
    await asyncio.sleep(OBJECTION_S)


@dataclass(slots=True)
class Steering:
    """May change at any time; a reader applies changes between two events."""

    pinned: set[int] = field(default_factory=set)  # Pages to expand
    refused: set[int] = field(default_factory=set)  # Pages that must not be open
    stop: bool = False  # Answer now from what is open; see `answer_now`
    here: int | None = None  # Offset in the book where the user reads: pages near it are shown in more detail
    steps: Steps = Steps.ALONE
    objection: Callable[[], Awaitable[None]] = objection_time  # Waits for the time to object
    proposal: Proposed | None = None  # The proposal that waits for a decision
    decision: Decision = Decision()  # The last one
    hidden: list[Span] = field(default_factory=list)  # Places refused
    offsets: list[int] = field(default_factory=list)  # Places that the user named
    only: bool = False  # Show only what the user named
    waiting: "asyncio.Task[Any] | None" = None  # Awaits the reader's next event; cancelled to go back
    undone: tuple[Proposed, Decision] | None = None  # The step that is to be decided again
    _decided: "asyncio.Future[Decision] | None" = None
    _taken: list[tuple[Proposed, Decision]] = field(default_factory=list)  # Steps in the order of their decisions
    _repeated: list[tuple[Proposed, Decision]] = field(default_factory=list)  # Steps to take again, after going back
    _waits: bool = False  # Whether the next proposal must wait
    _one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def review(self, proposal: Proposed) -> AsyncGenerator[Proposed | Refused, None]:
        """Let the user review a look-up, depending on `steps`, and set `decision`."""
        async with self._one_by_one:
            self.decision = Decision()
            pages = set(proposal.pages)
            decided = bool(pages) and not proposal.places and (pages <= self.refused or pages <= self.pinned)
            if self.stop or decided:
                return
            if known := next((one for one in self._repeated if one[0] == proposal), None):
                self._repeated.remove(known)
                self.decision = known[1]
            elif self._waits or self.steps is not Steps.ALONE:
                waits = self._waits or self.steps is Steps.ASK
                self._waits = False
                self.proposal = replace(proposal, waits=waits, may_go_back=bool(self._taken))
                self._decided = asyncio.get_running_loop().create_future()
                timer = None if waits else asyncio.ensure_future(self._accept_unless_held())
                try:
                    yield self.proposal
                    self.decision = await self._decided
                finally:
                    self.proposal = self._decided = None
                    if timer is not None:
                        timer.cancel()
            if self.stop:
                return
            self._taken.append((proposal, self.decision))
            if self.decision.refuses:
                refused = tuple(page for page in proposal.pages if page not in self.decision.pages)
                self.refused.update(refused)
                self.hidden += proposal.places
                instead = self.new_pages(proposal)
                yield Refused(refused, instead, proposal.path, proposal.places, self.decision.offsets)
            self.pinned.update(self.new_pages(proposal))
            self.offsets += self.decision.offsets
            self.refused.difference_update(self.decision.pages)

    def new_pages(self, proposal: Proposed) -> tuple[int, ...]:
        """The pages of the last decision that had not been proposed."""
        return tuple(page for page in self.decision.pages if page not in proposal.pages)

    def decide(self, decision: Decision) -> None:
        """Decide about the proposal, if there is one."""
        if decision.goes_back:
            self.go_back()
        elif self._decided is not None and not self._decided.done():
            self.proposal = None
            self._decided.set_result(decision)

    def hold(self) -> None:
        """Let an announced look-up wait for a decision."""
        if self.proposal is not None and not self.proposal.waits:
            self.proposal = replace(self.proposal, waits=True)

    async def _accept_unless_held(self) -> None:
        await self.objection()
        if self.proposal is not None and not self.proposal.waits:
            self.decide(Decision())

    def answer_now(self) -> None:
        self.stop = True
        self.decide(Decision())

    def go_back(self) -> bool:
        """Undo the last look-up, so that it is decided again, also during the answer. Returns whether there was one."""
        if not self._taken:
            return False
        self.undone = self._taken[-1]
        for proposal, decision in self._taken:
            self.pinned.difference_update(decision.pages)
            if decision.refuses or self.undone == (proposal, decision):
                self.refused.difference_update(proposal.pages)
        self._repeated, self._taken = self._taken[:-1], []
        self.hidden, self.offsets, self.only, self.stop, self._waits = [], [], False, False, True
        if self.waiting is not None:
            self.waiting.cancel()
        return True

    def set_steps(self, steps: Steps) -> None:
        """Also applies to the current proposal."""
        self.steps = steps
        if steps is Steps.ALONE:
            self.decide(Decision())
        elif steps is Steps.ASK:
            self.hold()


def describe_choices(proposal: Proposed, length: int) -> list[str]:
    """What the user may name instead, in words, in a book of `length` characters."""
    pages = ["a section's number"] if proposal.last_page else []
    return [*pages, *([f"a place up to {proposal.text_end / max(1, length):.0%}"] if proposal.text_end else [])]


def parse_decision(text: str, proposal: Proposed | None, length: int) -> Decision | None:
    """Parse a typed decision about a book of `length` characters; None: answer now.

    Raises ValueError with a message.
    """
    match words := text.strip().lower():
        case "" | "y" | "yes":
            return Decision()
        case "n" | "no":
            return Decision(refuses=True)
        case "b" | "back":
            return Decision(goes_back=True)
        case "a" | "answer":
            return None
    last, end = (proposal.last_page, proposal.text_end) if proposal else (0, 0)
    named = words.removeprefix("+").replace(",", " ").split()
    shares = [one.removesuffix("%") for one in named if end and one.endswith("%")]
    numbers = [one for one in named if not (end and one.endswith("%"))]
    if not all(one.isdecimal() for one in [*numbers, *shares]):
        choices = ", ".join([*(describe_choices(proposal, length) if proposal else ()), "no"])
        raise ValueError(f"Enter {choices}, back or answer; Enter alone accepts.")
    if beyond := [number for number in numbers if not 0 < int(number) <= last]:
        raise ValueError(f"There is no section {beyond[0]}: the last one here is {last}.")
    offsets = tuple(length * int(share) // 100 for share in shares)
    if any(offset >= end for offset in offsets):
        raise ValueError("That is ahead of your place.")
    return Decision(refuses=not words.startswith("+"), pages=tuple(map(int, numbers)), offsets=offsets)
