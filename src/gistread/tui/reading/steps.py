"""Lets the user decide which sections the reader opens for a question.

Shows the sections that the reader wants, one after another, and handles the user's decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gistread.memory.prose import prose_of
from gistread.readers.events import Proposed, WantedSection
from gistread.readers.steering import Decision, Steering, Steps, parse_decision
from gistread.readers.trace import pages_words, with_reason
from gistread.tui.memory_blocks import SectionNote
from gistread.tui.reading.asking import AskingController
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.reading.questions import QuestionController
from gistread.tui.reading.walk import WalkController
from gistread.tui.widgets.input_line import InputLineClient
from gistread.tui.widgets.lines import ActionItem, Actions
from gistread.units import in_quotes, short

_MEANING = {
    Steps.ALONE: "In this book the model opens sections without asking.",
    Steps.ASK: "In this book the model asks before it opens a section.",
}
_KEYS = "{open-page}\u00a0open, {refuse}\u00a0no, {other-page}\u00a0another, {accept-all}\u00a0all"
_TOP = 0.3  # Where a wanted place is shown in the book's view, from 0 (top) to 1
_QUESTION_CHARACTERS = 60
_GIST_CHARACTERS = 300


@dataclass(slots=True)
class _Review:
    """The sections of one proposal, decided one after another."""

    proposal: Proposed
    at: int = 0  # Index of the section that is shown
    accepted: set[int] = field(default_factory=set)  # Indexes of sections
    refused: set[int] = field(default_factory=set)  # Indexes of sections
    instead: list[int] = field(default_factory=list)  # Pages that the user named
    # Indexes of the sections whose pages the user named
    named: set[int] = field(default_factory=set)

    @property
    def sections(self) -> tuple[WantedSection, ...]:
        """The wanted sections; one without a place if the reader only names pages.

        None if the reader wants to answer.
        """
        proposal = self.proposal
        if proposal.sections or not proposal.pages:
            return proposal.sections
        return (WantedSection(proposal.pages, 0, 0, proposal.reason),)

    @property
    def current(self) -> WantedSection | None:
        """The section that is shown; None if the reader wants to answer."""
        if not self.sections:
            return None
        return self.sections[self.at]

    @property
    def words(self) -> str:
        """What was decided about the section that is shown; empty if nothing was."""
        if self.at in self.refused:
            return "left out"
        if self.at in self.accepted:
            return "accepted"
        return ""

    def accept(self) -> None:
        """Accept the section that is shown."""
        self.refused.discard(self.at)
        self.accepted.add(self.at)

    def refuse(self) -> None:
        """Refuse the section that is shown, even if its pages were named before."""
        self.accepted.discard(self.at)
        self.named.discard(self.at)
        self.refused.add(self.at)
        refused_pages = self.sections[self.at].pages
        self.instead = [page for page in self.instead if page not in refused_pages]

    def name(self, pages: Sequence[int]) -> None:
        """Open these pages. Later sections that they contain need no decision of their own."""
        self.instead += pages
        for index, section in enumerate(self.sections):
            if self.at < index and set(section.pages) <= set(pages):
                self.refused.discard(index)
                self.accepted.add(index)
                self.named.add(index)

    def next_section(self) -> int | None:
        """Index of the next section to decide about; None after the last one."""
        for index in range(self.at + 1, len(self.sections)):
            if index not in self.named:
                return index
        return None

    def decision(self) -> Decision:
        """What was decided about all sections."""
        named_pages = tuple(dict.fromkeys(self.instead))  # Each once
        if self.sections and len(self.refused) == len(self.sections):
            return Decision(refuses=True, pages=named_pages)
        refused_pages: list[int] = []
        for index in sorted(self.refused):
            refused_pages += self.sections[index].pages
        return Decision(pages=named_pages, refused=tuple(refused_pages))


class StepController(InputLineClient):
    """Shows what the reader proposes, and passes on what the user decides."""

    def __init__(
        self,
        context: ReadingContext,
        questions: QuestionController,
        asking: AskingController,
        walk: WalkController,
    ) -> None:
        self._context = context
        self._questions = questions
        self._asking = asking
        self._walk = walk
        self._review: _Review | None = None
        # On a narrow screen, the pane to go back to from the memory
        self._return_to: Pane | None = None

    @property
    def _steering(self) -> Steering | None:
        session = self._context.session
        if session is None or not session.answering:
            return None
        return session.steering

    @property
    def proposal(self) -> Proposed | None:
        """What the reader wants, while it waits for a decision."""
        if self._steering is None:
            return None
        return self._steering.proposal

    def waiting(self) -> _Review | None:
        """The proposal that waits, with what was decided of it so far."""
        proposal = self.proposal
        if proposal is None:
            self._review = None
        elif self._review is None or self._review.proposal is not proposal:
            self._review = _Review(proposal)
        return self._review

    def show(self) -> None:
        """Show the section that waits for a decision."""
        line = self._context.screen.query_one("#step", Actions)
        review = self.waiting()
        self._walk.update()
        line.set_class(review is not None or self._walk.is_open, "-some")
        if review is not None:
            self._show_in_memory(review)
            line.show_groups(self._about(review), self._actions(review))
            return
        self._leave_memory()
        if self._walk.is_open:
            line.show_groups(self._walk.about(), self._walk.actions())

    def _about(self, review: _Review) -> list[ActionItem]:
        """The question, then where the section stands, its gist, and why it is wanted."""
        items: list[ActionItem] = []
        question = self._questions.question_out_of_view()
        if question:
            items.append((f"? {short(question, _QUESTION_CHARACTERS)}", "", ""))
        section = review.current
        if section is None:
            return [*items, ("Wants to answer now", "", "")]
        numbers = [self._questions.in_pane(page) for page in section.pages]
        count = len(review.sections)
        position = f" ({review.at + 1} of {count})" if count > 1 else ""
        items.append((f"Wants {pages_words(numbers)}{position}", "", self._go_to))
        return [*items, *self._about_section(section, review.words)]

    def _about_section(self, section: WantedSection, decided: str) -> list[ActionItem]:
        """The place of a section, the decision so far, and what the memory does not show of it.

        `decided`: in words; empty before a decision.
        """
        items: list[ActionItem] = []
        if section.end:
            items.append(("", self._questions.place_words(section.start), self._go_to))
        if decided:
            items.append(("", decided, ""))
        # On a narrow screen, the memory in view shows the reason.
        is_in_memory = self._context.panes.narrow and self._context.panes.shows_memory
        if section.reason and not is_in_memory:
            items.append(("", section.reason, self._go_to))
        gist = self._questions.gist_of(section)
        is_gist_shown = bool(gist) and self._context.panes.shows_memory
        if not is_gist_shown:
            text = gist or prose_of(self._context.book, section.start, section.end)
            items.append(("", in_quotes(short(text, _GIST_CHARACTERS)), self._go_to))
        return items

    def _actions(self, review: _Review) -> list[ActionItem]:
        """What the user can decide about the section that is shown."""
        hint = self._context.key_hint
        wants_section = review.current is not None
        actions: list[ActionItem] = [
            (hint("open-page"), "open" if wants_section else "answer", self.accept),
            (hint("refuse"), "no", self.refuse),
            (hint("other-page"), "another", self.other),
        ]
        if not wants_section:
            return actions
        if review.at:
            actions.append((hint("previous-step"), "back", lambda: self.step(-1)))
        actions.append((hint("accept-all"), "all", self.accept_all))
        actions.append((hint("stop-lookups"), "answer now", self.answer_now))
        return actions

    def _show_in_memory(self, review: _Review) -> None:
        """Show the wanted section with its reason in the memory; a narrow screen goes there."""
        section = review.current
        pane, panes = self._context.memory_pane, self._context.panes
        if section is None:
            pane.show_note(None)
            return
        keys = ""  # A narrow screen names them in the line below.
        if not panes.narrow:
            keys = self._context.services.with_keys(_KEYS)
        number = self._questions.in_pane(section.pages[0])
        pane.show_note(SectionNote(number, with_reason("wanted", section.reason), keys))
        # An empty memory would show nothing of the section.
        can_switch = panes.narrow and self._return_to is None and bool(pane.rows())
        if can_switch and panes.current is not Pane.MEMORY:
            self._return_to = panes.current
            panes.show(Pane.MEMORY)

    def _leave_memory(self) -> None:
        """Go back from the memory, on a narrow screen, once nothing is wanted."""
        return_to, self._return_to = self._return_to, None
        panes = self._context.panes
        is_in_memory = panes.narrow and panes.current is Pane.MEMORY
        if return_to is not None and is_in_memory:
            panes.show(return_to)

    def _go_to(self) -> None:
        """Look at what is wanted in the book."""
        review = self.waiting()
        if review is None:
            return
        section = review.current
        if section is not None and section.end:
            self._context.navigation.jump(section.start, _TOP, series="wanted")

    def accept(self) -> bool:
        """Accept the section. Returns False if none waits."""
        review = self.waiting()
        if review is None:
            return False
        review.accept()
        self._next(review)
        return True

    def refuse(self) -> None:
        """Refuse the section; if none waits, an opened one."""
        review = self.waiting()
        if review is None and self._walk.is_open:
            self._walk.leave_out()
        elif review is None:
            self._questions.refuse_page()
        elif review.current is None:
            self._decide(Decision(refuses=True))
        else:
            review.refuse()
            self._next(review)

    def accept_all(self) -> None:
        """Accept this section and all that the reader wants for this question."""
        review, steering = self.waiting(), self._steering
        if review is None or steering is None:
            self._context.warn("No section is waiting for your decision.")
            return
        review.accept()
        steering.accept_all(review.decision())
        self._context.refresh()

    def answer_now(self) -> None:
        """Answer without what was refused so far, and look for nothing more."""
        review = self.waiting()
        decision = Decision()
        if review is not None:
            decision = review.decision()
        self._questions.answer_now(decision)

    def step(self, step: int) -> None:
        """Show the next or previous section of the proposal, or step of the last answer."""
        review = self.waiting()
        if review is None:
            self._walk.step(step)
            return
        last_index = max(0, len(review.sections) - 1)
        review.at = min(max(0, review.at + step), last_index)
        self._context.refresh()

    def switch(self) -> None:
        """Change to the other of `Steps` for this book, also while a question is answered."""
        steps = Steps.ASK if self._asking.config.steps == "alone" else Steps.ALONE
        review, steering = self.waiting(), self._steering
        if review is not None and steering is not None:
            steering.accept_all(review.decision())
        self._asking.change("steps", steps.value)
        self._context.notify(_MEANING[steps])

    def other(self) -> None:
        """Ask for the pages to open instead."""
        if self.proposal is None or not self.proposal.last_page:
            self._context.warn("No section is waiting for your decision.")
        else:
            hint = "another section: 12 instead, +12 as well"
            self._context.input_line.ask(self, "open", hint)

    def typed(self, words: str) -> None:
        """Take back what was said of the words before."""
        self._context.input_line.say("")

    def accepted(self, words: str, choice: int | None) -> None:
        """Open the pages that were typed. Their numbers are those of the memory pane."""
        review = self.waiting()
        if review is None:
            self._context.input_line.close()
            return
        last_page = self._questions.in_pane(review.proposal.last_page)
        proposal = replace(review.proposal, last_page=last_page)
        try:
            decision = parse_decision(words, proposal)
        except ValueError as error:
            self._context.input_line.say(str(error), problem=True)
            return
        self._context.input_line.close()
        if decision is None:
            self.answer_now()
            return
        pages = [self._questions.asked_number(page) for page in decision.pages]
        if review.current is None:
            # The reader wants to answer: it is to open these pages first.
            review.name(pages)
            self._decide(replace(review.decision(), refuses=decision.refuses))
            return
        if decision.refuses:
            review.refuse()
        else:
            review.accept()
        review.name(pages)
        self._next(review)

    def _next(self, review: _Review) -> None:
        """Show the section after the one that was decided; after the last one, decide."""
        following = review.next_section()
        if following is None:
            self._decide(review.decision())
        else:
            review.at = following
            self._context.refresh()

    def _decide(self, decision: Decision) -> None:
        """Pass the decision on to the reader, which waits for it."""
        if self._steering is not None:
            self._steering.decide(decision)
            self._context.refresh()
