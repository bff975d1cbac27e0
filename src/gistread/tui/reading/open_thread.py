"""The thread of questions that the next question may continue."""

from dataclasses import dataclass

from gistread.readers.thread import QuestionAnswer, Thread, is_follow_up
from gistread.session.answer import thread_of
from gistread.user_data import SavedThread


@dataclass(slots=True)
class OpenThread:
    id: float = 0.0  # When its first question was asked, in seconds since the epoch
    exchanges: Thread = ()
    follows: bool | None = None  # Whether the next question continues it; None: if it reads like a follow-up

    @classmethod
    def of(cls, saved: SavedThread) -> "OpenThread":
        return cls(saved.id, thread_of(saved.questions))

    def takes(self, question: str) -> bool:
        """Whether a question continues the thread; an empty one counts as if it did."""
        if not self.exchanges or self.follows is not None:
            return bool(self.exchanges and self.follows)
        return not question.strip() or is_follow_up(question)

    def begin(self, question: str) -> float:
        """Continue the thread with a question, or start a new one. Returns the thread's id; 0 for a new thread."""
        if not self.takes(question):
            self.id, self.exchanges = 0.0, ()
        self.follows = None
        return self.id

    def add(self, answered: QuestionAnswer, asked_at: float) -> None:
        self.id = self.id or asked_at
        self.exchanges = (*self.exchanges, answered)
