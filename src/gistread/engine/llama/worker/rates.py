"""Measures a model's speed in about two seconds: a prompt of random tokens, then decoding 1, 2, 4 … sequences."""

import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import llama_cpp as llama

from gistread.engine.llama.worker.context import BatchToken, Context, DecodeError, Outcome
from gistread.engine.llama.worker.loading import LoadedModel
from gistread.engine.protocol import Rates

_PROMPT_TOKENS = 256  # Longest prompt measured; longer ones are evaluated in batches of about this size anyway
_PILOT_TOKENS = 16  # Measured first, to find how many tokens fit the time limit
_PREFILL_S = 1.0
_DECODE_S = 1.0
_REPEATS = 3  # The fastest counts: other load only adds time
_LEVEL_S = 0.3  # Most time spent on one number of sequences
_MOST_SEQUENCES = 32
_ALWAYS_TRIED = 8
_PAYS = 1.1  # Doubling the sequences pays if the total rate grows by this factor


class DisturbedError(Exception):
    """Other programs used the processor too much for a valid measurement, or a request came."""


def measure_rates(model: LoadedModel, *, least_share: float, stop: threading.Event) -> Rates:
    """Measure a loaded model. Raises MemoryError.

    Raises DisturbedError if its threads got less than `least_share` of their time, or once `stop` is set.
    """
    most = min(_MOST_SEQUENCES, model.context.sequences - 1)
    context = Context(
        model.weights,
        cells=_PROMPT_TOKENS + most * _REPEATS,
        sequences=most + 1,
        batch_tokens=model.batch_tokens,
        threads=model.threads,
        kv_type=model.context.kv_type,
        flash_attention=model.context.flash_attention,
    )
    try:
        # On a GPU the processor only waits.
        needed_cpu = 0.0 if model.on_gpu else least_share * model.threads
        return _Measurement(context, needed_cpu, model.on_gpu, stop, Random(0), trunk=most).take(most)
    finally:
        context.close()


def parallel_of(rates: Rates) -> int:
    """The useful number of concurrent requests: the largest clearly faster than half as many."""
    return max((n for (_, fewer), (n, rate) in pairwise(rates.decode) if rate >= _PAYS * fewer), default=1)


@dataclass(slots=True)
class _Measurement:
    context: Context
    needed_cpu: float  # Least processor seconds per second
    exhaustive: bool  # Measure every number of sequences: on a GPU only large numbers pay
    stop: threading.Event
    random: Random
    trunk: int
    prompt: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0

    def take(self, most: int) -> Rates:
        rates = Rates(self._prefill(), tuple(self._decode(most)))
        self._check()
        return rates

    def _prefill(self) -> float:
        self._evaluate_prompt(1)  # Warm-up: pages the weights in.
        self.wall_s = self.cpu_s = 0.0
        pilot_s = self._evaluate_prompt(_PILOT_TOKENS)
        self._check()
        # A multiple of the pilot, since matrix kernels work on blocks.
        length = max(1, min(_PROMPT_TOKENS // _PILOT_TOKENS, int(_PREFILL_S / pilot_s))) * _PILOT_TOKENS
        if length == _PILOT_TOKENS:
            return _PILOT_TOKENS / pilot_s
        times = [self._evaluate_prompt(length)]
        while len(times) < _REPEATS and sum(times) + times[-1] < _PREFILL_S:
            times.append(self._evaluate_prompt(length))
        return length / min(times)

    def _decode(self, most: int) -> list[tuple[int, float]]:
        rates: list[tuple[int, float]] = []
        spent_s = 0.0
        sequences = 1
        while sequences <= most and (self.exhaustive or spent_s < _DECODE_S):
            for number in range(sequences):
                self.context.fork(self.trunk, number, self.prompt)
            times: list[float] = []
            while len(times) < _REPEATS and sum(times) < _LEVEL_S:
                position = self.prompt + len(times)
                times.append(self._evaluate([self._token(position, n, last=True) for n in range(sequences)]))
            for number in range(sequences):
                self.context.cut(number, 0)
            spent_s += sum(times)
            rates.append((sequences, sequences / min(times)))
            if sequences >= _ALWAYS_TRIED and rates[-1][1] < _PAYS * rates[-2][1] and not self.exhaustive:
                break
            sequences *= 2
        return rates

    def _evaluate_prompt(self, length: int) -> float:
        self.context.cut(self.trunk, 0)
        self.prompt = length
        tokens = [self._token(at, self.trunk, last=at == length - 1) for at in range(length)]
        size = self.context.batch_tokens
        return sum(self._evaluate(tokens[start : start + size]) for start in range(0, length, size))

    def _token(self, position: int, sequence: int, *, last: bool) -> BatchToken:
        return BatchToken(self.random.randrange(self.context.weights.vocabulary), position, sequence, last)

    def _evaluate(self, tokens: list[BatchToken]) -> float:
        if self.stop.is_set():
            raise DisturbedError("a request came")
        started, cpu_started = time.perf_counter(), time.process_time()
        outcome = self.context.evaluate(tokens)
        llama.llama_synchronize(self.context.handle)  # A GPU may still be busy when llama_decode returns.
        if outcome is not Outcome.DONE:
            raise DecodeError(f"a measurement ended with {outcome.name}")
        seconds = time.perf_counter() - started
        self.wall_s += seconds
        self.cpu_s += time.process_time() - cpu_started
        return seconds

    def _check(self) -> None:
        if self.cpu_s < self.needed_cpu * self.wall_s:
            raise DisturbedError(f"{self.cpu_s:.2f} s of processor time in {self.wall_s:.2f} s")
