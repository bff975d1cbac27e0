"""The user's control over a running reader.

Pinned and refused pages, and decisions about look-ups.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, field
from enum import StrEnum

from gistread.readers.events import Proposed, Refused


class Steps(StrEnum):
    """Who decides which pages are looked up."""

    ALONE = "alone"  # The reader
    ASK = "ask"  # The user


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's decision about a proposal; by default it is accepted."""

    refuses: bool = False  # Refuse what is proposed, except the pages in `pages`
    pages: tuple[int, ...] = ()  # Pages to open instead or in addition
    refused: tuple[int, ...] = ()  # What is refused if the rest is accepted

    def refused_of(self, proposed: Collection[int]) -> tuple[int, ...]:
        """The proposed pages that are refused."""
        refused = proposed if self.refuses else self.refused
        return tuple(
            page for page in refused if page in proposed and page not in self.pages
        )


_ACCEPTED = Decision()


@dataclass(slots=True)
class Steering:
    """May change at any time; a reader applies changes between two events."""

    pinned: set[int] = field(default_factory=set)  # Pages to expand
    refused: set[int] = field(default_factory=set)  # Pages that must not be open
    stop: bool = False  # Answer now from what is open; see `answer_now`
    # Offset in the book where the user reads: pages near it are shown in more detail
    here: int | None = None
    steps: Steps = Steps.ALONE
    proposal: Proposed | None = None  # The proposal that waits for a decision
    decision: Decision = Decision()  # The last one
    only: bool = False  # Show only what the user named
    _decided: "asyncio.Future[Decision] | None" = None
    _one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def review(
        self, proposal: Proposed
    ) -> AsyncGenerator[Proposed | Refused, None]:
        """Let the user review a look-up, depending on `steps`, and set `decision`."""
        async with self._one_by_one:
            self.decision = Decision()
            pages = set(proposal.pages)
            is_decided = bool(pages) and (pages <= self.refused or pages <= self.pinned)
            if self.stop or is_decided or self.steps is Steps.ALONE:
                return
            self.proposal = proposal
            self._decided = asyncio.get_running_loop().create_future()
            try:
                yield proposal
                self.decision = await self._decided
            finally:
                self.proposal = self._decided = None
            if self.stop:
                self.refused.update(self.decision.refused_of(proposal.pages))
                return
            new = tuple(
                page for page in self.decision.pages if page not in proposal.pages
            )
            refused = self.decision.refused_of(proposal.pages)
            if self.decision.refuses or refused:
                self.refused.update(refused)
                yield Refused(refused, new, proposal.path)
            self.pinned.update(new)
            self.refused.difference_update(self.decision.pages)

    def decide(self, decision: Decision) -> None:
        """Decide about the proposal, if there is one."""
        if self._decided is not None and not self._decided.done():
            self.proposal = None
            self._decided.set_result(decision)

    def answer_now(self, decision: Decision = _ACCEPTED) -> None:
        """End the search. `decision`: about what is proposed."""
        self.stop = True
        self.decide(decision)

    def set_steps(self, steps: Steps) -> None:
        """Also applies to the current proposal."""
        self.steps = steps
        if steps is Steps.ALONE:
            self.decide(Decision())

    def accept_all(self, decision: Decision) -> None:
        """Decide about the proposal, and accept every later one of this question."""
        self.steps = Steps.ALONE
        self.decide(decision)


def parse_decision(text: str, proposal: Proposed | None) -> Decision | None:
    """Parse a typed decision; None: answer now. Raises ValueError with a message."""
    match words := text.strip().lower():
        case "" | "y" | "yes":
            return Decision()
        case "n" | "no":
            return Decision(refuses=True)
        case "a" | "answer":
            return None
    last = proposal.last_page if proposal else 0
    numbers = words.removeprefix("+").replace(",", " ").split()
    if not last or not all(number.isdecimal() for number in numbers):
        choices = "a section’s number, no or answer" if last else "no or answer"
        raise ValueError(f"Enter {choices}; Enter alone accepts.")
    if not all(0 < int(number) <= last for number in numbers):
        which = f"sections 1 to {last}" if last > 1 else "section 1"
        raise ValueError(f"Only {which} can be opened.")
    return Decision(refuses=not words.startswith("+"), pages=tuple(map(int, numbers)))
