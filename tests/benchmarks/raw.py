"""llama.cpp's own rates on this machine: prefill by length and by depth, decode by number of sequences.

Of the model as it is and of copies in other forms: a form without a fast matrix kernel on this processor shows
here. Nothing of gistread runs.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.figures import Finding, Table
from tests.benchmarks.setting import Setting, alone, threads

_BATCH_TOKENS = 512
_ROUNDS = 3
_STEPS = 8
"""Decode steps of one measurement."""


@dataclass(frozen=True, slots=True)
class _Plan:
    lengths: tuple[int, ...] = (32, 64, 128, 256, 512)
    """Tokens of one batch, on an empty cache."""
    depths: tuple[int, ...] = (0, 1024, 2048, 4096)
    """Tokens in the cache before a batch of `at_depth` tokens, ascending."""
    at_depth: int = 256
    sequences: tuple[int, ...] = (1, 2, 4, 8, 16)
    """Decoded together, on a shared beginning of `shared` tokens."""
    shared: int = 512


_QUICK = _Plan(lengths=(32, 64), depths=(0, 256), at_depth=64, sequences=(1, 2), shared=64)


@dataclass(frozen=True, slots=True)
class _Rates:
    """Tokens a second, in the order of the plan; the median of the rounds."""

    by_length: list[float]
    by_depth: list[float]
    by_sequences: list[float]


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    plan = _QUICK if setting.quick else _Plan()
    forms = {"as it is": setting.model, "Q8_0": setting.copy("Q8_0"), "F16": setting.copy("F16")}
    rates = {form: alone(_rates, path, plan) for form, path in forms.items()}

    def table(title: str, unit: str, names: tuple[int, ...], column: str) -> Table:
        rows = tuple((form, *getattr(found, column)) for form, found in rates.items())
        return Table(title, ("weights", *(f"{name:,} {unit}" for name in names)), rows)

    yield table("Prefill on an empty cache, by length of the batch [tok/s]", "tokens", plan.lengths, "by_length")
    yield table(f"Prefill of {plan.at_depth} tokens, by depth [tok/s]", "before", plan.depths, "by_depth")
    title = f"Decode after {plan.shared} shared tokens, by sequences at once [tok/s of all]"
    yield table(title, "at once", plan.sequences, "by_sequences")


def _rates(path: Path, plan: _Plan) -> _Rates:
    """In a process of its own. The rounds are interleaved, so that a busy moment does not fall on one figure."""
    from tests.benchmarks.lowlevel import Item, RawContext

    cells = max(plan.depths) + plan.at_depth + max(plan.sequences) * (_STEPS + 1)
    context = RawContext(
        path, cells=cells + 256, sequences=max(plan.sequences), batch_tokens=_BATCH_TOKENS, threads=threads()
    )
    context.prefill(0, min(plan.lengths))  # the first batch of a process pays for what is made once

    def length(tokens: int) -> float:
        context.cut(0)
        return tokens / context.prefill(0, tokens)

    def decode(sequences: int) -> float:
        context.cut(plan.shared)
        context.share(sequences, plan.shared)
        steps = range(plan.shared, plan.shared + _STEPS)
        seconds = sum(context.evaluate(Item(at, sequence, True) for sequence in range(sequences)) for at in steps)
        return sequences * _STEPS / seconds

    by_length = [[length(tokens) for tokens in plan.lengths] for _ in range(_ROUNDS)]
    context.cut(0)
    context.prefill(0, plan.shared)
    by_sequences = [[decode(sequences) for sequences in plan.sequences] for _ in range(_ROUNDS)]
    by_depth: list[list[float]] = []
    held = plan.shared
    for depth in plan.depths:
        if depth > held:
            context.prefill(held, depth - held)
        found = []
        for _ in range(_ROUNDS):
            context.cut(depth)
            found.append(plan.at_depth / context.prefill(depth, plan.at_depth))
        held = depth + plan.at_depth
        by_depth.append(found)
    return _Rates(
        [median(rates) for rates in zip(*by_length, strict=True)],
        [median(rates) for rates in by_depth],
        [median(rates) for rates in zip(*by_sequences, strict=True)],
    )
