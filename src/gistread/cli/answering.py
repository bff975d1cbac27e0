"""Prints an answer with its doubts and sources, and reads the user's decisions about look-ups from the terminal."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gistread.cli.output import write
from gistread.cli.progress import ProgressLine
from gistread.readers import events
from gistread.readers.steering import Steering, parse_decision
from gistread.readers.trace import describe_proposed
from gistread.store.model import Citation, with_messages
from gistread.units import in_quotes


@dataclass(slots=True)
class PrintedAnswer:
    """An answer on standard output: word by word on a terminal, then its doubts and sources."""

    line: ProgressLine
    live: bool
    answered: events.Answered | None = None
    _streamed: str = ""

    def add(self, event: events.ReaderEvent) -> None:
        match event:
            case events.AnswerDelta(text=text):
                self.line.clear()
                if self.live:
                    self._streamed += text
                    write(text, end="")
            case events.Restarted() if self._streamed:
                write("")
                self._streamed = ""
            case events.Answered():
                self.line.clear()
                self.answered = event

    def finish(self, place: Callable[[Citation], str]) -> None:
        """Print what is left of the answer. `place`: where a citation is, in words."""
        answered = self.answered
        assert answered is not None, "a reader ends with Answered"
        if self._streamed:
            write("")
        if self._streamed.strip() != answered.answer.strip():
            write(with_messages(answered.answer, answered.marks).text)
        else:
            for mark in answered.marks:
                write(f"{in_quotes(answered.answer[mark.start : mark.end])}: {mark.message}.")
        for number, citation in enumerate(answered.citations, start=1):
            write(f"[{number}] {place(citation)}: {in_quotes(' '.join(citation.quote.split()))}")


def format_prompt(proposed: events.Proposed, length: int) -> str:
    """`Wants section 11: it tells of the key [Enter: open, a section's number, no, answer]`"""
    opens = bool(proposed.pages or proposed.places)
    first = f"Enter: {'open' if opens else 'answer'}"
    choices = [first, *["a section's number"] * bool(proposed.last_page), "no", *["answer"] * opens]
    return f"{describe_proposed(proposed, length)} [{', '.join(choices)}]"


@contextmanager
def read_decisions(steering: Steering, line: ProgressLine) -> Iterator[None]:
    """Apply decisions typed on standard input. End of input: answer now."""

    def read() -> None:
        typed = sys.stdin.readline()
        try:
            decision = parse_decision(typed, steering.proposal) if typed else None
        except ValueError as error:
            line.say(str(error))
            return
        if decision is None:
            steering.answer_now()
        else:
            steering.decide(decision)
        if not typed:
            loop.remove_reader(sys.stdin)

    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, read)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)
