"""How much of a reference an answer says in the same words: ROUGE, token F1, exact match, and whether it holds it.

All from 0 to 1, one answer against one reference. F1 and exact match are SQuAD's (Rajpurkar et al., 2016): both texts
without case, ASCII punctuation and English articles. ROUGE (Lin, 2004) is the package `rouge-score`'s, with stems.
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
    """1 where both are the same after normalisation, else 0."""
    return float(_words(answer) == _words(reference))


def contains(answer: str, reference: str) -> float:
    """1 where the words of the reference stand in the answer, one after the other, after the same normalisation."""
    said, wanted = _words(answer), _words(reference)
    runs = (said[start : start + len(wanted)] for start in range(len(said) - len(wanted) + 1))
    return float(bool(wanted) and wanted in runs)


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of precision and recall of the words, each counted as often as it stands there."""
    said, wanted = _words(answer), _words(reference)
    if not said or not wanted:
        return float(said == wanted)
    shared = (Counter(said) & Counter(wanted)).total()
    return 2 * shared / (len(said) + len(wanted))


def _words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


@lru_cache(maxsize=4096)
def rouge(answer: str, reference: str) -> Mapping[str, float]:
    """The F measure of each of `ROUGE_KINDS`.

    Its words are runs of ASCII letters and digits, so that figures compare with published ones: it is of no use for
    texts in other scripts. Raises GistreadError where the package is not installed.
    """
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
