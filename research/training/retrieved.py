"""Examples over what the program itself finds for a question.

Passages of a text, with marks where some is left out.
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
from research.training.packing import Example
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
        self._questions = [
            sum(bool(question.gold_places) for question in document.questions)
            for document in self._documents
        ]
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
        document = self._documents[at]
        shown = self._search(at, self._answered(at, chance).text, chance.choice(WORDS))
        text = render(shown, document.book)
        with_places = [
            question for question in document.questions if question.gold_places
        ]
        answered = [
            _question(question)
            for question in with_places
            if _covered(question.gold_places, shown) > WHOLE
        ]
        answered = chance.sample(answered, min(len(answered), MOST_BRANCHES))
        missing = [
            question
            for question in with_places
            if _covered(question.gold_places, shown) == 0 and not _tells(question, text)
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
        if chance.random() < OF_SAME_TEXT:
            return _question(chance.choice(missing))
        return _question(chance.choice(chance.choice(self._documents).questions))

    def _answered(self, at: int, chance: random.Random) -> model.Question:
        return chance.choice(
            [
                question
                for question in self._documents[at].questions
                if question.gold_places
            ]
        )

    def _indexed(self, at: int) -> tuple[list[Passage], Relevance]:
        book = self._documents[at].book
        passages = split_into_passages(book, 0)
        return passages, Relevance(
            [book.text[start:end] for start, end in passages], book.language
        )

    def _search(self, at: int, question: str, most_words: int) -> list[Passage]:
        book = self._documents[at].book
        passages, relevance = self._relevance(at)
        chosen: list[Passage] = []
        words = 0
        for start, end in (
            passages[index] for index in relevance.scores(question).order
        ):
            words += count_words(book.text[start:end])
            if chosen and words > most_words:
                break
            chosen.append((start, end))
        return join(chosen, book)


class NearestAlone(Retrieved):
    """One of the passages nearest to a question, with the sentences around it.

    So the program asks about novels. The other nearest passages share words with the question and
    do not answer it.
    """

    def examples(self, number: int) -> list[Example]:
        """The examples of one passage."""
        chance = random.Random(f"{self._seed} alone {number}")
        (at,) = chance.choices(range(len(self._documents)), self._questions)
        document = self._documents[at]
        drawn = self._answered(at, chance)
        book = document.book
        nearest = self._nearest(at, drawn.text)
        gold = [
            place for place in nearest if _covered(drawn.gold_places, [place]) > WHOLE
        ]
        gold = gold or with_surroundings(drawn.gold_places[:1], book)
        misses = [
            (start, end)
            for start, end in nearest
            if _covered(drawn.gold_places, [(start, end)]) == 0
            and not _tells(drawn, book.text[start:end])
        ]
        is_miss = bool(misses) and chance.random() < MISSES
        start, end = chance.choice(misses if is_miss else gold)
        text = book.text[start:end].strip()
        others = [
            _question(other)
            for other in document.questions
            if other != drawn and _covered(other.gold_places, [(start, end)]) > WHOLE
        ]
        question = _question(drawn)
        return [
            _example(question, text, NOT_SAID if is_miss else question.answer),
            *(_example(other, text, other.answer) for other in others[:MOST_BRANCHES]),
        ]

    def _nearest(self, at: int, question: str) -> list[Passage]:
        passages, relevance = self._relevance(at)
        order = relevance.scores(question).order[:NEAREST]
        return with_surroundings(
            [passages[index] for index in order], self._documents[at].book
        )


def _answer_example(question: Question, text: str, chance: random.Random) -> Example:
    task = "task_answer_always" if chance.random() < ALWAYS else "task_answer"
    return _example(question, text, question.answer, task)


def _example(
    question: Question, text: str, reply: str, task: str = "task_answer"
) -> Example:
    return Example(
        fill("answer_passages", task, text=text, question=question.text), reply
    )


def _question(question: model.Question) -> Question:
    references = tuple(map(sentence, question.references))
    return Question(tidy_question(question.text), references, frozenset())


def _tells(question: model.Question, text: str) -> bool:
    """Whether a text has every longer word of an answer, so that it may give that answer too."""
    words = set(re.findall(r"\w{4,}", text.lower()))
    return any(
        set(re.findall(r"\w{4,}", answer.lower())) <= words
        for answer in question.references
    )


def _covered(places: tuple[Passage, ...], shown: list[Passage]) -> float:
    """Share of these places that is shown."""
    length = max(1, sum(end - start for start, end in places))
    return (
        sum(
            max(0, min(end, until) - max(start, since))
            for start, end in places
            for since, until in shown
        )
        / length
    )
