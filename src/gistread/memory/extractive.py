"""Makes a gist of a page's own sentences: the most telling, or those nearest to a model's gist.

It is used if the attempts of a model failed the guard, or if its gists must quote.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile
from math import log, sqrt

from gistread.book.sentences import sentence_spans
from gistread.units import close_speech
from gistread.word_patterns import UNSPACED
from gistread.words import count_words

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_UNSPACED = re.compile(f"[{UNSPACED}]+")
# A text with longer words is assumed to have no spaces; its characters count instead
CHARACTERS_PER_WORD = 16
_MEAN_WORD_CHARACTERS = 6  # Space included
_SHORTEST_STEM = 4
_ENDING = 2  # Letters at the end of a word that may be its inflection
_MIN_SENTENCE_WORDS = 4  # A shorter sentence means little without the one before it
# Weight of a word of the task: more than all words of the page together
_TASK_WEIGHT = 1000.0
_LONG_WORD = 8
_LEAST_WORTH = 0.3  # Least worth of a quoted sentence, as a share of the best
_MOST_OF_BUDGET = 1.1  # The budget may be exceeded by a tenth
# Added to a sentence's terms, so that short sentences do not always win
_DAMPING_TERMS = 4
# A term (an article …) is common if it is in more sentences than both of these.
_FEWEST_COMMON = 3.0
_COMMON_SHARE = 0.25  # Of all sentences
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
    """About `budget_words` words of whole sentences in order, those nearest to a gist of this text.

    A sentence is near if it has many words of the gist.
    """
    sentences = _sentences(text)
    terms, frequencies = _terms(sentences)
    in_gist = set(shared_terms(gist)) & frequencies.keys()
    weights = {term: log(len(sentences) / frequencies[term]) for term in in_gist}

    def worth(index: int, known: set[str]) -> float:
        """The weight of a sentence's terms that are not known yet."""
        new_terms = terms[index].keys() - known
        new_weight = sum(weights.get(term, 0.0) for term in new_terms)
        return new_weight / sqrt(_DAMPING_TERMS + terms[index].total())

    worths = [worth(index, set()) for index in range(len(sentences))]
    least_worth = _LEAST_WORTH * max(worths, default=0.0)

    def score(index: int, known: set[str]) -> float:
        # Sentences with a score of 0 are not chosen.
        return max(0.0, worth(index, known) - least_worth)

    chosen = _choose(sentences, terms, budget_words, score)
    if not chosen:
        return extract(text, budget_words)
    return " ".join(sentences[index] for index in chosen)


def choose(sentences: Sequence[str], budget_words: int, task: str = "") -> list[int]:
    """Indices of the sentences that share most terms with the others, of `budget_words` in all."""
    terms, frequencies = _terms(sentences)
    most_sentences = max(_FEWEST_COMMON, _COMMON_SHARE * len(terms))
    # In how many other sentences each term is; 0 for common terms (articles …)
    weights: dict[str, float] = {}
    for term, frequency in frequencies.items():
        is_common = frequency > most_sentences
        weights[term] = 0.0 if is_common else frequency - 1.0
    nearness = _nearness(terms, frequencies, task)

    def score(index: int, known: set[str]) -> float:
        new_weight = sum(weights[term] for term in terms[index] if term not in known)
        if index == 0:
            new_weight *= _LEADING_BONUS
        damped_weight = new_weight / (_DAMPING_TERMS + terms[index].total())
        return damped_weight + nearness[index]

    return _choose(sentences, terms, budget_words, score)


def _terms(sentences: Sequence[str]) -> tuple[list[Counter[str]], Counter[str]]:
    """The terms of each sentence, and how many sentences have each term."""
    terms = [Counter(shared_terms(sentence)) for sentence in sentences]
    frequencies = Counter(term for of_sentence in terms for term in of_sentence)
    return terms, frequencies


def _choose(
    sentences: Sequence[str],
    terms: Sequence[Counter[str]],
    budget_words: int,
    score: Callable[[int, set[str]], float],
) -> list[int]:
    """Choose one sentence after the other by its score, given the terms of those chosen before."""
    sizes = list(map(length, sentences))
    chosen = set[int]()
    known = set[str]()  # Terms of the chosen sentences
    words = 0
    while True:
        room = budget_words * _MOST_OF_BUDGET - words
        best = None
        best_score = 0.0
        for index, size in enumerate(sizes):
            if index in chosen or not _MIN_SENTENCE_WORDS <= size <= room:
                continue
            index_score = score(index, known)
            if index_score > best_score:
                best = index
                best_score = index_score
        if best is None:
            return sorted(chosen)
        chosen.add(best)
        known |= terms[best].keys()
        words += sizes[best]


def _sentences(text: str) -> list[str]:
    """The sentences, each on one line and with both marks of a quotation."""
    sentences: list[str] = []
    for paragraph in text.split("\n\n"):
        for start, end in sentence_spans(paragraph):
            words = paragraph[start:end].split()
            if words:
                sentences.append(close_speech(" ".join(words)))
    return sentences


def shared_terms(text: str) -> list[str]:
    """Terms to compare texts by: crude stems, or pairs of characters in scripts without spaces."""
    terms: list[str] = []
    for run in _UNSPACED.findall(text):
        pairs = max(1, len(run) - 1)  # A single character stands for a pair.
        terms += [run[start : start + 2] for start in range(pairs)]
    spaced_text = _UNSPACED.sub(" ", text)
    for word in _WORD.findall(spaced_text):
        folded = word.casefold()
        stem_length = max(_SHORTEST_STEM, len(folded) - _ENDING)
        terms.append(folded[:stem_length])
    return terms


def _nearness(
    terms_by_sentence: list[Counter[str]], frequencies: Counter[str], task: str
) -> list[float]:
    """The weighted share of each sentence's terms that are the task's; rare ones count more.

    `frequencies`: how many sentences have each term.
    """
    sentences = len(terms_by_sentence)
    weights: dict[str, float] = {}
    for word in task.split():
        # In every language, long words carry the meaning, and short ones (what, about) are in
        # every question.
        weight_of_length = min(1.0, len(word) / _LONG_WORD) ** 2
        for term in shared_terms(word):
            if frequencies[term]:
                rarity = log(1 + sentences / frequencies[term])
                weights[term] = weight_of_length * rarity
    nearness: list[float] = []
    for terms in terms_by_sentence:
        shared_weight = sum(weights.get(term, 0.0) for term in terms)
        near = _TASK_WEIGHT * shared_weight
        nearness.append(near / (_DAMPING_TERMS + terms.total()))
    return nearness


def _beginning(sentences: list[str], budget_words: int) -> str:
    """The first sentences of sufficient length, or the beginning of the first."""
    long = [
        sentence for sentence in sentences if length(sentence) >= _MIN_SENTENCE_WORDS
    ]
    candidates = long or sentences
    limit = budget_words * _MOST_OF_BUDGET
    totals = accumulate(map(length, candidates))
    fitting = sum(1 for _ in takewhile(lambda total: total <= limit, totals))
    return " ".join(candidates[:fitting]) or _cut(candidates[0], budget_words)


def _cut(sentence: str, budget_words: int) -> str:
    """The beginning of a sentence, also in a script without spaces."""
    words = sentence.split()
    if len(words) > budget_words:
        return " ".join(words[:budget_words]) + " …"
    # Few spaces: by characters it may be long all the same.
    most_words = 2 * budget_words
    if length(sentence) <= most_words:
        return sentence
    if count_words(sentence) > most_words:
        characters = budget_words  # Each character counts as a word.
    else:
        characters = budget_words * _MEAN_WORD_CHARACTERS
    return sentence[:characters] + "…"


def length(text: str) -> int:
    """The number of words; in a script without spaces, estimated from the characters."""
    return max(count_words(text), len(text) // CHARACTERS_PER_WORD)
