"""Answers to questions of FairytaleQA's dev set, the gold section given: python -m training.evaluate [ADAPTER]."""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.llama.gguf import read_adapted_header
from gistread.engine.llama.requantized_copy import make_copy
from gistread.engine.protocol import Message, Sampling
from gistread.evaluation.metrics import rouge, token_f1
from gistread.evaluation.table import Key, estimate
from gistread.readers.answering import says_not_found
from training.packing import starter_path
from training.pages import SHARED
from training.tales import Question, Tale, fill, read_tales

Case = tuple[Tale, tuple[int, ...], Question]
"""A tale, the sections of it that are shown, and a question."""
SAMPLING = Sampling(max_tokens=64, repeat_penalty=1.1)


async def answers(adapter: Path | None, prompts: Sequence[str]) -> list[str]:
    """What the model answers, with its Q8_0 copy that the program would make."""
    with tempfile.TemporaryDirectory() as folder:
        header = read_adapted_header(starter_path(), adapter)
        copy = await make_copy(header, Path(folder), log=None, progress=lambda share: None)
        # With one thread none waits for another: the machine may be training.
        engine = LlamaEngine(copy or starter_path(), options=LoadOptions(threads=1))
        await engine.start()
        try:
            said = await asyncio.gather(*(engine.complete((Message("user", prompt),), SAMPLING) for prompt in prompts))
        finally:
            await engine.close()
    return [" ".join(one.text.split()) for one in said]


def choose(tales: Sequence[Tale], questions: int, foreign: int) -> tuple[list[Case], list[Case]]:
    """Questions with the sections that answer them, about two of each; and with sections of another tale."""
    chance = random.Random(0)
    found: dict[tuple[Tale, tuple[int, ...]], list[Question]] = {}
    for tale in tales:
        for question in tale.questions:
            found.setdefault((tale, tuple(sorted(question.sections))), []).append(question)
    places = chance.sample(list(found), len(found))
    chosen = [(*place, question) for place in places for question in found[place][:2]]
    others = [
        (*place, chance.choice(chance.choice([tale for tale in tales if tale != place[0]]).questions))
        for place in places
    ]
    return chosen[:questions], others[:foreign]


def asked(tale: Tale, sections: Sequence[int], question: Question) -> str:
    text = "\n\n".join(tale.sections[at] for at in sections)
    return fill("answer_passages", "task_answer", text=text, question=question.text)


def told(values: Sequence[float], keys: Sequence[Key]) -> str:
    """The mean in percent and its 95% interval, tales being drawn."""
    found = estimate(dict(zip(keys, (100 * value for value in values), strict=True)))
    assert found is not None
    return f"{found.mean:.1f} ({found.low:.1f}–{found.high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adapter", type=Path, nargs="?", help="without one: the bare starter")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--foreign", type=int, default=30, help="questions about another tale")
    parser.add_argument("--show", type=int, default=0, help="answers to print")
    arguments = parser.parse_args()
    tales = read_tales(SHARED / "fairytaleqa" / "fairytaleqa_dev.jsonl")
    chosen, foreign = choose(tales, arguments.questions, arguments.foreign)
    # Questions about one text follow one another: the engine evaluates it once.
    cases = sorted([*chosen, *foreign], key=lambda case: (case[0].name, case[1]))
    said = asyncio.run(answers(arguments.adapter, [asked(*case) for case in cases]))
    by_case = dict(zip(cases, said, strict=True))
    own, others = [by_case[case] for case in chosen], [by_case[case] for case in foreign]
    for (_, _, question), answer in list(zip(chosen, own, strict=True))[: arguments.show]:
        print(f"{question.text} | {answer} | {question.answer}")
    keys = [(tale.name, f"{at}") for at, (tale, _, _) in enumerate(chosen)]
    pairs = [(answer, question.answers) for (_, _, question), answer in zip(chosen, own, strict=True)]
    rouge_l = [max(rouge(answer, one)["rougeL"] for one in references) for answer, references in pairs]
    f1 = [max(token_f1(answer, one) for one in references) for answer, references in pairs]
    print(f"ROUGE-L {told(rouge_l, keys)}, F1 {told(f1, keys)}")
    print(f'"does not say": answer given {told([says_not_found(answer) for answer in own], keys)}', end=", ")
    print(f"another tale {told([says_not_found(answer) for answer in others], keys[: len(others)])}")


if __name__ == "__main__":
    main()
