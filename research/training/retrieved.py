"""Examples over the passages of a text that the program itself finds for a question.

Marks show where text is left out.
"""

import random
import re
from collections.abc import Iterable
from functools import cache

from gistread.memory.passages import Passage, join, render, split_into_passages
from gistread.readers.one_by_one import with_surroundings
from gistread.search.ranked import Relevance
from gistread.words import count_words
from research.evaluation import model
from research.evaluation.model import Document
from research.training.examples import Example
from research.training.tales import (
    MOST_BRANCHES,
    NOT_SAID,
    Question,
    fill,
    sentence,
    tidy_question,
)

NEAREST = 6
"""Passages that a question is asked over one by one."""

MISSES = 0.15
"""Share of questions that `NearestAlone` asks over a passage without the answer."""

UNANSWERABLE = 0.15
"""Share of searches with a question that the whole text does not answer."""

UNSHOWN = 0.2
"""Share of searches with a question that the passages shown do not answer."""

OF_SAME_TEXT = 0.3
"""Share of these that are about the same text."""

ALWAYS = 0.15
"""Share of questions that are to be answered in any case."""

WHOLE = 0.98
"""Share of its places from which the answer to a question counts as shown."""

WORDS = (150, 220, 300, 440)
"""Words of passages: about 200 to 600 tokens."""


class Retrieved:
    """Passages for one question about a text, with every question that they answer.

    A text is drawn as often as it has questions.
    """

    def __init__(self, documents: Iterable[Document], seed: int) -> None:
        self._documents = list(documents)
        # How many questions each text answers
        self._questions = [len(_with_places(document)) for document in self._documents]
        self._seed = seed
        self._relevance = cache(self._indexed)

    def examples(self, number: int) -> list[Example]:
        """The examples of one search."""
        chance = random.Random(f"{self._seed} retrieved {number}")
        made: list[Example] = []
        while not made:
            (at,) = chance.choices(range(len(self._documents)), self._questions)
            made = self._examples_of(at, chance)
        chance.shuffle(made)
        return made

    def _examples_of(self, at: int, chance: random.Random) -> list[Example]:
        """The examples of one search in the text `at`, perhaps none."""
        document = self._documents[at]
        drawn = self._draw_answered(at, chance)
        shown = self._search(at, drawn.text, chance.choice(WORDS))
        text = render(shown, document.book)
        with_places = _with_places(document)
        answered = [
            _question(question)
            for question in with_places
            if _covered(question.gold_places, shown) > WHOLE
        ]
        answered = chance.sample(answered, min(len(answered), MOST_BRANCHES))
        missing = [
            question
            for question in with_places
            if _covered(question.gold_places, shown) == 0
            and not _may_answer(text, question)
        ]
        unanswered = self._unanswerable(document, chance)
        if (answered or unanswered) and missing and chance.random() < UNSHOWN:
            unanswered.append(self._unshown(missing, chance))
        return [
            *(_answer_example(question, text, chance) for question in answered),
            *(_example(question, text, NOT_SAID) for question in unanswered),
        ]

    @staticmethod
    def _unanswerable(document: Document, chance: random.Random) -> list[Question]:
        """Perhaps a question that the whole text does not answer."""
        unanswerable = [
            question for question in document.questions if not question.references
        ]
        if unanswerable and chance.random() < UNANSWERABLE:
            return [_question(chance.choice(unanswerable))]
        return []

    def _unshown(
        self, missing: list[model.Question], chance: random.Random
    ) -> Question:
        """One of the questions that the passages do not answer, or one about any text."""
        if chance.random() < OF_SAME_TEXT:
            return _question(chance.choice(missing))
        document = chance.choice(self._documents)
        return _question(chance.choice(document.questions))

    def _draw_answered(self, at: int, chance: random.Random) -> model.Question:
        """A question that the text `at` answers."""
        return chance.choice(_with_places(self._documents[at]))

    def _indexed(self, at: int) -> tuple[list[Passage], Relevance]:
        """The passages of a text, and their index."""
        book = self._documents[at].book
        passages = split_into_passages(book, 0)
        texts = [book.text[start:end] for start, end in passages]
        return passages, Relevance(texts, book.language)

    def _search(self, at: int, question: str, most_words: int) -> list[Passage]:
        """The passages nearest to a question, up to so many words, in the order of the text."""
        book = self._documents[at].book
        passages, relevance = self._relevance(at)
        chosen: list[Passage] = []
        words = 0
        for index in relevance.scores(question).order:
            start, end = passages[index]
            words += count_words(book.text[start:end])
            if chosen and words > most_words:
                break
            chosen.append((start, end))
        return join(chosen, book)


class NearestAlone(Retrieved):
    """One of the passages nearest to a question, with the sentences around it.

    This is how the program asks about novels. The other nearest passages share words with the
    question and do not answer it.
    """

    def examples(self, number: int) -> list[Example]:
        """The examples of one passage."""
        chance = random.Random(f"{self._seed} alone {number}")
        (at,) = chance.choices(range(len(self._documents)), self._questions)
        document = self._documents[at]
        drawn = self._draw_answered(at, chance)
        book = document.book
        nearest = self._nearest(at, drawn.text)
        hits = [
            place for place in nearest if _covered(drawn.gold_places, [place]) > WHOLE
        ]
        # The nearest passages may all lack the answer.
        hits = hits or with_surroundings(drawn.gold_places[:1], book)
        misses = [
            (start, end)
            for start, end in nearest
            if _covered(drawn.gold_places, [(start, end)]) == 0
            and not _may_answer(book.text[start:end], drawn)
        ]
        is_miss = bool(misses) and chance.random() < MISSES
        start, end = chance.choice(misses if is_miss else hits)
        text = book.text[start:end].strip()
        question = _question(drawn)
        examples = [_example(question, text, NOT_SAID if is_miss else question.answer)]
        others = [
            _question(other)
            for other in document.questions
            if other != drawn and _covered(other.gold_places, [(start, end)]) > WHOLE
        ]
        examples += [
            _example(other, text, other.answer) for other in others[:MOST_BRANCHES]
        ]
        return examples

    def _nearest(self, at: int, question: str) -> list[Passage]:
        """The passages nearest to a question, with the sentences around them."""
        passages, relevance = self._relevance(at)
        order = relevance.scores(question).order[:NEAREST]
        nearest = [passages[index] for index in order]
        return with_surroundings(nearest, self._documents[at].book)


def _with_places(document: Document) -> list[model.Question]:
    """The questions that a text answers."""
    return [question for question in document.questions if question.gold_places]


def _answer_example(question: Question, text: str, chance: random.Random) -> Example:
    task = "task_answer_always" if chance.random() < ALWAYS else "task_answer"
    return _example(question, text, question.answer, task)


def _example(
    question: Question, text: str, reply: str, task: str = "task_answer"
) -> Example:
    prompt = fill("answer_passages", task, text=text, question=question.text)
    return Example(prompt, reply)


def _question(question: model.Question) -> Question:
    """A question with its answers as sentences."""
    answers = tuple(map(sentence, question.references))
    return Question(tidy_question(question.text), answers, frozenset())


def _may_answer(text: str, question: model.Question) -> bool:
    """Whether a text has every longer word of an answer, so that it may give that answer too."""
    words = _long_words(text)
    return any(_long_words(answer) <= words for answer in question.references)


def _long_words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))


def _covered(places: tuple[Passage, ...], shown: list[Passage]) -> float:
    """Share of these places that is shown."""
    length = max(1, sum(end - start for start, end in places))
    covered = 0
    for start, end in places:
        for shown_start, shown_end in shown:
            covered += max(0, min(end, shown_end) - max(start, shown_start))
    return covered / length
