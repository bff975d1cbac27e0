"""Answers that say that the book does not tell something, and fair ones with a negation.

`python3 -m tests.benchmarks.absence [--model GGUF]` prints, for both parts of `absence.toml`, how
many of each the expressions take for absence, of how many a model is asked, and how many a local
model then takes for it.
"""

import argparse
import asyncio
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import NO_USAGE, Usage
from gistread.readers.absence import judged_absence, may_say_not_found, says_not_found

Answers = Mapping[str, Sequence[tuple[str, str]]]  # Question and answer, by kind


@dataclass(slots=True)
class Counts:
    answers: int = 0
    by_expressions: int = 0
    questions: int = 0
    by_model: int = 0
    usage: Usage = NO_USAGE


async def count(
    answers: Sequence[tuple[str, str]], engine: LlamaEngine | None
) -> Counts:
    counts = Counts()
    for question, answer in answers:
        counts.answers += 1
        if says_not_found(answer):
            counts.by_expressions += 1
            continue
        counts.questions += may_say_not_found(answer)
        if engine is not None:
            absence = await judged_absence(question, answer, engine)
            counts.by_model += absence.begins(answer)
            counts.usage += absence.usage
    return counts


async def measure(model: Path | None) -> None:
    parts = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    engine = LlamaEngine(model, measures_pace=False) if model else None
    try:
        for part, by_language in parts.items():
            for kind in ("absent", "fair"):
                answers = [pair for each in by_language.values() for pair in each[kind]]
                counts = await count(answers, engine)
                tokens = counts.usage.prefilled + counts.usage.reused
                print(
                    f"{part} {kind}: {counts.answers} answers, {counts.by_expressions} by "
                    f"expressions, {counts.questions} asked about, {counts.by_model} by the model, "
                    f"{tokens / max(1, counts.questions):.0f} tokens each"
                )
    finally:
        if engine is not None:
            await engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    asyncio.run(measure(parser.parse_args().model))


if __name__ == "__main__":
    main()
