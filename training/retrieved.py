"""Examples over what the program itself finds for a question: passages of a text, with marks where some is left out."""

import random
from collections.abc import Iterable
from functools import cache

from gistread.book.normalise import count_words
from gistread.evaluation.model import Document
from gistread.evaluation.model import Question as Asked
from gistread.memory.passages import Passage, join, render, split_into_passages
from gistread.search.ranked import Relevance
from training.packing import Example
from training.tales import MOST_BRANCHES, NOT_SAID, Question, fill, sentence, tidy_question

WORDS = (150, 220, 300, 440)
"""Words of passages: about 200 to 600 tokens."""


class Retrieved:
    """Passages found for one question about a text, with every question about the text that they answer.

    A text is drawn as often as it has questions.
    """

    def __init__(self, documents: Iterable[Document], seed: int) -> None:
        self._documents = list(documents)
        self._questions = [len(one.questions) for one in self._documents]
        self._seed = seed
        self._relevance = cache(self._indexed)

    def examples(self, number: int) -> list[Example]:
        """The examples of one search."""
        chance = random.Random(f"{self._seed} retrieved {number}")
        made: list[Example] = []
        while not made:
            (at,) = chance.choices(range(len(self._documents)), self._questions)
            document = self._documents[at]
            shown = self._found(at, chance.choice(document.questions).text, chance.choice(WORDS))
            text = render(shown, document.book)
            covered = [(one, _covered(one.gold_places, shown)) for one in document.questions if one.gold_places]
            asked = [(_question(one), True) for one, share in covered if share > 0.98]
            asked = chance.sample(asked, min(len(asked), MOST_BRANCHES))
            missing = [one for one, share in covered if share == 0]
            if asked and missing and chance.random() < 0.2:
                others = missing if chance.random() < 0.3 else chance.choice(self._documents).questions
                asked.append((_question(chance.choice(others)), False))
            for one, found in asked:
                task = "task_answer_always" if found and chance.random() < 0.15 else "task_answer"
                prompt = fill("answer_passages", task, text=text, question=one.text)
                made.append(Example(prompt, one.answer if found else NOT_SAID))
        chance.shuffle(made)
        return made

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


def _question(asked: Asked) -> Question:
    return Question(tidy_question(asked.text), tuple(map(sentence, asked.references)), frozenset())


def _covered(places: tuple[Passage, ...], shown: list[Passage]) -> float:
    """Share of these places that is shown."""
    length = sum(end - start for start, end in places)
    return sum(max(0, min(end, until) - max(start, since)) for start, end in places for since, until in shown) / length
