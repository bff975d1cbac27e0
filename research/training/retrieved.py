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
from research.evaluation.model import Document
from research.evaluation.model import Question as Asked
from research.training.packing import Example
from research.training.tales import MOST_BRANCHES, NOT_SAID, Question, fill, sentence, tidy_question

NEAREST = 6
"""Passages that a question is asked over one by one."""

MISSES = 0.15
"""Share of questions that `NearestAlone` asks over a passage without the answer."""

WORDS = (150, 220, 300, 440)
"""Words of passages: about 200 to 600 tokens."""


class Retrieved:
    """Passages found for one question about a text, with every question about the text that they
    answer.

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
            document = self._documents[at]
            shown = self._found(at, self._answered(at, chance).text, chance.choice(WORDS))
            text = render(shown, document.book)
            covered = [
                (question, _covered(question.gold_places, shown))
                for question in document.questions
                if question.gold_places
            ]
            asked = [(_question(one), True) for one, share in covered if share > 0.98]
            asked = chance.sample(asked, min(len(asked), MOST_BRANCHES))
            missing = [one for one, share in covered if share == 0 and not _tells(one, text)]
            unanswerable = [question for question in document.questions if not question.references]
            if unanswerable and chance.random() < 0.15:
                asked.append((_question(chance.choice(unanswerable)), False))
            if asked and missing and chance.random() < 0.2:
                if chance.random() < 0.3:
                    others = missing
                else:
                    others = chance.choice(self._documents).questions
                asked.append((_question(chance.choice(others)), False))
            for one, found in asked:
                task = "task_answer_always" if found and chance.random() < 0.15 else "task_answer"
                prompt = fill("answer_passages", task, text=text, question=one.text)
                made.append(Example(prompt, one.answer if found else NOT_SAID))
        chance.shuffle(made)
        return made

    def _answered(self, at: int, chance: random.Random) -> Asked:
        return chance.choice(
            [question for question in self._documents[at].questions if question.gold_places]
        )

    def _indexed(self, at: int) -> tuple[list[Passage], Relevance]:
        book = self._documents[at].book
        passages = split_into_passages(book, 0)
        return passages, Relevance([book.text[start:end] for start, end in passages], book.language)

    def _found(self, at: int, question: str, most_words: int) -> list[Passage]:
        book = self._documents[at].book
        passages, relevance = self._relevance(at)
        chosen: list[Passage] = []
        words = 0
        for start, end in (passages[index] for index in relevance.scores(question).order):
            words += count_words(book.text[start:end])
            if chosen and words > most_words:
                break
            chosen.append((start, end))
        return join(chosen, book)


class NearestAlone(Retrieved):
    """One of the passages nearest to a question, with the sentences around it, as the program asks
    about novels.

    The other nearest passages share words with the question and do not answer it.
    """

    def examples(self, number: int) -> list[Example]:
        """The examples of one passage."""
        chance = random.Random(f"{self._seed} alone {number}")
        (at,) = chance.choices(range(len(self._documents)), self._questions)
        document, asked = self._documents[at], self._answered(at, chance)
        book = document.book
        passages, relevance = self._relevance(at)
        order = relevance.scores(asked.text).order[:NEAREST]
        nearest = with_surroundings([passages[index] for index in order], book)
        gold = [one for one in nearest if _covered(asked.gold_places, [one]) > 0.98]
        gold = gold or with_surroundings(asked.gold_places[:1], book)
        misses = [
            one
            for one in nearest
            if _covered(asked.gold_places, [one]) == 0
            and not _tells(asked, book.text[one[0] : one[1]])
        ]
        is_miss = bool(misses) and chance.random() < MISSES
        start, end = chance.choice(misses if is_miss else gold)
        text = book.text[start:end].strip()
        others = [
            one
            for one in document.questions
            if one != asked and _covered(one.gold_places, [(start, end)]) > 0.98
        ]
        made = []
        for one, told in [
            (asked, not is_miss),
            *((other, True) for other in others[:MOST_BRANCHES]),
        ]:
            question = _question(one)
            reply = question.answer if told else NOT_SAID
            made.append(
                Example(
                    fill("answer_passages", "task_answer", text=text, question=question.text), reply
                )
            )
        return made


def _question(asked: Asked) -> Question:
    return Question(tidy_question(asked.text), tuple(map(sentence, asked.references)), frozenset())


def _tells(asked: Asked, text: str) -> bool:
    """Whether a text has every longer word of an answer, so that it may give that answer too."""
    words = set(re.findall(r"\w{4,}", text.lower()))
    return any(set(re.findall(r"\w{4,}", answer.lower())) <= words for answer in asked.references)


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
