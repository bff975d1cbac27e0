"""The line a question is typed into, with a history."""

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class QuestionInput(Input):
    """Up and Down go through earlier questions about this book and the current draft."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "earlier", "Earlier question", show=False),
        Binding("down", "later", "Later question", show=False),
    ]

    class Asked(Message):
        """A question was entered."""

        def __init__(self, question: str) -> None:
            super().__init__()
            self.question = question

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(placeholder="Ask the book", compact=True, id=id, select_on_focus=False)
        self._history: list[str] = []
        self._at = 0
        self._draft = ""

    def remember(self, questions: list[str]) -> None:
        """Set the earlier questions, oldest first."""
        self._history = questions
        self._at = len(questions)

    def action_earlier(self) -> None:
        if self._at == len(self._history):
            self._draft = self.value
        self._show(self._at - 1)

    def action_later(self) -> None:
        self._show(self._at + 1)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        question = " ".join(event.value.split())
        if question:
            self.post_message(self.Asked(question))

    def taken(self, question: str) -> None:
        """Clear the line and add the question to the history."""
        if not self._history or self._history[-1] != question:
            self._history.append(question)
        self._at = len(self._history)
        self._draft = self.value = ""

    def _show(self, at: int) -> None:
        if not 0 <= at <= len(self._history):
            return
        self._at = at
        self.value = self._draft if at == len(self._history) else self._history[at]
        self.cursor_position = len(self.value)
