"""An answer on standard output: word by word on a terminal, then its doubts and sources."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gistread.cli.output import write
from gistread.readers import events as reader_events
from gistread.store.model import Citation, with_messages
from gistread.units import in_quotes


@dataclass(slots=True)
class StreamedAnswer:
    live: bool
    _streamed: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        if self.live:
            self._streamed.append(text)
            write(text, end="")

    def restart(self) -> None:
        if self._streamed:
            write("")
            self._streamed.clear()

    def finish(self, answered: reader_events.Answered, place: Callable[[Citation], str]) -> None:
        streamed = "".join(self._streamed)
        if streamed:
            write("")
        if streamed.strip() != answered.answer.strip():
            write(with_messages(answered.answer, answered.marks).text)
        else:
            for mark in answered.marks:
                write(f"{in_quotes(answered.answer[mark.start : mark.end])}: {mark.message}.")
        for number, citation in enumerate(answered.citations, start=1):
            write(f"[{number}] {place(citation)}: {in_quotes(' '.join(citation.quote.split()))}")
