"""Prints an answer with its doubts and sources."""

import sys
from collections.abc import AsyncIterator, Callable

from gistread.cli.output import write
from gistread.cli.progress import ProgressLine
from gistread.readers import events
from gistread.store.model import Citation, with_messages
from gistread.units import in_quotes


async def print_answer(
    stream: AsyncIterator[events.ReaderEvent], line: ProgressLine, place: Callable[[Citation], str], *, as_json: bool
) -> events.Answered:
    """Print an answer, unless JSON is printed: word by word on a terminal, then its doubts and sources.

    `place`: where a citation is, in words.
    """
    streamed, answered = "", None
    async for event in stream:
        match event:
            case events.AnswerDelta(text=text):
                line.clear()
                if not as_json and sys.stdout.isatty():
                    streamed += text
                    write(text, end="")
            case events.Restarted() if streamed:
                write("")
                streamed = ""
            case events.Answered():
                line.clear()
                answered = event
    assert answered is not None, "a reader ends with Answered"
    if as_json:
        return answered
    if streamed:
        write("")
    if streamed.strip() != answered.answer.strip():
        write(with_messages(answered.answer, answered.marks).text)
    else:
        for mark in answered.marks:
            write(f"{in_quotes(answered.answer[mark.start : mark.end])}: {mark.message}.")
    for number, citation in enumerate(answered.citations, start=1):
        write(f"[{number}] {place(citation)}: {in_quotes(' '.join(citation.quote.split()))}")
    return answered
