"""A judge model compares an answer with the reference answers: LR-1 and LR-2 (ReadAgent, section 4.1, Figures 6 and 7).

A strict rater says whether they agree, a permissive one whether they agree, in part, or not. If either finds that they
agree, they do; else, if the permissive one finds that they do in part, that is the rating. Of several references the
one that is rated highest counts. LR-1 is the share of answers that agree, LR-2 of those that agree wholly or in part.
The judge chooses among words that are offered, so that nothing it says must be parsed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Engine, Message, Priority, Prompt, Usage


class Rating(IntEnum):
    """How far an answer agrees with a reference."""

    NONE = 0
    PARTIAL = 1
    EXACT = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    rating: Rating
    usage: Usage


_STRICT = {"yes": Rating.EXACT, "no": Rating.NONE}
_PERMISSIVE = {"yes": Rating.EXACT, "partly": Rating.PARTIAL, "no": Rating.NONE}


def version() -> str:
    """Of the prompts of the judge: ratings made with others do not compare."""
    return prompts.version("judge_strict", "judge_permissive")


async def rate(question: str, answer: str, references: Iterable[str], engine: Engine) -> Verdict:
    """What `engine` as the judge makes of an answer. An empty answer is not shown to it.

    Raises EngineError when the engine fails, PromptTooLongError when an answer and a reference do not fit its window.
    """
    usage = NO_USAGE
    best = Rating.NONE
    if not answer.strip():
        return Verdict(best, usage)
    for reference in references:
        # What the permissive rater says makes no difference once the strict one has said yes.
        for name, options in (("judge_strict", _STRICT), ("judge_permissive", _PERMISSIVE)):
            prompt = _prompt(name, question, answer, reference)
            choice = await engine.choose(prompt, tuple(options), Priority.BACKGROUND)
            usage += choice.usage
            best = max(best, tuple(options.values())[choice.index])
            if best is Rating.EXACT:
                return Verdict(best, usage)
    return Verdict(best, usage)


def _prompt(name: str, question: str, answer: str, reference: str) -> Prompt:
    return (Message("user", prompts.load(name).fill(question=question, answer=answer.strip(), reference=reference)),)
