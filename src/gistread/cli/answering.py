"""Prints an answer with its doubts and sources."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from gistread.cli.output import write
from gistread.cli.progress import ProgressLine
from gistread.readers import events
from gistread.store.model import Citation, with_messages
from gistread.units import in_quotes


@dataclass(slots=True)
class PrintedAnswer:
    """An answer on standard output, unless JSON goes there: word by word on a terminal, then its doubts and sources."""

    line: ProgressLine
    as_json: bool
    _answered: events.Answered | None = None
    _streamed: str = ""

    def add(self, event: events.ReaderEvent) -> None:
        match event:
            case events.AnswerDelta(text=text):
                self.line.clear()
                if not self.as_json and sys.stdout.isatty():
                    self._streamed += text
                    write(text, end="")
            case events.Restarted() if self._streamed:
                write("")
                self._streamed = ""
            case events.Answered():
                self.line.clear()
                self._answered = event

    def finish(self, place: Callable[[Citation], str]) -> events.Answered:
        """Print what is left of the answer, and return it. `place`: where a citation is, in words."""
        answered = self._answered
        assert answered is not None, "a reader ends with Answered"
        if self.as_json:
            return answered
        if self._streamed:
            write("")
        if self._streamed.strip() != answered.answer.strip():
            write(with_messages(answered.answer, answered.marks).text)
        else:
            for mark in answered.marks:
                write(f"{in_quotes(answered.answer[mark.start : mark.end])}: {mark.message}.")
        for number, citation in enumerate(answered.citations, start=1):
            write(f"[{number}] {place(citation)}: {in_quotes(' '.join(citation.quote.split()))}")
        return answered
