"""Streams: sequences with cells of their own, for short background requests on a CPU.

In a unified KV cache attention visits the cells of all sequences, so pages read together slow each
other down. With streams (llama.cpp's `kv_unified = false`) it visits only those of one sequence.
Streams cannot share cells: a common prefix is copied, which takes as long as decoding a token.
llama.cpp evaluates streams in one batch only if they are adjacent.
"""

from array import array
from collections.abc import Collection, Sequence
from typing import NamedTuple

from gistread.engine.llama.worker.context import BatchToken, Context, Outcome
from gistread.engine.llama.worker.prefix_tree import common_prefix
from gistread.engine.llama.worker.requests import ScheduledRequest
from gistread.engine.llama.worker.sampling import FreeSampler
from gistread.engine.llama.worker.slots import SequencePool

_LEAST_REUSED = 16  # Tokens; copying a stream for fewer saves no time
_LEAST_MOVED = 64  # Tokens; fewer may be equal by chance
_PROMPT_STREAMS = 2  # Streams for choices, the last ones; gists copy their prompts
# With fewer, a gist would overwrite a prompt that another gist needs
_LEAST_IDLE = _PROMPT_STREAMS + 1
_TOKEN_BYTES = array("i").itemsize


class Streams(SequencePool):
    """The sequences of a context that is not unified."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, context.sequences)
        # Tokens by stream
        self._tokens: list[list[int]] = [[] for _ in range(context.sequences)]

    def has_room_for(self, request: ScheduledRequest) -> bool:
        """Whether prompt and answer fit a stream."""
        cells = self.context.cells // self.context.sequences
        return len(request.prompt) + request.max_tokens <= cells

    def admit(self, request: ScheduledRequest) -> bool:
        idle = self._idle()
        if len(idle) <= _LEAST_IDLE:
            return False
        # The last token is always evaluated, for its logits
        tokens = request.tokens[:-1]
        prefixes = [_reusable(cached, tokens, request) for cached in self._tokens]
        source = max(range(len(prefixes)), key=lambda stream: prefixes[stream].length)
        length, start, dropped = prefixes[source]
        decodes = isinstance(request.sampler, FreeSampler)
        if length < _LEAST_REUSED:
            target = self._free(idle, decodes=decodes)
            self._cut(target, 0)
        elif source in idle and not decodes and length == len(self._tokens[source]):
            target = source  # An interrupted request resumes
        else:  # Another request may still need the source
            others = [stream for stream in idle if stream != source]
            target = self._free(others, decodes=decodes)
            self._copy(source, target)
            self._cut(target, length + dropped)
            if dropped:
                self.context.remove(target, start, dropped)
                del self._tokens[target][start : start + dropped]
        reused = min(len(self._tokens[target]), len(request.prompt))
        request.sequence = target
        request.reused = max(request.reused, reused)
        self._running[target] = request
        return True

    def compact(self, requests: Sequence[ScheduledRequest]) -> list[ScheduledRequest]:
        """Move texts that decode together into adjacent streams.

        Returns all requests in the order of their streams.
        """
        texts = {
            request.sequence: request
            for request in requests
            if request.sequence is not None and isinstance(request.sampler, FreeSampler)
        }
        while (gap := self._first_gap(texts)) is not None:
            last = max(texts)
            self._copy(last, gap)
            self._cut(last, 0)
            request = texts.pop(last)
            del self._running[last]
            request.sequence = gap
            texts[gap] = request
            self._running[gap] = request
        # They run, so each has a stream: 0 is for the type checker.
        return sorted(requests, key=lambda request: request.sequence or 0)

    def _first_gap(self, streams: Collection[int]) -> int | None:
        """The first idle stream between these; None if there is none."""
        if not streams:
            return None
        between = range(min(streams), max(streams))
        return next((stream for stream in between if stream not in self._running), None)

    def evaluate(self, tokens: list[BatchToken]) -> Outcome:
        outcome = self.context.evaluate(tokens)
        if outcome is Outcome.DONE:
            for item in tokens:
                self._tokens[item.sequence].append(item.token)
        else:
            for stream in {item.sequence for item in tokens}:
                self.context.cut(stream, len(self._tokens[stream]))
        return outcome

    def _length(self, sequence: int) -> int:
        return len(self._tokens[sequence])

    def _free(self, idle: list[int], *, decodes: bool) -> int:
        """The first idle stream to decode in; otherwise one of the last, in turn."""
        if decodes:
            return idle[0]
        return min(idle[-_PROMPT_STREAMS:], key=self._used_at.__getitem__)

    def _copy(self, source: int, target: int) -> None:
        self._cut(target, 0)
        self.context.fork(source, target)
        self._tokens[target] = list(self._tokens[source])

    def _cut(self, stream: int, length: int) -> None:
        if len(self._tokens[stream]) > length:
            self.context.cut(stream, length)
            del self._tokens[stream][length:]


class _Reusable(NamedTuple):
    """The prefix that a stream has once its `dropped` tokens at `start` are removed."""

    length: int
    start: int
    dropped: int


def _reusable(
    cached: list[int], tokens: list[int], request: ScheduledRequest
) -> _Reusable:
    """How much of `tokens` can be reused from a stream with the tokens `cached`."""
    start = common_prefix(cached, tokens)
    sought = tokens[start : start + _LEAST_MOVED]
    if not start or not request.allow_kv_shift or len(sought) < _LEAST_MOVED:
        return _Reusable(start, start=0, dropped=0)
    # Bytes are searched in C.
    cached_bytes = array("i", cached).tobytes()
    sought_bytes = array("i", sought).tobytes()
    offset = cached_bytes.find(sought_bytes, start * _TOKEN_BYTES)
    is_at_token = offset % _TOKEN_BYTES == 0
    if offset < 0 or not is_at_token:
        return _Reusable(start, start=0, dropped=0)
    found_at = offset // _TOKEN_BYTES
    moved = common_prefix(cached[found_at:], tokens[start:])
    return _Reusable(start + moved, start=start, dropped=found_at - start)
