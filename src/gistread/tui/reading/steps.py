"""Lets the user decide each look-up.

Shows the reader's proposal, and handles the commands that answer it.
"""

from gistread.readers.events import Proposed
from gistread.readers.steering import Decision, Steering, Steps, parse_decision
from gistread.readers.trace import describe_proposed
from gistread.tui.reading.asking import AskingController
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.questions import QuestionController
from gistread.tui.widgets.input_line import InputLineClient
from gistread.tui.widgets.lines import Action, Actions

_MEANING = {
    Steps.ALONE: "In this book the model opens sections without asking.",
    Steps.ASK: "In this book the model asks before it opens a section.",
}


class StepController(InputLineClient):
    def __init__(
        self, context: ReadingContext, questions: QuestionController, asking: AskingController
    ) -> None:
        self._context = context
        self._questions = questions
        self._asking = asking

    @property
    def _steering(self) -> Steering | None:
        session = self._context.session
        return session.steering if session is not None and session.answering else None

    @property
    def proposal(self) -> Proposed | None:
        return self._steering.proposal if self._steering else None

    def show(self) -> None:
        """Show the proposal that waits for a decision."""
        line, proposal = self._context.screen.query_one("#step", Actions), self.proposal
        line.set_class(proposal is not None, "-some")
        if proposal is None:
            return
        hint, opens = self._context.key_hint, bool(proposal.pages)
        actions: list[tuple[str, str, Action]] = [
            (hint("open-page"), "open" if opens else "answer", self.accept),
            (hint("refuse"), "no", self.refuse),
            (hint("other-page"), "another", self.other),
        ]
        if opens:
            actions.append((hint("stop-lookups"), "answer now", self._questions.answer_now))
        line.show_actions((describe_proposed(proposal), "", ""), *actions)

    def accept(self) -> bool:
        """Accept the proposal. Returns False without one."""
        return self._decide(Decision())

    def refuse(self) -> None:
        """Refuse the proposal; without one, the opened page."""
        if not self._decide(Decision(refuses=True)):
            self._questions.refuse_page()

    def switch(self) -> None:
        """Change to the other of `Steps` for this book, also while a question is answered."""
        steps = Steps.ASK if self._asking.config.steps == "alone" else Steps.ALONE
        self._asking.change("steps", steps.value)
        self._context.notify(_MEANING[steps])

    def other(self) -> None:
        """Ask for the pages to open instead."""
        if self.proposal is None or not self.proposal.last_page:
            self._context.warn("No section is proposed now.")
        else:
            self._context.input_line.ask(self, "open", "another section: 12 instead, +12 as well")

    def typed(self, words: str) -> None:
        self._context.input_line.say("")

    def accepted(self, words: str, choice: int | None) -> None:
        """The pages have been typed."""
        try:
            decision = parse_decision(words, self.proposal)
        except ValueError as error:
            self._context.input_line.say(str(error), problem=True)
            return
        if decision is None:
            self._questions.answer_now()
        else:
            self._decide(decision)
        self._context.input_line.close()

    def _decide(self, decision: Decision) -> bool:
        steering, proposed = self._steering, self.proposal is not None
        if steering is not None and proposed:
            steering.decide(decision)
            self._context.refresh()
        return proposed
