"""The user's control over a running reader: pinned and refused pages, decisions about look-ups."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, field
from enum import StrEnum

from gistread.readers.events import Proposed, Refused


class Steps(StrEnum):
    """Who decides which pages are looked up."""

    ALONE = "alone"  # The reader alone: the user is not asked
    ASK = "ask"  # The user, who is asked about each


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's decision about a proposal; by default it is accepted."""

    refuses: bool = False  # Refuse what is proposed, except the pages in `pages`
    pages: tuple[int, ...] = ()  # Pages to open instead or in addition
    refused: tuple[int, ...] = ()  # The pages to refuse; the others are accepted

    def refused_of(self, proposed: Collection[int]) -> tuple[int, ...]:
        """The proposed pages that are refused."""
        refused = proposed if self.refuses else self.refused
        return tuple(
            page for page in refused if page in proposed and page not in self.pages
        )


_ACCEPTED = Decision()


@dataclass(slots=True)
class Steering:
    """What the user wants of a reader. A reader applies changes between two events.

    A page is proposed with `review`; the screen or the command line answers with `decide`.
    """

    pinned: set[int] = field(default_factory=set)  # Pages to open
    refused: set[int] = field(default_factory=set)  # Pages that must not be open
    stop: bool = False  # Answer now from what is open; see `answer_now`
    # Offset in the book where the user reads: pages near it are shown in more detail
    here: int | None = None
    steps: Steps = Steps.ALONE
    proposal: Proposed | None = None  # The proposal that waits for a decision
    decision: Decision = Decision()  # The decision about the last proposal
    only: bool = False  # Show only what the user named
    _decided: "asyncio.Future[Decision] | None" = None
    # Concurrent paths of a reader propose in turn.
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def review(
        self, proposal: Proposed
    ) -> AsyncGenerator[Proposed | Refused, None]:
        """Let the user review a look-up, depending on `steps`, and set `decision`."""
        async with self._turn:
            self.decision = Decision()
            needs_no_decision = self.stop or self.steps is Steps.ALONE
            if needs_no_decision or self._has_decided(proposal.pages):
                return  # `decision` accepts.
            self.proposal = proposal
            self._decided = asyncio.get_running_loop().create_future()
            try:
                yield proposal
                self.decision = await self._decided
            finally:
                self.proposal = self._decided = None
            refused = self.decision.refused_of(proposal.pages)
            self.refused.update(refused)
            if self.stop:
                return
            new = tuple(
                page for page in self.decision.pages if page not in proposal.pages
            )
            if self.decision.refuses or refused:
                yield Refused(refused, new, proposal.path)
            self.pinned.update(new)
            # Who names a page that was refused before wants it now.
            self.refused.difference_update(self.decision.pages)

    def _has_decided(self, pages: Collection[int]) -> bool:
        """Whether the user refused or pinned all of these pages before."""
        if not pages:
            return False
        return self.refused.issuperset(pages) or self.pinned.issuperset(pages)

    def decide(self, decision: Decision) -> None:
        """Decide about the proposal, if there is one."""
        if self._decided is not None and not self._decided.done():
            self.proposal = None
            self._decided.set_result(decision)

    def answer_now(self, decision: Decision = _ACCEPTED) -> None:
        """End the search. `decision`: about the current proposal."""
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
    words = text.strip().lower()
    match words:
        case "" | "y" | "yes":
            return Decision()
        case "n" | "no":
            return Decision(refuses=True)
        case "a" | "answer":
            return None
    last = proposal.last_page if proposal else 0
    numbers = words.removeprefix("+").replace(",", " ").split()
    are_numbers = all(number.isdecimal() for number in numbers)
    if not last or not are_numbers:
        choices = "a section’s number, no or answer" if last else "no or answer"
        raise ValueError(f"Enter {choices}; Enter alone accepts.")
    pages = tuple(map(int, numbers))
    if not all(0 < page <= last for page in pages):
        which = f"sections 1 to {last}" if last > 1 else "section 1"
        raise ValueError(f"Only {which} can be opened.")
    # "+3" opens a page in addition to the proposed ones, "3" instead of them.
    return Decision(refuses=not words.startswith("+"), pages=pages)
