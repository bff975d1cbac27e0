"""Prints an answer and its sources: for people, as JSON or by a template."""

import argparse
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from gistread.cli.answer_text import AnswerPrinter, print_answer
from gistread.cli.output import Json, say, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.readers.events import AnswerDelta, Answered, ReaderEvent, Restarted
from gistread.readers.trace import CUT, describe_cost
from gistread.store.model import Citation, with_messages
from gistread.units import in_quotes

PlaceOf = Callable[[Citation], str]  # Where a citation is, in words


@dataclass(frozen=True, slots=True)
class PrintedAnswer:
    """An answer with its fields."""

    answered: Answered
    place_of: PlaceOf
    document: Json  # What `--json` prints
    more: Json  # Further fields, which only a template can print

    def write_fields(self, arguments: argparse.Namespace) -> None:
        """Print the fields as JSON or by the template, if the command line wants either."""
        if arguments.json:
            write_json(self.document)
        elif arguments.template is not None:
            from gistread.cli.ask_template import write_by_template

            fields = {**self.document, **self.more}
            write_by_template(
                arguments.template, fields, self.answered.citations, self.place_of
            )


async def print_answered(
    stream: AsyncIterator[ReaderEvent],
    line: ProgressLine,
    place_of: PlaceOf,
    arguments: argparse.Namespace,
) -> Answered:
    """Print the answer of a reader, then its doubts and sources; on a terminal word by word.

    Prints nothing if the command line wants the fields of the answer.
    """
    has_template = arguments.template is not None
    as_fields = bool(arguments.json or arguments.events or has_template)
    is_drawn = not as_fields and sys.stdout.isatty()
    streamed = await _follow_answer(stream, line, is_drawn=is_drawn)
    answered = streamed.answered
    if as_fields:
        return answered
    # The checked answer may be another one than the model wrote.
    if streamed.printed.strip() == answered.answer.strip():
        _print_doubts(answered)
    else:
        _print_whole(answered, is_drawn=is_drawn)
    _print_sources(answered, place_of)
    return answered


@dataclass(frozen=True, slots=True)
class _StreamedAnswer:
    """An answer, and the text of it that was printed word by word."""

    answered: Answered
    printed: str


async def _follow_answer(
    stream: AsyncIterator[ReaderEvent], line: ProgressLine, *, is_drawn: bool
) -> _StreamedAnswer:
    """Wait for the answer of a reader. `is_drawn`: print it word by word."""
    printer = AnswerPrinter()
    printed = ""
    answered: Answered | None = None
    async for event in stream:
        match event:
            case AnswerDelta(text=text) if is_drawn:
                line.clear()
                printed += text
                printer.add(text)
            case Restarted() if printed:
                printer.end()
                printed = ""
            case Answered():
                line.clear()
                answered = event
    assert answered is not None, "a reader ends with Answered"
    if is_drawn:
        printer.end()
    return _StreamedAnswer(answered, printed)


def _print_doubts(answered: Answered) -> None:
    """Print what the check doubts in an answer that was streamed."""
    for mark in answered.marks:
        doubted = answered.answer[mark.start : mark.end]
        write(f"{in_quotes(doubted)}: {mark.message}.")


def _print_whole(answered: Answered, *, is_drawn: bool) -> None:
    """Print an answer that was not streamed, with its doubts in it."""
    text = with_messages(answered.answer, answered.marks).text
    if is_drawn:
        print_answer(text)
    else:
        write(text)


def _print_sources(answered: Answered, place_of: PlaceOf) -> None:
    """Print the sources of an answer, what other passages say, and for people how it was made."""
    rivals: list[str] = []
    for number, citation in enumerate(answered.citations, start=1):
        place = place_of(citation)
        if citation.tells:
            # What another passage says, in the words of the model: without quotation marks.
            rivals.append(f"{citation.tells} ({place})")
        else:
            quote = " ".join(citation.quote.split())
            write(f"[{number}] {place}: {in_quotes(quote)}")
    if rivals:
        write(f"Other passages say: {' · '.join(rivals)}")
    cost = describe_cost(answered.usage)
    if cost:
        say(f"Cost: {cost}.")
    reason = CUT.get(answered.finish)
    if reason:
        say(f"{reason} `gistread ask BOOK --continue` goes on.")
