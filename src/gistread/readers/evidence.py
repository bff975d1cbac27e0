"""Compares the sentences of a book with what an answer says."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache

from gistread.book.model import Book, ParagraphKind
from gistread.book.numbers import numbers_in
from gistread.book.sentences import sentence_spans
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, overlaps, sentences_of
from gistread.readers.phrases import pattern
from gistread.readers.thread import REFERENCE
from gistread.search.tokens import Terms, code_of, language_of, stop_words
from gistread.store.model import Citation

_QUESTION_WEIGHT = 0.5  # Of the question's words, relative to those of the answer
_NEIGHBOUR_WEIGHT = 0.5  # Of the words in the sentences before and after
_ASKING_WEIGHT = 0.7  # Of a sentence that asks: it seldom tells
# A further sentence with this share of the best score leaves in doubt which one tells a statement.
# With these two shares, a model that names a right sentence finds the source of 60 of 64 statements
# on a page and of 60 of 66 in a part; with 0.6 and 0.45 it is 57 and 59, for 1.4% fewer tokens.
_DOUBT_SHARE = 0.5
# If the nearest sentence of a page has this share of a statement's words, there is no doubt.
_SURE_SHARE = 0.6
# Characters; a longer place is a part of a book, with too many sentences
_LONGEST_PAGE = 5_000
_NEIGHBOURS = 2  # Sentences on each side of the one that tells a note
_STUB_TERMS = 4  # Fewer content words: a stub of dialogue, such as `"A sign," he said`
_STUB_WEIGHT = 0.7
_STEM_LETTERS = 6  # "Greedier" counts as "greedy"
_LEAST_QUOTED_WORDS = 3  # Shorter quotations are not looked for
_ONE = "1"
_ONE_WEIGHT = 0.25  # Of the number one, which seldom counts: "one of the dogs"
_QUESTION_ONLY_WEIGHT = 0.5  # Of a sentence that has words of the question alone
_DATE_DIGITS = 3  # Least digits of a number that tells something alone, as a date does
_LENGTH_WORDS = 120.0  # A sentence with this many content words needs twice the score
_LABEL = re.compile(r"^[ \t]*\d{1,2}[.)](?=\s)", re.MULTILINE)  # Of an item of a list
_SMOOTHING = 0.5  # Of a term's rarity, as in BM25
# Of the whole answer's words, relative to those of the citing statement
_ANSWER_WEIGHT = 0.5


def statement_spans(answer: str) -> list[tuple[int, int]]:
    """(start, end) of every sentence or line with letters, or of an answer that is a number."""
    spans: list[tuple[int, int]] = []
    for line in re.finditer(r"[^\n]+", answer):
        for start, end in sentence_spans(line[0]):
            has_letters = re.search(r"[^\W\d_]", line[0][start:end])
            if has_letters:
                spans.append((line.start() + start, line.start() + end))
    if spans:
        return spans
    number = answer.strip()
    if not re.search(r"\d", number):
        return []
    return [(answer.index(number), len(answer.rstrip()))]


def citation_of(place: Passage, memory: GistMemory) -> Citation:
    start, end = place
    page = memory.page_at(start)
    number = page.number if page else 0
    return Citation(number, start, end, memory.book.text[start:end])


@dataclass(frozen=True, slots=True)
class Sentence:
    place: Passage
    terms: frozenset[str]  # Stems of its content words, and numbers
    # Whether it is from a gist; then the place is that of the page
    is_gist: bool = False


class _Weights:
    """How much each term of a statement and its question counts."""

    def __init__(
        self, by_term: Mapping[str, float], of_statement: frozenset[str]
    ) -> None:
        self.by_term = by_term
        self.of_statement = of_statement
        self._counts = {
            term for term in by_term if term.isdecimal() and len(term) < _DATE_DIGITS
        }
        self._has_more = bool(of_statement - self._counts)

    def shared_with(self, sentence: Sentence) -> Set[str]:
        """The terms that a sentence has too.

        None if it shares only a count and the statement has more: otherwise "nine people" would
        match "nine o'clock".
        """
        shared = self.by_term.keys() & sentence.terms
        if self._has_more and not shared - self._counts:
            return frozenset()
        return shared


class Evidence:
    """Scores sentences of a book against statements by the rarity of the words they share."""

    def __init__(
        self, question: str, memory: GistMemory, places: Iterable[Passage]
    ) -> None:
        self._memory = memory
        terms = Terms(memory.book.language)
        self._words_of = terms.words
        self._language = code_of(memory.book.language)
        self._question_language = language_of(question, self._language)
        self._stem = cache(terms.stem)
        self._is_number = cache(lambda word: any(numbers_in(word)))
        self._stop_words = terms.stop_words or stop_words()["en"]
        self._of_question = self._content(question)
        book = memory.book
        spans = [
            span
            for place in places
            for span in sentences_of(book, *place)
            if _can_tell(book, span)
        ]
        self._sentences = [
            Sentence((start, end), self._content(book.text[start:end]))
            for start, end in spans
        ]
        # In how many sentences each term is
        self._frequencies = Counter(
            term for sentence in self._sentences for term in sentence.terms
        )

    @property
    def is_asked_in_language_of_book(self) -> bool:
        return self._question_language == self._language

    def best(self, answer: str, statement: str, place: Passage) -> Citation:
        """The sentence of the place nearest to this statement of the answer.

        The longest if none shares a word.
        """
        nearest = self.nearest(answer, statement, place)
        if nearest:
            best, _ = nearest[0]
            return best
        spans = list(sentences_of(self._memory.book, *place)) or [place]
        longest = max(spans, key=lambda span: span[1] - span[0])
        return citation_of(longest, self._memory)

    def nearest(
        self, answer: str, statement: str, place: Passage
    ) -> list[tuple[Citation, float]]:
        """The sentences of the place with their scores, the nearest to this statement first."""
        scores: dict[Citation, float] = defaultdict(
            float, self.ranked(statement, [place])
        )
        for citation, score in self.ranked(answer, [place]):
            scores[citation] += _ANSWER_WEIGHT * score
        return sorted(scores.items(), key=lambda scored: -scored[1])

    def possible(self, answer: str, statement: str, place: Passage) -> list[Citation]:
        """The sentences of the place that may tell this statement of the answer, best first.

        Only the best if it surely does.
        """
        nearest = self.nearest(answer, statement, place)
        if not nearest:
            return []
        best, _ = nearest[0]
        start, end = place
        is_page = end - start <= _LONGEST_PAGE
        if is_page and self.covered(statement, best) >= _SURE_SHARE:
            return [best]
        return almost_nearest(nearest)

    def covered(self, statement: str, citation: Citation) -> float:
        """Share of a statement's words that a sentence has, weighted by their rarity."""
        terms = self._content(statement)
        weights = {term: self._rarity(term) or self._most_rare for term in terms}
        total = sum(weights.values()) or 1.0
        shared = terms & self._content(citation.quote)
        return sum(weights[term] for term in shared) / total

    @property
    def _most_rare(self) -> float:
        """The weight of a term that one sentence has."""
        others = max(0.0, len(self._sentences) - 1 + _SMOOTHING)
        return math.log(1 + others / (1 + _SMOOTHING))

    def share(self, statement: str) -> float:
        """Share of a statement's content words and numbers that these sentences have."""
        terms = self._content(statement)
        if not terms:
            return 0.0
        shared = terms & self._frequencies.keys()
        return len(shared) / len(terms)

    def ranked(
        self, statement: str, places: Sequence[Passage] = ()
    ) -> list[tuple[Citation, float]]:
        """The sentences that share a word with the statement or the question, the nearest first."""
        weights = self._weights(statement)
        of_statement = weights.of_statement
        is_about_asking = bool(pattern("tells_of_asking").search(statement))
        quotations = _quotations_of(statement)
        shared = [weights.shared_with(sentence) for sentence in self._sentences]
        alone = [sum(weights.by_term[term] for term in terms) for terms in shared]
        # Of the sentence before and after each; the first and the last lack one.
        before, after = [0.0, *alone[:-1]], [*alone[1:], 0.0]
        scored: list[tuple[Citation, float]] = []
        for index, sentence in enumerate(self._sentences):
            if not alone[index]:
                continue
            if places and not overlaps(places, sentence.place):
                continue
            neighbours = before[index] + after[index]
            score = alone[index] + _NEIGHBOUR_WEIGHT * neighbours / 2
            citation = citation_of(sentence.place, self._memory)
            score *= _weight_of(
                citation.quote, sentence.terms, of_statement, is_about_asking
            )
            if not of_statement & sentence.terms:
                score *= _QUESTION_ONLY_WEIGHT
            if quotations:
                letters = _letters_of(citation.quote)
                # A quotation is as good as all words of the statement.
                if any(quotation in letters for quotation in quotations):
                    score += sum(weights.by_term.values())
            scored.append((citation, score))
        return sorted(scored, key=lambda pair: -pair[1])

    def _weights(self, statement: str) -> "_Weights":
        """The terms of a statement and the question by rarity; those of the question count less."""
        # A statement in another language shares only names and numbers with the book.
        language = language_of(statement, self._question_language)
        stop_terms = frozenset[str]()
        if language != self._language:
            stop_terms = self._content(" ".join(stop_words()[language]))
        of_statement = self._content(statement) - stop_terms
        of_question = self._of_question - stop_terms
        weights: dict[str, float] = {}
        for term in of_statement | of_question:
            weights[term] = self._rarity(term)
            if term not in of_statement:
                weights[term] *= _QUESTION_WEIGHT
        if _ONE in weights:
            weights[_ONE] *= _ONE_WEIGHT
        return _Weights(weights, of_statement)

    def _rarity(self, term: str) -> float:
        """The inverse document frequency, as in BM25; 0 for a term that no sentence has."""
        frequency = self._frequencies[term]
        if not frequency:
            return 0.0
        others = len(self._sentences) - frequency
        return math.log(1 + (others + _SMOOTHING) / (frequency + _SMOOTHING))

    def _content(self, text: str) -> frozenset[str]:
        """Stems of the content words, and numbers as digits."""
        text = _LABEL.sub(" ", REFERENCE.sub(" ", text))
        words = [
            word
            for word in self._words_of(text)
            if word not in self._stop_words and not self._is_number(word)
        ]
        stems = [
            self._stem(word.removesuffix("'s"))[:_STEM_LETTERS]
            for word in words
            if len(word) > 1 or not word.isascii()
        ]
        return frozenset(stems) | {str(value) for value, _ in numbers_in(text)}


def _can_tell(book: Book, span: Passage) -> bool:
    """Whether there is text that is not a heading: "The Lime Kiln" tells nothing."""
    start, end = span
    kind = book.paragraphs[book.paragraph_index(start)].kind
    return kind is not ParagraphKind.HEADING and bool(book.text[start:end].strip())


def _quotations_of(statement: str) -> list[str]:
    """The letters of each quotation in a statement."""
    quotations = [match[0] for match in pattern("quotation").finditer(statement)]
    return [
        _letters_of(quotation)
        for quotation in quotations
        if len(quotation.split()) >= _LEAST_QUOTED_WORDS
    ]


def _letters_of(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _weight_of(
    quote: str,
    terms: frozenset[str],
    of_statement: frozenset[str],
    is_about_asking: bool,
) -> float:
    """How much a sentence with these terms counts by its form.

    `of_statement`: the terms of the statement. `is_about_asking`: the statement tells that somebody
    asks.
    """
    weight = 1 / (1 + len(terms) / _LENGTH_WORDS)
    if "?" in quote and not is_about_asking:
        weight *= _ASKING_WEIGHT
    if len(terms) < min(_STUB_TERMS, len(of_statement)):
        weight *= _STUB_WEIGHT
    return weight


def almost_nearest(
    ranked: Sequence[tuple[Citation, float]], share: float = _DOUBT_SHARE
) -> list[Citation]:
    """The sentences with at least this share of the best score. `ranked`: the best first."""
    if not ranked:
        return []
    _, best = ranked[0]
    return [citation for citation, score in ranked if score >= share * best]


def telling_passage(
    note: str, question: str, place: Passage, memory: GistMemory
) -> Passage:
    """The sentence of a place that tells a note, with its neighbours.

    The whole place if no sentence does, or if several are about equally near. For a question in
    another language than the book's the nearest counts even so: the answer will share no words by
    which it could be found later.
    """
    evidence = Evidence(question, memory, [place])
    ranked = evidence.ranked(note, [place])
    if not ranked:
        return place
    is_in_doubt = len(almost_nearest(ranked)) > 1
    if is_in_doubt and evidence.is_asked_in_language_of_book:
        return place
    nearest, _ = ranked[0]
    sentences = list(sentences_of(memory.book, *place))
    starts = [start for start, _ in sentences]
    index = starts.index(nearest.start)
    first = max(0, index - _NEIGHBOURS)
    last = min(len(sentences) - 1, index + _NEIGHBOURS)
    _, end = sentences[last]
    return starts[first], end


class TellingSentences:
    """Finds the sentence of a passage that tells a statement, while the answer is written.

    Call it with the statement and the passage.
    """

    def __init__(self, question: str, memory: GistMemory) -> None:
        self._question = question
        self._memory = memory
        self._evidence: dict[Passage, Evidence] = {}

    def __call__(self, statement: str, place: Passage) -> Passage:
        if place not in self._evidence:
            self._evidence[place] = Evidence(self._question, self._memory, [place])
        citation = self._evidence[place].best(statement, statement, place)
        return citation.start, citation.end
