"""The state of a request in the worker, and the text it has decoded.

The text is without reasoning, up to a stop string.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field

from gistread.engine.llama.worker.sampling import Sampler
from gistread.engine.protocol import Priority, Usage
from gistread.engine.text_filters import ReasoningFilter, StopStringFilter


class TextStream:
    """Turns the decoded tokens of one answer into text."""

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._reasoning = ReasoningFilter()
        self._stop = StopStringFilter(stop)
        self.text = ""  # All released text

    @property
    def stopped(self) -> bool:
        return self._stop.stopped

    def feed(self, piece: bytes) -> str:
        """Add a token's bytes; return the text that can be released now, often none."""
        answer = self._answer(self._decoder.decode(piece))
        return self._release(self._stop.feed(answer))

    def finish(self) -> str:
        """End the text and return its withheld end."""
        last = self._decoder.decode(b"", final=True)
        last_answer = self._answer(last) + self._reasoning.finish()
        return self._release(self._stop.feed(last_answer) + self._stop.finish())

    def _answer(self, text: str) -> str:
        """The text without thoughts."""
        answer, was_all_thought = self._reasoning.feed(text)
        if was_all_thought:
            self.text = ""  # It was a thought that the template had opened
        return answer

    def _release(self, text: str) -> str:
        self.text += text
        return text


@dataclass(eq=False, slots=True)
class ScheduledRequest:
    id: int
    priority: Priority
    prompt: list[int]
    max_tokens: int
    sampler: Sampler
    stream: TextStream
    cacheable: int = 0  # Length in tokens of the beginning worth a prompt cache file
    cache_file_tried: bool = False
    allow_kv_shift: bool = False  # See `Message`
    in_stream: bool = False  # Whether `sequence` is a stream
    sequence: int | None = None  # Sequence of the KV cache; None while waiting
    generated: list[int] = field(default_factory=list)
    reused: int = 0  # Prompt tokens found in the cache
    prefilled: int = 0
    worked_s: float = 0.0

    @property
    def tokens(self) -> list[int]:
        return self.prompt + self.generated

    @property
    def length(self) -> int:
        return len(self.prompt) + len(self.generated)

    @property
    def tokens_left(self) -> int:
        return self.max_tokens - len(self.generated)

    def usage(self) -> Usage:
        return Usage(self.prefilled, self.reused, len(self.generated), self.worked_s)
