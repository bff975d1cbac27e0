"""Every metric as data: its name, what it says, whether more is better, its unit, and the function that tells it.

A metric looks at one question and at what one reader made of it; means over many are the business of `bootstrap.py`.
One that does not apply to a question says None, and the question does not count in its mean. A question that did not
end counts as answered wrongly wherever answers are judged: leaving it out would reward failure.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gistread.evaluation import overlap, places
from gistread.evaluation.judge import Rating
from gistread.evaluation.model import Outcome, Question

_ALL = 100.0


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and what one reader made of it."""

    question: Question
    outcome: Outcome
    pages: tuple[places.Place, ...] = ()
    """Bounds of the pages of the memory, the first page first. Empty for a reader that opens none."""
    rating: Rating | None = None
    """What the judge says of the answer; None without a judge."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    summary: str
    """One line."""
    unit: str
    """`%`: from 0 to 100."""
    more_is_better: bool | None
    """None: neither is."""
    of: Callable[[Case], float | None]


def scores(case: Case, names: Iterable[str] | None = None) -> tuple[tuple[str, float], ...]:
    """The metrics of these names (None: all) that apply, in the order of `METRICS`, as `Outcome.scores` keeps them.

    Raises GistreadError when ROUGE is among them and the package for it is not installed.
    """
    wanted = METRICS if names is None else set(names)
    found = ((metric.name, metric.of(case)) for metric in METRICS.values() if metric.name in wanted)
    return tuple((name, value) for name, value in found if value is not None)


def _accuracy(case: Case) -> float | None:
    if not case.question.choices:
        return None
    return _share(case.outcome.ended and case.outcome.choice == case.question.gold_choice)


def _exact_match(case: Case) -> float | None:
    return _matched(case, overlap.exact_match)


def _contains(case: Case) -> float | None:
    return _matched(case, overlap.contains)


def _f1(case: Case) -> float | None:
    return _matched(case, overlap.token_f1)


def _matched(case: Case, measure: Callable[[str, str], float]) -> float | None:
    """As SQuAD 2.0 has it: an answer that there is none is an empty one, and right where there is none."""
    question, outcome = case.question, case.outcome
    said = outcome.answer if outcome.ended and outcome.found else ""
    if not question.answerable:
        return _share(outcome.ended and not said)
    if not question.references:
        return None
    return _ALL * max(measure(said, reference) for reference in question.references)


def _rouge(kind: str) -> Callable[[Case], float | None]:
    def of(case: Case) -> float | None:
        if not case.question.references:
            return None
        answer = case.outcome.answer if case.outcome.ended else ""
        return _ALL * max(overlap.rouge(answer, reference)[kind] for reference in case.question.references)

    return of


def _rated(least: Rating) -> Callable[[Case], float | None]:
    def of(case: Case) -> float | None:
        return None if case.rating is None else _share(case.rating >= least)

    return of


def _gold_pages(case: Case) -> frozenset[int]:
    return places.pages_with(case.question.gold_places, case.pages)


def _page_recall(case: Case) -> float | None:
    gold = _gold_pages(case)
    return _ALL * len(gold.intersection(case.outcome.lookups)) / len(gold) if gold else None


def _any_page(case: Case) -> float | None:
    gold = _gold_pages(case)
    return _share(not gold.isdisjoint(case.outcome.lookups)) if gold else None


def _every_page(case: Case) -> float | None:
    gold = _gold_pages(case)
    return _share(gold.issubset(case.outcome.lookups)) if gold else None


def _page_precision(case: Case) -> float | None:
    opened, gold = set(case.outcome.lookups), _gold_pages(case)
    return _ALL * len(gold & opened) / len(opened) if gold and opened else None


def _gold_coverage(case: Case) -> float | None:
    gold = case.question.gold_places
    return _ALL * places.covered(gold, case.outcome.seen) if gold else None


def _not_found(case: Case) -> float | None:
    return _share(not case.outcome.found) if case.question.answerable and case.outcome.ended else None


def _refused(case: Case) -> float | None:
    return None if case.question.answerable else _share(case.outcome.ended and not case.outcome.found)


def _if_ended(of: Callable[[Outcome], float]) -> Callable[[Case], float | None]:
    """What is known once there was a prompt for the answer."""
    return lambda case: of(case.outcome) if case.outcome.ended else None


def _share(true: bool) -> float:
    return _ALL if true else 0.0


_METRICS = (
    Metric("accuracy", "the right one of the options was chosen", "%", True, _accuracy),
    Metric("lr-1", "agrees with a reference, the judge finds (LLM rating 1)", "%", True, _rated(Rating.EXACT)),
    Metric("lr-2", "agrees with one at least in part (LLM rating 2)", "%", True, _rated(Rating.PARTIAL)),
    Metric("rouge-1", "words shared with a reference, F measure", "%", True, _rouge("rouge1")),
    Metric("rouge-2", "pairs of words shared with a reference, F measure", "%", True, _rouge("rouge2")),
    Metric("rouge-l", "longest common subsequence of words with a reference, F measure", "%", True, _rouge("rougeL")),
    Metric("f1", "words shared with a reference, as SQuAD counts them", "%", True, _f1),
    Metric("exact-match", "the same words as a reference, as SQuAD compares them", "%", True, _exact_match),
    Metric("contains", "has the words of a reference in it", "%", True, _contains),
    Metric("page-recall", "share of the pages that hold the answer which were looked up", "%", True, _page_recall),
    Metric("page-any", "at least one page that holds the answer was looked up", "%", True, _any_page),
    Metric("page-all", "every page that holds the answer was looked up", "%", True, _every_page),
    Metric("page-precision", "share of the pages looked up that hold the answer", "%", True, _page_precision),
    Metric("gold-coverage", "share of the text that holds the answer which the model saw", "%", True, _gold_coverage),
    Metric("not-found", "said that the book does not say, though it does", "%", False, _not_found),
    Metric("refused", "said that the book does not say, where it does not", "%", True, _refused),
    Metric("ended", "questions that came to an answer", "%", True, lambda case: _share(case.outcome.ended)),
    Metric(
        "compression-rate",
        "100·(1 − words before the model ÷ words of the book)",
        "%",
        True,
        _if_ended(lambda outcome: outcome.compression_rate),
    ),
    Metric("lookups", "pages that were looked up", "pages", None, lambda case: float(len(case.outcome.lookups))),
    Metric(
        "context-tokens",
        "tokens of book and gists before the model for the answer",
        "tokens",
        False,
        _if_ended(lambda outcome: float(outcome.context_tokens)),
    ),
    Metric(
        "prefilled-tokens",
        "prompt tokens evaluated for the question, without those reused",
        "tokens",
        False,
        lambda case: float(case.outcome.usage.prefilled),
    ),
    Metric(
        "prompt-tokens",
        "prompt tokens of all steps, those reused too",
        "tokens",
        False,
        lambda case: float(case.outcome.usage.prefilled + case.outcome.usage.reused),
    ),
    Metric("seconds", "time to the whole answer", "s", False, lambda case: case.outcome.seconds),
)
METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _METRICS})
"""Every metric by its name: those of the answer, of the places it comes from, of what it cost."""

COSTS = (
    "ended",
    "not-found",
    "compression-rate",
    "lookups",
    "context-tokens",
    "prompt-tokens",
    "prefilled-tokens",
    "seconds",
)
"""What is told of every task, beside what `Task.metrics` names."""
