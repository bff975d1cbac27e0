"""What the person wants of a reader at work: pages pinned and refused, and a say in every look-up."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gistread.readers.events import Proposed, Refused

OBJECTION_S = 1.0  # Time to object to an announced look-up


class Steps(StrEnum):
    """Who decides which pages are looked up."""

    ALONE = "alone"  # The reader
    ANNOUNCE = "announce"  # The reader, unless the person objects within `OBJECTION_S`
    ASK = "ask"  # The person


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person makes of a proposal; by default it is accepted."""

    refuses: bool = False  # Not the proposed pages, except those in `pages`; not yet the answer
    pages: tuple[int, ...] = ()  # Pages to open, instead or besides
    goes_back: bool = False  # Decide the step before again


async def objection_time() -> None:
    await asyncio.sleep(OBJECTION_S)


@dataclass(slots=True)
class Steering:
    """May change at any time; a reader obeys it between two events."""

    pinned: set[int] = field(default_factory=set)  # Pages to expand
    refused: set[int] = field(default_factory=set)  # Pages that must not be open
    stop: bool = False  # Answer now from what is open; see `answer_now`
    here: int | None = None  # Offset in the book where the person reads: pages near it are shown in more detail
    steps: Steps = Steps.ALONE
    objection: Callable[[], Awaitable[None]] = objection_time  # Waits as long as one may object
    proposal: Proposed | None = None  # What waits for a decision
    decision: Decision = Decision()  # The last one
    settled: bool = True  # Whether the pages last ranked are those to read
    only: set[int] | None = None  # The pages that alone are to be read, if the person named any instead
    _decided: "asyncio.Future[Decision] | None" = None
    _named: bool = False  # The person named pages: none are proposed any more
    _goes_back: bool = False  # Go back before the next look-up
    _one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def review(self, proposal: Proposed, *, again: bool = False) -> AsyncGenerator[Proposed | Refused, None]:
        """Put a look-up to the person as `steps` says; `again`: wait in any case. Then `decision` holds the result."""
        async with self._one_by_one:
            self.decision = Decision(goes_back=self._goes_back)
            self._goes_back = False
            if self.stop or self.decision.goes_back or (self.steps is Steps.ALONE and not again):
                return
            waits = again or self.steps is Steps.ASK
            self.proposal = replace(proposal, waits=waits)
            self._decided = asyncio.get_running_loop().create_future()
            timer = None if waits else asyncio.ensure_future(self._accept_unless_held())
            try:
                yield self.proposal
                self.decision = await self._decided
            finally:
                self.proposal = self._decided = None
                if timer is not None:
                    timer.cancel()
            if self.decision.refuses:
                refused = tuple(page for page in proposal.pages if page not in self.decision.pages)
                self.refused.update(refused)
                yield Refused(refused, self.new_pages(proposal), proposal.path)
            self.pinned.update(self.new_pages(proposal))
            self.refused.difference_update(self.decision.pages)

    async def review_ranked(self, pages: Sequence[int], last_page: int) -> AsyncGenerator[Proposed | Refused, None]:
        """As `review`, for pages that were ranked. If they are not `settled` then, rank again."""
        self.settled = True
        if not pages or self._named:
            return
        async for said in self.review(Proposed(tuple(pages), 1, last_page)):
            yield said
        decision = self.decision
        self._named = bool(decision.pages)
        if decision.pages and decision.refuses:
            self.only = set(decision.pages)
        self.settled = not (decision.pages or decision.refuses)

    def new_pages(self, proposal: Proposed) -> tuple[int, ...]:
        """The pages of the last decision that had not been proposed."""
        return tuple(page for page in self.decision.pages if page not in proposal.pages)

    def decide(self, decision: Decision) -> None:
        """Decide about the proposal, if there is one."""
        if self._decided is not None and not self._decided.done():
            self.proposal = None
            self._decided.set_result(decision)

    def hold(self) -> None:
        """Let an announced look-up wait until it is decided."""
        if self.proposal is not None and not self.proposal.waits:
            self.proposal = replace(self.proposal, waits=True)

    async def _accept_unless_held(self) -> None:
        await self.objection()
        if self.proposal is not None and not self.proposal.waits:
            self.decide(Decision())

    def answer_now(self) -> None:
        self.stop = True
        self.decide(Decision())

    def go_back(self) -> None:
        """Decide the last look-up again, now or before the next one."""
        if self.proposal is not None:
            self.decide(Decision(goes_back=True))
        else:
            self._goes_back = True

    def set_steps(self, steps: Steps) -> None:
        """Also takes effect on what is proposed now."""
        self.steps = steps
        if steps is Steps.ALONE:
            self.decide(Decision())
        elif steps is Steps.ASK:
            self.hold()


def parse_decision(text: str, last_page: int) -> Decision | None:
    """Read a decision as people type it; None: answer now. Raises ValueError with a message."""
    match words := text.strip().lower():
        case "" | "y" | "yes":
            return Decision()
        case "n" | "no":
            return Decision(refuses=True)
        case "b" | "back":
            return Decision(goes_back=True)
        case "a" | "answer":
            return None
    numbers = words.removeprefix("+").replace(",", " ").split()
    if not all(number.isdecimal() and int(number) for number in numbers):
        raise ValueError("Enter a page number, no, back or answer; Enter alone accepts.")
    if beyond := [number for number in numbers if int(number) > last_page]:
        raise ValueError(f"There is no page {beyond[0]}: the last one here is {last_page}.")
    return Decision(refuses=not words.startswith("+"), pages=tuple(map(int, numbers)))
