"""Finds the sentences of the book that tell what an answer says.

It looks in the passages that the answer cites, or in all that were shown.
Without numbers in the answer the nearest sentences are its sources, the first chosen by the model
in doubt.
"""

import asyncio
import contextlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gistread.book.model import Book, ParagraphKind
from gistread.book.numbers import numbers_in
from gistread.book.sentences import sentence_spans
from gistread.engine.protocol import choose_or
from gistread.errors import EngineError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, join, sentences_of, split_into_passages
from gistread.readers.answering import Asking, user_prompt
from gistread.readers.book_text import overlaps
from gistread.readers.events import Answered
from gistread.readers.thread import REFERENCE
from gistread.search.ranked import Relevance
from gistread.search.tokens import Terms, code_of, language_of, stop_words
from gistread.store.model import Citation

_MOST = 3  # Citations that the program finds itself
_FURTHER_PASSAGES = 4  # Of the whole book, beside those shown
_LEAST_SHARE = 2 / 3  # Least score of a further one, as a share of the best
_QUESTION_WEIGHT = 0.5  # Of the question's words, relative to those of the answer
_NEIGHBOUR_WEIGHT = 0.5  # Of the words in the sentences before and after
_ANSWER_WEIGHT = (
    0.5  # Of the words of the whole answer, relative to those of the statement that cites a passage
)
_ASKING_WEIGHT = 0.7  # Of a sentence that asks: it seldom tells
_STEM_LETTERS = 6  # "Greedier" counts as "greedy"
_DATE_DIGITS = 3  # Of numbers that tell something alone
_LENGTH_WORDS = 120.0  # A sentence with as many content words needs twice the score

_LISTED = re.compile(r"^[ \t]*(?:[-*•|]|\d+[.)])", re.MULTILINE)
_LABEL = re.compile(r"^[ \t]*\d{1,2}[.)](?=\s)", re.MULTILINE)  # Of an item of a list


def cite(
    answer: str,
    question: str,
    memory: GistMemory,
    places: Sequence[Passage],
    cited: Sequence[Passage] = (),
) -> tuple[Citation, ...]:
    """The sentences that tell what the answer says.

    `places`: what was shown of the book. `cited`: the passages that the answer cites as [1], [2] …;
    the citations then are as many, in this order. Without them up to three, the nearest to the
    answer first.
    """
    if cited:
        evidence = Evidence(question, memory, join([*places, *cited], memory.book))
        return tuple(
            evidence.best(answer, _citing(answer, number), place)
            for number, place in enumerate(cited, start=1)
        )
    return leading(nearest_sentences(answer, question, memory, places))


def nearest_sentences(
    answer: str,
    question: str,
    memory: GistMemory,
    places: Sequence[Passage],
    closed: Sequence[Passage] | None = None,
) -> list[tuple[Citation, float]]:
    """Sentences by their nearness to the answer as a whole or to one of its statements, the nearest
    first.

    `places`: what was shown of the book. The rest of it counts as well but for the places `closed`;
    None: nothing else.
    """
    parts = [answer[start:end] for start, end in statement_spans(answer)]
    if len(_LISTED.findall(answer)) < 2:
        parts.insert(0, answer)
    if closed is not None:
        said = [f"{question} {part}" for part in dict.fromkeys(parts)]
        places = join({*places, *_told_elsewhere(said, memory, closed)}, memory.book)
    evidence = Evidence(question, memory, places)
    found: dict[Citation, float] = {}
    for part in dict.fromkeys(parts):
        for citation, score in evidence.ranked(part):
            found[citation] = max(score, found.get(citation, 0.0))
    return sorted(found.items(), key=lambda one: -one[1])


def leading(ranked: Sequence[tuple[Citation, float]]) -> tuple[Citation, ...]:
    """The nearest sentences, while they are not much farther from the answer than the first."""
    return tuple(one for one, score in ranked[:_MOST] if score >= _LEAST_SHARE * ranked[0][1])


def _told_elsewhere(
    said: Iterable[str], memory: GistMemory, closed: Sequence[Passage]
) -> Iterator[Passage]:
    """The passages of the book nearest to what is said: a model may know more than it was shown."""
    passages = split_into_passages(memory.book)
    relevance = Relevance(
        [memory.book.text[start:end] for start, end in passages], memory.book.language
    )
    for part in said:
        scores = relevance.scores(REFERENCE.sub(" ", part))
        by_own_words = sorted(range(len(passages)), key=scores.alone.__getitem__, reverse=True)
        for index in {*scores.order[:_FURTHER_PASSAGES], *by_own_words[:_FURTHER_PASSAGES]}:
            if not overlaps(closed, passages[index]):
                yield passages[index]


def statement_spans(answer: str) -> list[tuple[int, int]]:
    """(start, end) of every sentence or line with letters, or of an answer that is a number."""
    found = [
        (line.start() + start, line.start() + end)
        for line in re.finditer(r"[^\n]+", answer)
        for start, end in sentence_spans(line[0])
        if re.search(r"[^\W\d_]", line[0][start:end])
    ]
    number = answer.strip()
    return found or (
        [(answer.index(number), len(answer.rstrip()))] if re.search(r"\d", number) else []
    )


def citation_of(place: Passage, memory: GistMemory) -> Citation:
    page = memory.page_at(place[0])
    return Citation(page.number if page else 0, *place, memory.book.text[slice(*place)])


def _citing(answer: str, number: int) -> str:
    """The statements that cite this number.

    References after the full stop belong to the sentence before.
    """
    spans = statement_spans(answer)
    said: list[str] = []
    for found in re.finditer(rf"(?:\[\d+\] ?)*\[{number}\]", answer):
        said += [
            answer[start:end] for start, end in spans if start <= max(0, found.start() - 2) < end
        ][:1]
    return " ".join(said) or answer


@dataclass(frozen=True, slots=True)
class Sentence:
    place: Passage
    terms: frozenset[str]  # Stems of its content words, and numbers
    is_gist: bool = False  # Whether it is one of a gist; the place is that of the page


class Evidence:
    """The sentences of some places of a book, compared with statements by the rarity of the words
    they share.
    """

    def __init__(self, question: str, memory: GistMemory, places: Iterable[Passage]) -> None:
        self._memory = memory
        terms = Terms(memory.book.language)
        self._words_of = terms.words
        self._language = code_of(memory.book.language)
        self._stem = cache(terms.stem)
        self._is_number = cache(lambda word: any(numbers_in(word)))
        self._stop_words = terms.stop_words or stop_words()["en"]
        self._asked = self._content(question)
        book = memory.book
        spans = [
            span for place in places for span in sentences_of(book, *place) if _can_tell(book, span)
        ]
        self._sentences = [Sentence(span, self._content(book.text[slice(*span)])) for span in spans]
        self._spread = Counter(term for one in self._sentences for term in one.terms)

    def best(self, answer: str, statement: str, place: Passage) -> Citation:
        """The sentence of the place nearest to this statement of the answer.

        The longest if none shares a word.
        """
        scores: dict[Citation, float] = defaultdict(float, self.ranked(statement, [place]))
        for citation, score in self.ranked(answer, [place]):
            scores[citation] += _ANSWER_WEIGHT * score
        if scores:
            return max(scores, key=scores.__getitem__)
        spans = list(sentences_of(self._memory.book, *place)) or [place]
        return citation_of(max(spans, key=lambda span: span[1] - span[0]), self._memory)

    def ranked(
        self, statement: str, places: Sequence[Passage] = ()
    ) -> list[tuple[Citation, float]]:
        """The sentences that share a word with the statement or the question, the nearest first."""
        # An answer in another language shares only names and numbers.
        language = language_of(statement, self._language)
        is_foreign = language != self._language
        small = self._content(" ".join(stop_words()[language])) if is_foreign else frozenset[str]()
        own, asked = self._content(statement) - small, self._asked - small
        weights = {
            term: self._rarity(term) * (1.0 if term in own else _QUESTION_WEIGHT)
            for term in own | asked
        }
        counts = {term for term in weights if term.isdecimal() and len(term) < _DATE_DIGITS}
        shared = [weights.keys() & one.terms for one in self._sentences]
        if (
            own - counts
        ):  # Another sentence may count as many of something else: "nine people", "nine o'clock"
            shared = [terms if terms - counts else set() for terms in shared]
        alone = [sum(weights[term] for term in terms) for terms in shared]
        padded = [0.0, *alone, 0.0]
        scored: list[tuple[Citation, float]] = []
        for at, one in enumerate(self._sentences):
            if not alone[at] or (places and not overlaps(places, one.place)):
                continue
            score = alone[at] + _NEIGHBOUR_WEIGHT * (padded[at] + padded[at + 2]) / 2
            citation = citation_of(one.place, self._memory)
            score *= (_ASKING_WEIGHT if "?" in citation.quote else 1.0) / (
                1 + len(one.terms) / _LENGTH_WORDS
            )
            scored.append((citation, score))
        return sorted(scored, key=lambda pair: -pair[1])

    def _rarity(self, term: str) -> float:
        count = self._spread[term]
        return math.log(1 + (len(self._sentences) - count + 0.5) / (count + 0.5)) if count else 0.0

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
    """Whether there is text that is no heading: "The Lime Kiln" tells nothing."""
    kind = book.paragraphs[book.paragraph_index(span[0])].kind
    return kind is not ParagraphKind.HEADING and bool(book.text[slice(*span)].strip())


MOST_OFFERED = (
    12  # Sentences to choose from; one of them tells 95% of answers (`tests/benchmarks/answers.py`)
)
_LONGEST_CHARACTERS = 200  # Of a sentence offered


async def with_sources(
    answered: Answered, asking: Asking, places: Sequence[Passage], closed: Sequence[Passage]
) -> Answered:
    """The answer with up to three citations. The model is asked for the first if several sentences
    are as near.

    `places`: what was shown of the book. `closed`: places that may not be cited.
    """
    question = asking.question
    memory = asking.memory
    answer = answered.answer
    ranked = await asyncio.to_thread(nearest_sentences, answer, question, memory, places, closed)
    found, offered = leading(ranked), [one for one, _ in ranked[:MOST_OFFERED]]
    if len(found) < 2:
        return replace(answered, citations=found)
    prompt = user_prompt(
        "source",
        text="\n".join(
            f"{n}. {one.quote[:_LONGEST_CHARACTERS]}" for n, one in enumerate(offered, start=1)
        ),
        question=question,
        answer=answer,
    )
    with contextlib.suppress(EngineError):  # The answer is kept if the model fails after it.
        choice = await choose_or(
            asking.engine, prompt, [str(n) for n in range(1, len(offered) + 1)], 0
        )
        first, usage = offered[choice.index], answered.usage + choice.usage
        found = (first, *(one for one in found if one != first))[: len(found)]
        return replace(answered, citations=found, usage=usage)
    return replace(answered, citations=found)
