"""Makes a gist of a page's own sentences: the most telling, or those nearest to the model's.

It replaces the gist of a model whose attempts failed the guard.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import log, sqrt

from gistread.book.sentences import sentence_spans
from gistread.words import UNSPACED, count_words

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_UNSPACED = re.compile(f"[{UNSPACED}]+")
CHARACTERS_PER_WORD = (
    16  # A text with longer words is assumed to have no spaces; its characters count instead
)
_MEAN_WORD_CHARACTERS = 6  # Space included
_SHORTEST_STEM = 4
_MIN_SENTENCE_WORDS = 4  # A shorter sentence means little without the one before it
_TASK_WEIGHT = 1000.0  # Weight of a word of the task: more than all words of the page together
_LONG_WORD = 8
_LEAST_WORTH = 0.3  # Share of the best sentence's score that a quoted one has at least
_LEADING_BONUS = 1.25  # The first sentence of a page sets the scene


def extract(text: str, budget_words: int, task: str = "") -> str:
    """About `budget_words` words of whole sentences in order, preferring words of the `task`."""
    sentences = _sentences(text)
    if not sentences or length(text) <= budget_words:
        return " ".join(sentences)
    chosen = choose(sentences, budget_words, task)
    if chosen:
        return " ".join(sentences[index] for index in chosen)
    return _beginning(sentences, budget_words)


def quote(text: str, gist: str, budget_words: int) -> str:
    """About `budget_words` words of whole sentences in order.

    Those that have most words of a gist of this text.
    """
    sentences = _sentences(text)
    terms, spread = _terms(sentences)
    told = {
        term: log(len(sentences) / spread[term]) for term in set(shared_terms(gist)) & spread.keys()
    }

    def worth(index: int, said: set[str]) -> float:
        return sum(told.get(term, 0.0) for term in terms[index].keys() - said) / sqrt(
            4 + terms[index].total()
        )

    least = _LEAST_WORTH * max(
        (worth(index, set()) for index in range(len(sentences))), default=0.0
    )
    chosen = _choose(
        sentences, terms, budget_words, lambda *choice: max(0.0, worth(*choice) - least)
    )
    return " ".join(sentences[index] for index in chosen) or extract(text, budget_words)


def choose(sentences: Sequence[str], budget_words: int, task: str = "") -> list[int]:
    """Indices of the sentences that share most terms with the others, about `budget_words` words in
    all.
    """
    terms, spread = _terms(sentences)
    common = max(3.0, 0.25 * len(terms))
    # The number of a term's sentences, or 0 for the commonest terms (articles …).
    weight = {term: float(count - 1) if count <= common else 0.0 for term, count in spread.items()}
    nearness = _nearness(terms, spread, task)

    def score(index: int, said: set[str]) -> float:
        new = sum(weight[term] for term in terms[index] if term not in said)
        return _LEADING_BONUS ** (not index) * new / (4 + terms[index].total()) + nearness[index]

    return _choose(sentences, terms, budget_words, score)


def _terms(sentences: Sequence[str]) -> tuple[list[Counter[str]], Counter[str]]:
    """The terms of each sentence, and how many sentences have each term."""
    terms = [Counter(shared_terms(sentence)) for sentence in sentences]
    return terms, Counter(term for found in terms for term in found)


def _choose(
    sentences: Sequence[str],
    terms: Sequence[Counter[str]],
    budget_words: int,
    score: Callable[[int, set[str]], float],
) -> list[int]:
    """Choose one sentence after the other by its score, given the terms of those chosen before."""
    sizes = list(map(length, sentences))
    chosen = set[int]()
    said = set[str]()
    words = 0
    while fitting := [
        index
        for index, size in enumerate(sizes)
        if index not in chosen
        and _MIN_SENTENCE_WORDS <= size <= budget_words * 1.1 - words
        and score(index, said) > 0
    ]:
        best = max(fitting, key=lambda index: score(index, said))
        chosen.add(best)
        said |= terms[best].keys()
        words += sizes[best]
    return sorted(chosen)


def _sentences(text: str) -> list[str]:
    return [
        _closed(" ".join(paragraph[start:end].split()))
        for paragraph in text.split("\n\n")
        for start, end in sentence_spans(paragraph)
        if paragraph[start:end].strip()
    ]


def _closed(sentence: str) -> str:
    """The sentence with both quotation marks, where a speech of several sentences began or ended in
    it.
    """
    missing = sentence.count("“") - sentence.count("”")
    if missing > 0:
        return f"{sentence}”"
    return f"“{sentence}" if missing < 0 else sentence


def shared_terms(text: str) -> list[str]:
    """Terms to compare texts by: crude stems, or pairs of characters in scripts without spaces."""
    terms: list[str] = []
    for run in _UNSPACED.findall(text):
        terms += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    for word in _WORD.findall(_UNSPACED.sub(" ", text)):
        folded = word.casefold()
        terms.append(folded[: max(_SHORTEST_STEM, len(folded) - 2)])
    return terms


def _nearness(terms: list[Counter[str]], spread: Counter[str], task: str) -> list[float]:
    """How many terms of the task each sentence has; rare terms count more."""
    # In every language, long words carry the meaning and short ones (what, about) are in every
    # question.
    asked = {
        term: min(1.0, len(word) / _LONG_WORD) ** 2
        for word in task.split()
        for term in shared_terms(word)
    }
    telling = {
        term: share * log(1 + len(terms) / spread[term])
        for term, share in asked.items()
        if spread[term]
    }
    return [
        _TASK_WEIGHT * sum(telling.get(term, 0.0) for term in found) / (4 + sum(found.values()))
        for found in terms
    ]


def _beginning(sentences: list[str], budget_words: int) -> str:
    telling = [
        sentence for sentence in sentences if length(sentence) >= _MIN_SENTENCE_WORDS
    ] or sentences
    words, taken = 0, 0
    while taken < len(telling) and words + length(telling[taken]) <= budget_words * 1.1:
        words += length(telling[taken])
        taken += 1
    return " ".join(telling[:taken]) or _cut(telling[0], budget_words)


def _cut(sentence: str, budget_words: int) -> str:
    words = sentence.split()
    if len(words) > budget_words:
        return " ".join(words[:budget_words]) + " …"
    if length(sentence) <= 2 * budget_words:
        return sentence
    if count_words(sentence) > 2 * budget_words:
        characters = budget_words
    else:
        characters = budget_words * _MEAN_WORD_CHARACTERS
    return sentence[:characters] + "…"


def length(text: str) -> int:
    """The words of a text, or what its characters amount to in a script without spaces."""
    return max(count_words(text), len(text) // CHARACTERS_PER_WORD)
