"""Word overlap of an answer with a reference: ROUGE, token F1, exact match and containment, from 0 to 1.

F1 and exact match are SQuAD's (Rajpurkar et al., 2016), without case, ASCII punctuation and English articles. ROUGE
(Lin, 2004) comes from the package `rouge-score`, with stems.
"""

import re
import string
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from gistread.errors import GistreadError

ROUGE_KINDS = ("rouge1", "rouge2", "rougeL")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def exact_match(answer: str, reference: str) -> float:
    """1 if both are equal after normalisation, else 0."""
    return float(_words(answer) == _words(reference))


def contains(answer: str, reference: str) -> float:
    """1 if the normalised words of the reference occur in the answer consecutively, else 0."""
    said, wanted = _words(answer), _words(reference)
    runs = (said[start : start + len(wanted)] for start in range(len(said) - len(wanted) + 1))
    return float(bool(wanted) and wanted in runs)


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of precision and recall of the words, with repetitions."""
    said, wanted = _words(answer), _words(reference)
    if not said or not wanted:
        return float(said == wanted)
    shared = (Counter(said) & Counter(wanted)).total()
    return 2 * shared / (len(said) + len(wanted))


def _words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


@lru_cache(maxsize=4096)
def rouge(answer: str, reference: str) -> Mapping[str, float]:
    """The F measure of each of `ROUGE_KINDS`, over ASCII words only. Raises GistreadError without the package."""
    found = _scorer().score(reference, answer)
    return {kind: float(found[kind].fmeasure) for kind in ROUGE_KINDS}


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
