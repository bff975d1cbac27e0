"""The metrics: each has a name, a summary, a unit, and a function that computes it for a question.

A metric that does not apply to a question returns None and leaves it out of its mean. A failed
question counts as answered wrongly: leaving it out would reward failure. F1 and exact match are
SQuAD's (Rajpurkar et al., 2016), without case, ASCII punctuation and English articles; ROUGE (Lin,
2004) is that of the package `rouge-score`, with stems.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from gistread.engine.protocol import Usage
from gistread.errors import GistreadError
from research.evaluation.model import (
    Outcome,
    Place,
    Question,
    Rating,
    covered_share,
    pages_with,
)

ROUGE_KINDS = ("rouge1", "rouge2", "rougeL")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def exact_match(answer: str, reference: str) -> float:
    """1 if both are equal after normalisation, else 0."""
    return float(_words(answer) == _words(reference))


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of precision and recall of the words, with repetitions."""
    answer_words = _words(answer)
    reference_words = _words(reference)
    if not answer_words or not reference_words:
        return float(answer_words == reference_words)
    shared_words = Counter(answer_words) & Counter(reference_words)
    length = len(answer_words) + len(reference_words)
    return 2 * shared_words.total() / length


def _words(text: str) -> list[str]:
    """Words in lower case, without punctuation and articles."""
    plain = text.lower().translate(_PUNCTUATION)
    return _ARTICLE.sub(" ", plain).split()


@lru_cache(maxsize=4096)
def rouge(answer: str, reference: str) -> Mapping[str, float]:
    """The F measure of each of `ROUGE_KINDS`, over ASCII words only.

    Raises GistreadError without the package.
    """
    rouge_scores = _scorer().score(reference, answer)
    return {kind: float(rouge_scores[kind].fmeasure) for kind in ROUGE_KINDS}


@cache
def _scorer() -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise GistreadError(
            "ROUGE needs the package rouge-score, which is not installed.",
            "python3 -m pip install 'gistread[eval]' installs it.",
        ) from error
    return RougeScorer(list(ROUGE_KINDS), use_stemmer=True)


_ALL = 100.0


@dataclass(frozen=True, slots=True)
class Case:
    question: Question
    outcome: Outcome
    # Bounds of the memory's pages in order; empty for readers without a memory
    pages: tuple[Place, ...] = ()
    rating: Rating | None = None  # The judge's rating of the answer, if any


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    summary: str  # One line
    unit: str  # `%`: from 0 to 100
    more_is_better: bool | None  # None if neither is
    of: Callable[[Case], float | None]

    @property
    def facts(self) -> dict[str, object]:
        return {
            "summary": self.summary,
            "unit": self.unit,
            "more_is_better": self.more_is_better,
        }


def scores(
    case: Case, names: Iterable[str] | None = None
) -> tuple[tuple[str, float], ...]:
    """The applicable metrics among these names (None: all).

    Raises GistreadError for ROUGE without its package.
    """
    chosen = METRICS if names is None else set(names)
    values: list[tuple[str, float]] = []
    for metric in METRICS.values():
        if metric.name in chosen:
            value = metric.of(case)
            if value is not None:
                values.append((metric.name, value))
    return tuple(values)


# Computes a metric for a question; None if it does not apply
_Measure = Callable[[Case], float | None]


def _accuracy(case: Case) -> float | None:
    question = case.question
    outcome = case.outcome
    if not question.choices:
        return None
    return _percent(outcome.ended and outcome.choice == question.gold_choice)


def _matched(similarity: Callable[[str, str], float]) -> _Measure:
    """The similarity to the most similar reference. "Not found" counts as an empty answer."""

    def of(case: Case) -> float | None:
        outcome = case.outcome
        references = case.question.references
        if not references:
            return None
        answer = outcome.answer if outcome.ended and outcome.has_answer else ""
        return _ALL * max(similarity(answer, reference) for reference in references)

    return of


def _rouge(kind: str) -> _Measure:
    """ROUGE of one of `ROUGE_KINDS` with the most similar reference."""

    def of(case: Case) -> float | None:
        references = case.question.references
        if not references:
            return None
        answer = case.outcome.answer if case.outcome.ended else ""
        return _ALL * max(rouge(answer, reference)[kind] for reference in references)

    return of


def _rated(least: Rating) -> _Measure:
    """Whether the judge rates the answer at least so high."""

    def of(case: Case) -> float | None:
        if case.rating is None:
            return None
        return _percent(case.rating >= least)

    return of


def _page_recall(case: Case) -> float | None:
    gold_pages = pages_with(case.question.gold_places, case.pages)
    if not gold_pages:
        return None
    looked_up = gold_pages & set(case.outcome.lookups)
    return _ALL * len(looked_up) / len(gold_pages)


def _gold_coverage(case: Case) -> float | None:
    gold_places = case.question.gold_places
    if not gold_places:
        return None
    return _ALL * covered_share(gold_places, case.outcome.seen)


def _if_ended(of: Callable[[Outcome], float]) -> _Measure:
    """A value of the outcome, unless the question failed."""
    return lambda case: of(case.outcome) if case.outcome.ended else None


def _if_known(of: Callable[[Outcome], bool | None]) -> _Measure:
    """Whether something holds for the outcome, if that is known."""

    def measure(case: Case) -> float | None:
        holds = of(case.outcome)
        return None if holds is None else _percent(holds)

    return measure


def _used(of: Callable[[Usage], int]) -> _Measure:
    """Tokens used."""
    return lambda case: float(of(case.outcome.usage))


def _percent(holds: bool) -> float:
    """100 or 0, whose mean is the share in per cent."""
    return _ALL if holds else 0.0


_AGREES_PARTLY = _rated(Rating.PARTIAL)
_NOT_FOUND = _if_ended(lambda outcome: _percent(not outcome.has_answer))
_QUOTES_HOLD = _if_known(lambda outcome: outcome.quotes_hold)
_UNSUPPORTED = _if_known(lambda outcome: outcome.unsupported)
_COMPRESSION_RATE = _if_ended(lambda outcome: outcome.compression_rate)
_PREFILLED = _used(lambda usage: usage.prefilled)
_PROMPT = _used(lambda usage: usage.prefilled + usage.reused)
_CONTEXT = _if_ended(lambda outcome: float(outcome.context_tokens))

_METRICS = (
    Metric("accuracy", "the right option was chosen", "%", True, _accuracy),
    Metric(
        "lr-1",
        "agrees with a reference, by the judge (LLM rating 1)",
        "%",
        True,
        _rated(Rating.EXACT),
    ),
    Metric(
        "lr-2",
        "agrees with a reference at least partly, by the judge (LLM rating 2)",
        "%",
        True,
        _AGREES_PARTLY,
    ),
    Metric(
        "rouge-1",
        "words shared with a reference, F measure",
        "%",
        True,
        _rouge("rouge1"),
    ),
    Metric(
        "rouge-2",
        "pairs of words shared with a reference, F measure",
        "%",
        True,
        _rouge("rouge2"),
    ),
    Metric(
        "rouge-l",
        "longest common subsequence of words with a reference, F measure",
        "%",
        True,
        _rouge("rougeL"),
    ),
    Metric(
        "f1",
        "words shared with a reference, as SQuAD counts them",
        "%",
        True,
        _matched(token_f1),
    ),
    Metric(
        "exact-match",
        "the same words as a reference, as SQuAD compares them",
        "%",
        True,
        _matched(exact_match),
    ),
    Metric(
        "page-recall",
        "share of the pages with the answer that were looked up",
        "%",
        True,
        _page_recall,
    ),
    Metric(
        "gold-coverage",
        "share of the text with the answer that the model saw",
        "%",
        True,
        _gold_coverage,
    ),
    Metric(
        "not-found",
        "said that the book does not say, though it does",
        "%",
        False,
        _NOT_FOUND,
    ),
    Metric(
        "quotes",
        "every quote shown is in the book word for word",
        "%",
        True,
        _QUOTES_HOLD,
    ),
    Metric(
        "unsupported",
        "marked as not supported by the text, or replaced by a quotation",
        "%",
        None,
        _UNSUPPORTED,
    ),
    Metric(
        "ended",
        "questions that got an answer",
        "%",
        True,
        lambda case: _percent(case.outcome.ended),
    ),
    Metric(
        "compression-rate",
        "100·(1 − words in the prompt ÷ words of the book)",
        "%",
        True,
        _COMPRESSION_RATE,
    ),
    Metric(
        "lookups",
        "pages looked up",
        "pages",
        None,
        lambda case: float(len(case.outcome.lookups)),
    ),
    Metric(
        "context-tokens",
        "tokens of book and gists in the prompt of the answer",
        "tokens",
        False,
        _CONTEXT,
    ),
    Metric(
        "prefilled-tokens",
        "prompt tokens evaluated, without reused ones",
        "tokens",
        False,
        _PREFILLED,
    ),
    Metric(
        "prompt-tokens",
        "prompt tokens of all steps, reused ones included",
        "tokens",
        False,
        _PROMPT,
    ),
    Metric(
        "seconds",
        "time to the whole answer",
        "s",
        False,
        lambda case: case.outcome.seconds,
    ),
)
# Every metric by name: of the answer, of its sources, of its cost.
METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for metric in _METRICS}
)

# Metrics of every task, in addition to `Task.metrics`.
COSTS = (
    "ended",
    "not-found",
    "quotes",
    "unsupported",
    "compression-rate",
    "lookups",
    "context-tokens",
    "prompt-tokens",
    "prefilled-tokens",
    "seconds",
)
