"""Examples from FairytaleQA: questions about a tale over windows of its sections.

They are in the program's own prompts.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gistread import prompts
from gistread.memory.extractive import extract
from gistread.memory.gisting import wanted_words
from gistread.memory.passages import GAP
from gistread.readers.thread import LETTERS, with_options
from gistread.words import count_words
from research.training.examples import Example

NOT_SAID = "The book does not say."
MOST_BRANCHES = 14
_MOST_WINDOW_WORDS = 1000
_WINDOW_SECTIONS = (1, 2, 2, 3, 3, 4, 4, 5, 6)

# Shares of windows, of questions or of replies
_EARLIER_SECTION = 0.25  # Windows with the section before the first answer
_UNANSWERED = 0.035  # For each question, another that the window does not answer
_SAME_TALE = 0.4  # Of these, about the same tale
_AS_MEMORY = 0.2
_STOPS = 0.15  # Answered questions for which no page is looked up
_CHOICES = 0.15
_ALWAYS_ANSWERED = 0.1  # Asked without leave to find nothing
_SHORT_ANSWERS = 0.05
_MENTIONS = 0.07
_MENTIONS_OF_UNANSWERED = 0.35  # Likewise, of questions that the window does not answer
_WITHOUT_GAPS = 0.4
_PAGE_OPEN = 0.35

_FEWEST_WRONG_ANSWERS = 3
_FEWEST_NAMINGS = 3  # Of a person whom a text is about
_FEWEST_PAGES, _MOST_PAGES = 4, 10  # Of a memory
_MOST_FIRST_PAGE = 60
_GIST_RATIO = 1.4  # Words of an extract, relative to a gist


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a tale; `sections` are the indices of those that answer it."""

    text: str
    answers: tuple[str, ...]
    sections: frozenset[int]

    @property
    def answer(self) -> str:
        """The answer that shares most words with the others."""
        counts = {answer: Counter(answer.lower().split()) for answer in self.answers}

        def likeness(answer: str) -> float:
            words = counts[answer]
            shares: list[float] = []
            for other in self.answers:
                shared = words & counts[other]
                together = words | counts[other]
                shares.append(shared.total() / together.total())
            return sum(shares)

        return max(self.answers, key=likeness)


@dataclass(frozen=True, slots=True)
class Tale:
    name: str
    sections: tuple[str, ...]
    questions: tuple[Question, ...]

    def count_words(self, sections: Sequence[int]) -> int:
        return sum(len(self.sections[index].split()) for index in sections)


@dataclass(frozen=True, slots=True)
class Window:
    """Neighbouring sections of a tale, and the questions about them, all as indices."""

    tale: int
    sections: tuple[int, ...]
    questions: list[int]


def read_tales(path: Path) -> list[Tale]:
    """The tales of a FairytaleQA file."""
    tales: list[Tale] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        sections = tuple(map(_paragraphs, record["sections"]))
        questions = [_question(fields) for fields in record["questions"]]
        usable = [
            question
            for question in questions
            if question.answers and max(question.sections) < len(sections)
        ]
        tales.append(Tale(record["story"], sections, tuple(usable)))
    return tales


def _paragraphs(section: str) -> str:
    """A section with an empty line between its paragraphs."""
    lines = [" ".join(line.split()) for line in section.splitlines()]
    return "\n\n".join(line for line in lines if line)


def _question(fields: dict[str, str]) -> Question:
    """The question in a record, perhaps without answers."""
    numbers = fields["cor_section"].split(",")
    answers = [
        sentence(value)
        for key, value in fields.items()
        if key.startswith("answer") and value.strip()
    ]
    return Question(
        tidy_question(fields["question"]),
        tuple(answers),
        sections=frozenset(int(float(number)) - 1 for number in numbers),
    )


def sentence(text: str) -> str:
    """Text of an annotator, cased and punctuated as a sentence.

    >>> sentence("he did n't go .")
    "He didn't go."
    """
    text = _BEFORE_CONTRACTION.sub(r"\1", _on_one_line(text))
    end = "" if text.endswith((".", "!", "?", '"')) else "."
    return f"{_capitalised(text)}{end}"


def tidy_question(text: str) -> str:
    """Text of an annotator, cased and punctuated as a question."""
    text = _on_one_line(text)
    end = "" if text.endswith("?") else "?"
    return f"{_capitalised(text).rstrip(' .')}{end}"


# A space before a sign, or before the rest of a contraction: `go .`, `did n't`
_BEFORE_SIGN = re.compile(r"\s+([.,;:!?])")
_BEFORE_CONTRACTION = re.compile(r"\s+('s|n't|'re|'ve|'d|'ll)\b")


def _on_one_line(text: str) -> str:
    return _BEFORE_SIGN.sub(r"\1", " ".join(text.split()))


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def fill(name: str, task: str = "", **values: object) -> str:
    """A prompt of the program in the trained wording; `task` names the file of the task in it."""
    if task:
        values["task"] = prompts.load(task, prompts.TRAINED).text
    # In this wording the tasks say what to do without an answer.
    template = prompts.load(name, prompts.TRAINED).with_values({"way_out": ""})
    return template.fill(**values)


# A capital letter within a sentence: `Justine` in `then Justine came`
NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")


def _choice(
    text: str, question: str, options: list[str], right: str, chance: random.Random
) -> Example:
    """A choice among options in random order."""
    chance.shuffle(options)
    prompt = _ask(text, with_options(question, options), "task_choice")
    return Example(prompt, LETTERS[options.index(right)])


def _ask(text: str, question: str, task: str) -> str:
    return fill("answer_passages", task, text=text, question=question)


class FairyTales:
    """Windows of sections with the questions that they answer.

    Each question is asked once before any is repeated.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._tales = read_tales(path)
        self._seed = seed
        self._windows: dict[int, list[Window]] = {}

    def __len__(self) -> int:
        return len(self._epoch(0))

    def examples(self, number: int) -> list[Example]:
        """The examples of window `number`; later epochs are cut into other windows."""
        epoch, index = divmod(number, len(self))
        windows = self._epoch(epoch)
        chance = random.Random(f"{self._seed} window {number}")
        window = windows[index % len(windows)]
        tale = self._tales[window.tale]
        questions = [tale.questions[at] for at in window.questions]
        unanswered = [
            self._other(window, chance)
            for _ in questions
            if chance.random() < _UNANSWERED
        ]
        if chance.random() < _AS_MEMORY:
            examples = self._over_memory(window, questions, unanswered, chance)
        else:
            examples = self._over_passages(window, questions, unanswered, chance)
        chance.shuffle(examples)
        return examples

    def _over_memory(
        self,
        window: Window,
        answered: Sequence[Question],
        unanswered: Sequence[Question],
        chance: random.Random,
    ) -> list[Example]:
        """Questions over a memory whose pages are open: answers, and no page to look up."""
        values = {
            "memory": self._pages(self._tales[window.tale], window.sections),
            "opened": ", ".join(str(section + 1) for section in window.sections),
        }
        examples = []
        for question in answered:
            if chance.random() < _STOPS:
                prompt = fill("lookup", question=question.text, **values)
                examples.append(Example(prompt, "STOP"))
            else:
                prompt = fill("answer", "task_answer", question=question.text, **values)
                examples.append(Example(prompt, question.answer))
        for question in unanswered:
            prompt = fill("answer", "task_answer", question=question.text, **values)
            examples.append(Example(prompt, NOT_SAID))
        return examples

    def _over_passages(
        self,
        window: Window,
        answered: Sequence[Question],
        unanswered: Sequence[Question],
        chance: random.Random,
    ) -> list[Example]:
        tale = self._tales[window.tale]
        text = self._passages(tale, window.sections, chance)
        examples = [
            self._answered(tale, question, text, chance) for question in answered
        ]
        examples += [
            self._unanswered(question, text, chance) for question in unanswered
        ]
        return examples

    def _answered(
        self, tale: Tale, question: Question, text: str, chance: random.Random
    ) -> Example:
        """A question that a text answers, in one of the ways in which the program asks it."""
        kind = chance.random()
        options = self._options(tale, question, chance)
        if options and kind > 1 - _CHOICES:
            return _choice(text, question.text, options, question.answer, chance)
        answer = question.answer
        if kind < _ALWAYS_ANSWERED:
            return Example(_ask(text, question.text, "task_answer_always"), answer)
        if kind < _ALWAYS_ANSWERED + _SHORT_ANSWERS:
            short = answer[:1].lower() + answer[1:].rstrip(".")
            prompt = fill("member_answer", text=text, question=question.text)
            return Example(prompt, short)
        if kind < _ALWAYS_ANSWERED + _SHORT_ANSWERS + _MENTIONS:
            prompt = fill("member_mention", text=text, question=question.text)
            return Example(prompt, "yes")
        return Example(_ask(text, question.text, "task_answer"), answer)

    @staticmethod
    def _unanswered(question: Question, text: str, chance: random.Random) -> Example:
        """A question that a text does not answer, in one of the same ways."""
        kind = chance.random()
        short_answers = _ALWAYS_ANSWERED + _SHORT_ANSWERS
        if kind < short_answers:
            prompt = fill("member_answer", text=text, question=question.text)
            return Example(prompt, NOT_SAID)
        if kind < short_answers + _MENTIONS_OF_UNANSWERED:
            prompt = fill("member_mention", text=text, question=question.text)
            return Example(prompt, "no")
        return Example(_ask(text, question.text, "task_answer"), NOT_SAID)

    def _epoch(self, epoch: int) -> list[Window]:
        """The windows of an epoch, shuffled."""
        if epoch not in self._windows:
            chance = random.Random(f"{self._seed} epoch {epoch}")
            self._windows[epoch] = list(self._cut(chance))
            chance.shuffle(self._windows[epoch])
        return self._windows[epoch]

    def _cut(self, chance: random.Random) -> Iterator[Window]:
        """Windows in which each question of each tale is asked once."""
        for index, tale in enumerate(self._tales):
            waiting = list(range(len(tale.questions)))
            chance.shuffle(waiting)
            waiting.sort(key=lambda at: min(tale.questions[at].sections))
            while waiting:
                gold = tale.questions[waiting[0]].sections
                shown = self._sections_around(gold, len(tale.sections), chance)
                if tale.count_words(shown) > _MOST_WINDOW_WORDS:
                    shown = tuple(sorted(gold))
                covered = [
                    at for at in waiting if tale.questions[at].sections <= set(shown)
                ]
                chosen = covered[:MOST_BRANCHES]
                if tale.count_words(shown) <= _MOST_WINDOW_WORDS:
                    yield Window(index, shown, chosen)
                waiting = [at for at in waiting if at not in chosen]

    @staticmethod
    def _sections_around(
        gold: Collection[int], count: int, chance: random.Random
    ) -> tuple[int, ...]:
        """Several of `count` sections, from the first that a question needs or the one before."""
        first = min(gold)
        length = max(chance.choice(_WINDOW_SECTIONS), max(gold) - first + 1)
        before = min(first, int(chance.random() < _EARLIER_SECTION))
        return tuple(range(first - before, min(first + length, count)))

    def _other(self, window: Window, chance: random.Random) -> Question:
        """A question that the window does not answer, about the same tale or another one."""
        far = [
            question
            for question in self._tales[window.tale].questions
            if _are_apart(question.sections, window.sections)
        ]
        if far and chance.random() < _SAME_TALE:
            return chance.choice(far)
        step = 1 + chance.randrange(len(self._tales) - 1)
        other = self._tales[(window.tale + step) % len(self._tales)]
        return chance.choice(other.questions)

    @staticmethod
    def _options(tale: Tale, question: Question, chance: random.Random) -> list[str]:
        """The right answer and wrong ones, which answer similar questions of the tale.

        None if there are too few.
        """
        word = question.text.split()[0]
        similar = [other for other in tale.questions if other.text.startswith(word)]
        wrong = {other.answer for other in similar} - set(question.answers)
        if len(wrong) < _FEWEST_WRONG_ANSWERS:
            return []
        count = chance.choice((1, 2, 2, 3))
        return [question.answer, *chance.sample(sorted(wrong), count)]

    @staticmethod
    def _passages(tale: Tale, shown: Sequence[int], chance: random.Random) -> str:
        """The sections as `memory.passages.render` shows them, mostly with marks for gaps."""
        pieces = [GAP] if shown[0] > 0 else []
        pieces += [tale.sections[at] for at in shown]
        if shown[-1] + 1 < len(tale.sections):
            pieces.append(GAP)
        if chance.random() < _WITHOUT_GAPS:
            pieces = [piece for piece in pieces if piece != GAP]
        return "\n\n".join(pieces)

    @staticmethod
    def _pages(tale: Tale, shown: Sequence[int]) -> str:
        """The sections as `readers.lookups.render` shows open pages."""
        return "\n\n".join(
            f"(Page {at + 1}, in full)\n{tale.sections[at]}" for at in shown
        )


class Choices(FairyTales):
    """Choices over the same windows.

    Each question comes in two orders of its options; another asks whom the text is about.
    """

    def examples(self, number: int) -> list[Example]:
        """The examples of a window in which there is something to choose from."""
        chance = random.Random(f"{self._seed} choices {number}")
        made: list[Example] = []
        while not made:
            window = chance.choice(self._epoch(0))
            tale = self._tales[window.tale]
            text = self._passages(tale, window.sections, chance)
            for at in window.questions[: MOST_BRANCHES // 2]:
                question = tale.questions[at]
                options = self._options(tale, question, chance)
                if options:
                    made += [
                        _choice(text, question.text, options, question.answer, chance)
                        for _ in range(2)
                    ]
            for name, namings in Counter(NAME.findall(text)).most_common(1):
                if namings >= _FEWEST_NAMINGS:
                    prompt = fill("check_turn", text=text)
                    made.append(Example(prompt, f"It is about {name}."))
        return made


class Mentions(FairyTales):
    """One or two sections, and whether they help to answer a question.

    Half of the questions are of other sections.
    """

    def examples(self, number: int) -> list[Example]:
        """The examples of one passage."""
        chance = random.Random(f"{self._seed} mentions {number}")
        while True:
            tale = chance.choice(self._tales)
            first = chance.randrange(len(tale.sections))
            length = chance.choice((1, 1, 2))
            shown = range(first, min(first + length, len(tale.sections)))
            inside = [
                question
                for question in tale.questions
                if question.sections <= set(shown)
            ]
            outside = [
                question
                for question in tale.questions
                if _are_apart(question.sections, shown)
            ]
            count = min(len(inside), len(outside), MOST_BRANCHES // 2)
            if count:
                break
        text = "\n\n".join(tale.sections[at] for at in shown)
        replies = [(question, "yes") for question in chance.sample(inside, count)]
        replies += [(question, "no") for question in chance.sample(outside, count)]
        chance.shuffle(replies)
        return [
            Example(fill("member_mention", text=text, question=question.text), reply)
            for question, reply in replies
        ]


class TaleLookups(FairyTales):
    """Look-ups over a memory of a tale, perhaps with an open page.

    Its gists are sentences of its sections. The reply is the page to look up.
    """

    def examples(self, number: int) -> list[Example]:
        """The examples of one memory."""
        chance = random.Random(f"{self._seed} lookups {number}")
        gold_pages: list[tuple[Question, int]] = []
        while not gold_pages:
            tale = chance.choice(self._tales)
            pages = list(self._paged(tale, chance))
            pages = pages[: chance.randint(_FEWEST_PAGES, _MOST_PAGES)]
            gold_pages = list(_gold_pages(tale, pages))
        first = chance.choice((1, 1, 1, chance.randint(2, _MOST_FIRST_PAGE)))
        opened = chance.randrange(len(pages)) if chance.random() < _PAGE_OPEN else None
        shown = []
        for index, page in enumerate(pages):
            text = "\n\n".join(tale.sections[at] for at in page)
            if index == opened:
                shown.append(f"(Page {first + index}, in full)\n{text}")
            else:
                shown.append(f"(Page {first + index})\n{_gist(text)}")
        values = {
            "memory": "\n\n".join(shown),
            "opened": "none" if opened is None else str(first + opened),
        }
        chosen = chance.sample(gold_pages, min(len(gold_pages), MOST_BRANCHES))
        examples: list[Example] = []
        for question, gold in chosen:
            prompt = fill("lookup", question=question.text, **values)
            reply = "STOP" if gold == opened else f"Page {first + gold}"
            examples.append(Example(prompt, reply))
        return examples

    @staticmethod
    def _paged(tale: Tale, chance: random.Random) -> Iterator[range]:
        """Sections as pages of one or two."""
        at = 0
        while at < len(tale.sections):
            length = chance.choice((1, 2))
            yield range(at, min(at + length, len(tale.sections)))
            at += length


def _are_apart(sections: Collection[int], others: Collection[int]) -> bool:
    """Whether no two of these sections are the same or neighbours."""
    return all(abs(section - other) > 1 for section in sections for other in others)


def _gold_pages(tale: Tale, pages: Sequence[range]) -> Iterator[tuple[Question, int]]:
    """The questions that one of these pages answers, each with the first such page."""
    for question in tale.questions:
        for index, page in enumerate(pages):
            if question.sections <= set(page):
                yield question, index
                break


def _gist(text: str) -> str:
    """Sentences of a page, about as long as a gist."""
    gist_words = wanted_words(count_words(text))
    return extract(text, round(_GIST_RATIO * gist_words))
