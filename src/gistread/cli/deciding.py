"""Decisions about look-ups, typed on the terminal."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gistread.cli.progress import ProgressLine
from gistread.errors import UsageError
from gistread.readers.events import Proposed
from gistread.readers.steering import Steering, Steps, parse_decision
from gistread.readers.text import describe_proposed


def check_terminal(steps: Steps) -> None:
    """Raises UsageError where nobody can decide."""
    if steps is not Steps.ALONE and not sys.stdin.isatty():
        raise UsageError(f"`--steps {steps}` needs a terminal: standard input is none.")


def prompt(proposed: Proposed) -> str:
    """`Wants page 11: it tells of the key [Enter: yes, a page number, no, answer]`"""
    yes = "open" if proposed.pages else "answer"
    choices = [f"Enter: {yes}", "a page number", "no", *["answer"] * bool(proposed.pages)]
    return f"{describe_proposed(proposed)} [{', '.join([*choices, *['back'] * proposed.may_go_back])}]"


@contextmanager
def deciding(steering: Callable[[], Steering], line: ProgressLine) -> Iterator[None]:
    """Obey what is typed; the end of input means to answer now."""

    def read() -> None:
        typed = sys.stdin.readline()
        try:
            proposal = steering().proposal
            decision = parse_decision(typed, proposal.last_page if proposal else 0) if typed else None
        except ValueError as error:
            line.say(str(error))
            return
        if decision is None:
            steering().answer_now()
        elif decision.goes_back:
            steering().go_back()
        else:
            steering().decide(decision)
        if not typed:
            loop.remove_reader(sys.stdin)

    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, read)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)
