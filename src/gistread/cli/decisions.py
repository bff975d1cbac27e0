"""Reads the user's decisions about look-ups from the terminal."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gistread.cli.progress import ProgressLine
from gistread.errors import UsageError
from gistread.readers.events import Proposed
from gistread.readers.steering import Steering, Steps, describe_choices, parse_decision
from gistread.readers.trace import describe_proposed


def check_terminal(steps: Steps) -> None:
    """Raises UsageError if `steps` needs a terminal and there is none."""
    if steps is not Steps.ALONE and not sys.stdin.isatty():
        raise UsageError(f"`--steps {steps}` needs a terminal: standard input is none.")


def format_prompt(proposed: Proposed, length: int) -> str:
    """`Wants section 11: it tells of the key [Enter: open, a section's number, no, answer]`"""
    opens = bool(proposed.pages or proposed.places)
    first = f"Enter: {'open' if opens else 'answer'}"
    choices = [first, *describe_choices(proposed, length), "no", *["answer"] * opens]
    return f"{describe_proposed(proposed, length)} [{', '.join([*choices, *['back'] * proposed.may_go_back])}]"


@contextmanager
def read_decisions(steering: Callable[[], Steering], line: ProgressLine, length: int) -> Iterator[None]:
    """Apply decisions typed on standard input, about a book of `length` characters. End of input: answer now."""

    def read() -> None:
        typed = sys.stdin.readline()
        try:
            decision = parse_decision(typed, steering().proposal, length) if typed else None
        except ValueError as error:
            line.say(str(error))
            return
        if decision is None:
            steering().answer_now()
        elif decision.goes_back and not steering().go_back():
            line.say("There is no step to go back to.")
        elif not decision.goes_back:
            steering().decide(decision)
        if not typed:
            loop.remove_reader(sys.stdin)

    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, read)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)
