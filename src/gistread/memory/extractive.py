"""A gist made of the page's own sentences, for when the model's own words cannot be kept (design D6).

The sentences that stand for the most of the page are taken, in their order, within a budget of words. A
sentence stands for a page by the words that it shares with the rest of it; what has been said by a sentence
already taken counts no more. No model, no dictionary, any script.
"""

import re
from collections import Counter
from math import log

from gistread.book.normalise import count_words
from gistread.book.sentences import sentence_spans

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
CHARACTERS_PER_WORD = 16
"""More than this a word, and a text is taken for one without spaces: its length counts instead."""
_CHARACTERS_OF_A_WORD = 6
"""As many as a word has in the mean, its space included."""
_SHORTEST_STEM = 4
_FEWEST_WORDS = 4
"""A shorter sentence tells nothing without the one before it."""
_OF_THE_TASK = 1000.0
"""What a word of the task counts for beside one of the page: more than all of those together."""
_LONG_WORD = 8
_LEADING_BONUS = 1.25
"""The first sentence of a page says where we are."""


def extract(text: str, budget_words: int, task: str = "") -> str:
    """Sentences of `text`, in order, of about `budget_words` words together; all of it when it is that short.

    With a `task`, those that share words with it come before all others. A sentence that alone is much longer than
    the budget is cut between words, with an ellipsis.
    """
    sentences = _sentences(text)
    if not sentences or _length(text) <= budget_words:
        return " ".join(sentences)
    terms = [Counter(shared_terms(sentence)) for sentence in sentences]
    weight = _weights(terms)
    nearness = _nearness(terms, task)
    chosen: set[int] = set()
    said: set[str] = set()
    words = 0
    while True:
        scores = [
            _LEADING_BONUS ** (not index)
            * sum(weight[term] for term in found if term not in said)
            / (4 + sum(found.values()))
            + nearness[index]
            for index, found in enumerate(terms)
        ]
        fitting = [
            index
            for index, sentence in enumerate(sentences)
            if index not in chosen
            and scores[index] > 0
            and _FEWEST_WORDS <= _length(sentence) <= budget_words * 1.1 - words
        ]
        if not fitting:
            break
        best = max(fitting, key=lambda index: scores[index])
        chosen.add(best)
        said |= terms[best].keys()
        words += _length(sentences[best])
    if not chosen:
        return _beginning(sentences, budget_words)
    return " ".join(sentences[index] for index in sorted(chosen))


def _sentences(text: str) -> list[str]:
    """Sentences of every paragraph, each on one line."""
    return [
        " ".join(paragraph[start:end].split())
        for paragraph in text.split("\n\n")
        for start, end in sentence_spans(paragraph)
        if paragraph[start:end].strip()
    ]


def shared_terms(text: str) -> list[str]:
    """What two texts can share: the beginnings of words, and pairs of characters where no spaces stand."""
    terms: list[str] = []
    for run in _UNSPACED.findall(text):
        terms += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    for word in _WORD.findall(_UNSPACED.sub(" ", text)):
        folded = word.casefold()
        # A crude stem serves every language: what is shared matters here, not what it means.
        terms.append(folded[: max(_SHORTEST_STEM, len(folded) - 2)])
    return terms


def _weights(terms: list[Counter[str]]) -> dict[str, float]:
    """How much a term says of the page: in how many sentences it stands, the commonest (articles …) not counted."""
    spread = Counter(term for found in terms for term in found)
    common = max(3.0, 0.25 * len(terms))
    return {term: float(count - 1) if count <= common else 0.0 for term, count in spread.items()}


def _nearness(terms: list[Counter[str]], task: str) -> list[float]:
    """How much of a task each sentence speaks of: its terms, the more the fewer sentences have them."""
    spread = Counter(term for found in terms for term in found)
    # Long words are those of the matter; short ones (what, about) stand in every question, and no list of them
    # would do for every language.
    asked = {term: min(1.0, len(word) / _LONG_WORD) ** 2 for word in task.split() for term in shared_terms(word)}
    telling = {term: share * log(1 + len(terms) / spread[term]) for term, share in asked.items() if spread[term]}
    return [_OF_THE_TASK * sum(telling.get(term, 0.0) for term in found) / (4 + sum(found.values())) for found in terms]


def _beginning(sentences: list[str], budget_words: int) -> str:
    """The first sentences, for a page where none stands for the rest more than any other. Headings are passed over."""
    telling = [sentence for sentence in sentences if _length(sentence) >= _FEWEST_WORDS] or sentences
    words, taken = 0, 0
    while taken < len(telling) and words + _length(telling[taken]) <= budget_words * 1.1:
        words += _length(telling[taken])
        taken += 1
    return " ".join(telling[:taken]) or _cut(telling[0], budget_words)


def _cut(sentence: str, budget_words: int) -> str:
    """The beginning of a sentence."""
    words = sentence.split()
    if len(words) > budget_words:
        return " ".join(words[:budget_words]) + " …"
    if _length(sentence) <= 2 * budget_words:
        return sentence
    characters = budget_words if count_words(sentence) > 2 * budget_words else budget_words * _CHARACTERS_OF_A_WORD
    return sentence[:characters] + "…"


def _length(text: str) -> int:
    """Words, or what would be as long in a text that has hardly any."""
    return max(count_words(text), len(text) // CHARACTERS_PER_WORD)
