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
    answer_words, reference_words = _words(answer), _words(reference)
    if not answer_words or not reference_words:
        return float(answer_words == reference_words)
    shared = (Counter(answer_words) & Counter(reference_words)).total()
    return 2 * shared / (len(answer_words) + len(reference_words))


def _words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


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
    pages: tuple[
        Place, ...
    ] = ()  # Bounds of the memory's pages in order; empty for readers without a memory
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
    values = (
        (metric.name, metric.of(case))
        for metric in METRICS.values()
        if metric.name in chosen
    )
    return tuple((name, value) for name, value in values if value is not None)


def _accuracy(case: Case) -> float | None:
    if not case.question.choices:
        return None
    return _share(
        case.outcome.ended and case.outcome.choice == case.question.gold_choice
    )


def _matched(measure: Callable[[str, str], float]) -> Callable[[Case], float | None]:
    """ "Not found" is an empty answer."""

    def of(case: Case) -> float | None:
        question, outcome = case.question, case.outcome
        answer = outcome.answer if outcome.ended and outcome.has_answer else ""
        if not question.references:
            return None
        return _ALL * max(
            measure(answer, reference) for reference in question.references
        )

    return of


def _rouge(kind: str) -> Callable[[Case], float | None]:
    def of(case: Case) -> float | None:
        if not case.question.references:
            return None
        answer = case.outcome.answer if case.outcome.ended else ""
        return _ALL * max(
            rouge(answer, reference)[kind] for reference in case.question.references
        )

    return of


def _rated(least: Rating) -> Callable[[Case], float | None]:
    def of(case: Case) -> float | None:
        return None if case.rating is None else _share(case.rating >= least)

    return of


def _page_recall(case: Case) -> float | None:
    gold = pages_with(case.question.gold_places, case.pages)
    return _ALL * len(gold & set(case.outcome.lookups)) / len(gold) if gold else None


def _gold_coverage(case: Case) -> float | None:
    gold = case.question.gold_places
    return _ALL * covered_share(gold, case.outcome.seen) if gold else None


def _not_found(case: Case) -> float | None:
    return _share(not case.outcome.has_answer) if case.outcome.ended else None


def _if_ended(of: Callable[[Outcome], float]) -> Callable[[Case], float | None]:
    return lambda case: of(case.outcome) if case.outcome.ended else None


def _share(true: bool) -> float:
    return _ALL if true else 0.0


def _used(of: Callable[[Usage], int]) -> Callable[[Case], float | None]:
    return lambda case: float(of(case.outcome.usage))


def _if_known(of: Callable[[Outcome], bool | None]) -> Callable[[Case], float | None]:
    return lambda case: None if (true := of(case.outcome)) is None else _share(true)


_AGREES_PARTLY = _rated(Rating.PARTIAL)
_QUOTES_HOLD = _if_known(lambda outcome: outcome.quotes_hold)
_UNSUPPORTED = _if_known(lambda outcome: outcome.unsupported)
_COMPRESSION_RATE = _if_ended(lambda outcome: outcome.compression_rate)
_PREFILLED, _PROMPT = (
    _used(lambda usage: usage.prefilled),
    _used(lambda usage: usage.prefilled + usage.reused),
)
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
        _not_found,
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
        lambda case: _share(case.outcome.ended),
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
    *("ended", "not-found", "quotes", "unsupported", "compression-rate"),
    *("lookups", "context-tokens", "prompt-tokens", "prefilled-tokens", "seconds"),
)
