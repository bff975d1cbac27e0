"""Examples from FairytaleQA.

The questions of a tale over windows of its sections, in the program's own prompts.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gistread import prompts
from gistread.memory.extractive import extract
from gistread.memory.gisting import wanted_words
from gistread.memory.passages import GAP
from gistread.readers.thread import LETTERS, with_options
from gistread.words import count_words
from research.training.packing import Example

NOT_SAID = "The book does not say."
MOST_BRANCHES = 14


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a tale; `sections` are the indices of those that answer it."""

    text: str
    answers: tuple[str, ...]
    sections: frozenset[int]

    @property
    def answer(self) -> str:
        """The answer that shares most words with the others."""
        words = [Counter(answer.lower().split()) for answer in self.answers]
        return max(
            zip(self.answers, words, strict=True),
            key=lambda pair: sum(
                (pair[1] & other).total() / (pair[1] | other).total() for other in words
            ),
        )[0]


@dataclass(frozen=True, slots=True)
class Tale:
    name: str
    sections: tuple[str, ...]
    questions: tuple[Question, ...]


def read_tales(path: Path) -> list[Tale]:
    """The tales of a FairytaleQA file."""
    tales = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        sections = tuple(
            "\n\n".join(" ".join(part.split()) for part in section.splitlines() if part.strip())
            for section in record["sections"]
        )
        questions = []
        for asked in record["questions"]:
            gold = frozenset(int(float(number)) - 1 for number in asked["cor_section"].split(","))
            answers = [
                sentence(value)
                for key, value in asked.items()
                if key.startswith("answer") and value.strip()
            ]
            if answers and max(gold) < len(sections):
                questions.append(Question(tidy_question(asked["question"]), tuple(answers), gold))
        tales.append(Tale(record["story"], sections, tuple(questions)))
    return tales


def sentence(text: str) -> str:
    """Text of an annotator, cased and punctuated as a sentence."""
    text = re.sub(r"\s+([.,;:!?])", r"\1", " ".join(text.split()))
    text = re.sub(r"\s+('s|n't|'re|'ve|'d|'ll)\b", r"\1", text)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", '"')) else ".")


def tidy_question(text: str) -> str:
    text = re.sub(r"\s+([.,;:!?])", r"\1", " ".join(text.split()))
    return text[:1].upper() + text[1:].rstrip(" .") + ("" if text.endswith("?") else "?")


def fill(name: str, task: str = "", **values: object) -> str:
    """A prompt of the program in the trained wording; `task` names the file of the task in it."""
    if task:
        values["task"] = prompts.load(task, prompts.TRAINED).text
    # In this wording the tasks say what to do without an answer.
    template = prompts.load(name, prompts.TRAINED).given({"way_out": ""})
    return template.fill(**values)


NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")


def _choice(
    text: str, question: str, options: list[str], right: str, chance: random.Random
) -> Example:
    """A choice among options whose order says nothing."""
    chance.shuffle(options)
    reply = LETTERS[options.index(right)]
    return Example(
        fill("answer_passages", "task_choice", text=text, question=with_options(question, options)),
        reply,
    )


class FairyTales:
    """Windows of sections with the questions that they answer.

    Each question is asked once before any is repeated.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._tales = read_tales(path)
        self._seed = seed
        self._windows: dict[int, list[tuple[int, tuple[int, ...], list[int]]]] = {}

    def __len__(self) -> int:
        return len(self._epoch(0))

    def examples(self, number: int) -> list[Example]:
        """The examples of window `number`; those of later epochs are cut otherwise."""
        epoch, index = divmod(number, len(self))
        windows = self._epoch(epoch)
        chance = random.Random(f"{self._seed} window {number}")
        tale_index, shown, asked = windows[index % len(windows)]
        tale = self._tales[tale_index]
        questions = [tale.questions[at] for at in asked]
        missing = [
            self._other(tale_index, shown, chance) for _ in questions if chance.random() < 0.035
        ]
        as_memory = chance.random() < 0.2
        text = self._pages(tale, shown) if as_memory else self._passages(tale, shown, chance)
        opened = ", ".join(str(at + 1) for at in shown)
        made = []
        for question, found in [
            *((one, True) for one in questions),
            *((one, False) for one in missing),
        ]:
            reply = question.answer if found else NOT_SAID
            if as_memory:
                values = {"memory": text, "opened": opened, "question": question.text}
                if found and chance.random() < 0.15:
                    made.append(Example(fill("lookup", **values), "STOP"))
                else:
                    made.append(Example(fill("answer", "task_answer", **values), reply))
                continue
            kind = chance.random()
            if found and (lines := self._options(tale, question, chance)) and kind > 0.85:
                made.append(_choice(text, question.text, lines, question.answer, chance))
            elif kind < 0.1 and found:
                made.append(
                    Example(
                        fill(
                            "answer_passages",
                            "task_answer_always",
                            text=text,
                            question=question.text,
                        ),
                        reply,
                    )
                )
            elif kind < 0.15:
                short = reply if not found else reply[:1].lower() + reply[1:].rstrip(".")
                made.append(
                    Example(fill("member_answer", text=text, question=question.text), short)
                )
            elif kind < 0.22 or (not found and kind < 0.5):
                made.append(
                    Example(
                        fill("member_mention", text=text, question=question.text),
                        "yes" if found else "no",
                    )
                )
            else:
                made.append(
                    Example(
                        fill("answer_passages", "task_answer", text=text, question=question.text),
                        reply,
                    )
                )
        chance.shuffle(made)
        return made

    def _epoch(self, epoch: int) -> list[tuple[int, tuple[int, ...], list[int]]]:
        """Of each window the tale, its sections, and the questions asked of it; shuffled."""
        if epoch not in self._windows:
            chance = random.Random(f"{self._seed} epoch {epoch}")
            self._windows[epoch] = list(self._cut(chance))
            chance.shuffle(self._windows[epoch])
        return self._windows[epoch]

    def _cut(self, chance: random.Random) -> Iterator[tuple[int, tuple[int, ...], list[int]]]:
        for index, tale in enumerate(self._tales):
            left = list(range(len(tale.questions)))
            chance.shuffle(left)
            left.sort(key=lambda at: min(tale.questions[at].sections))
            while left:
                first = min(tale.questions[left[0]].sections)
                span = max(tale.questions[left[0]].sections) - first + 1
                length = max(chance.choice((1, 2, 2, 3, 3, 4, 4, 5, 6)), span)
                before = min(first, int(chance.random() < 0.25))
                shown = tuple(range(first - before, min(first + length, len(tale.sections))))
                if sum(len(tale.sections[at].split()) for at in shown) > 1000:
                    shown = tuple(sorted(tale.questions[left[0]].sections))
                asked = [at for at in left if tale.questions[at].sections <= set(shown)][
                    :MOST_BRANCHES
                ]
                if sum(len(tale.sections[at].split()) for at in shown) <= 1000:
                    yield index, shown, asked
                left = [at for at in left if at not in asked]

    def _other(self, tale_index: int, shown: Sequence[int], chance: random.Random) -> Question:
        """A question that the window does not answer.

        Of the same tale where it has one, or of another.
        """
        tale = self._tales[tale_index]
        near = [
            question
            for question in tale.questions
            if all(abs(at - seen) > 1 for at in question.sections for seen in shown)
        ]
        if near and chance.random() < 0.4:
            return chance.choice(near)
        other = self._tales[
            (tale_index + 1 + chance.randrange(len(self._tales) - 1)) % len(self._tales)
        ]
        return chance.choice(other.questions)

    @staticmethod
    def _options(tale: Tale, question: Question, chance: random.Random) -> list[str]:
        """Right and wrong answers in some order.

        The wrong ones answer like questions of the tale.
        """
        word = question.text.split()[0]
        wrong = {one.answer for one in tale.questions if one.text.startswith(word)} - set(
            question.answers
        )
        if len(wrong) < 3:
            return []
        return [question.answer, *chance.sample(sorted(wrong), chance.choice((1, 2, 2, 3)))]

    @staticmethod
    def _passages(tale: Tale, shown: Sequence[int], chance: random.Random) -> str:
        """The sections as `memory.passages.render` shows them.

        A mark where something is left out.
        """
        pieces = [GAP] if shown[0] > 0 else []
        pieces += [tale.sections[at] for at in shown]
        if shown[-1] + 1 < len(tale.sections):
            pieces.append(GAP)
        if chance.random() < 0.4:
            pieces = [piece for piece in pieces if piece != GAP]
        return "\n\n".join(pieces)

    @staticmethod
    def _pages(tale: Tale, shown: Sequence[int]) -> str:
        """The sections as `readers.lookups.render` shows open pages."""
        return "\n\n".join(f"(Page {at + 1}, in full)\n{tale.sections[at]}" for at in shown)


class Choices(FairyTales):
    """The same windows, and choices alone.

    Each question in two orders, and whom the text is about.
    """

    def examples(self, number: int) -> list[Example]:
        """The examples of window `number`; of another where it leaves nothing to choose from."""
        chance = random.Random(f"{self._seed} choices {number}")
        made: list[Example] = []
        while not made:
            tale_index, shown, asked = chance.choice(self._epoch(0))
            tale = self._tales[tale_index]
            text = self._passages(tale, shown, chance)
            for question in (tale.questions[at] for at in asked[: MOST_BRANCHES // 2]):
                if options := self._options(tale, question, chance):
                    made += [
                        _choice(text, question.text, options, question.answer, chance)
                        for _ in range(2)
                    ]
            names = Counter(NAME.findall(text)).most_common(1)
            if names and names[0][1] > 2:
                made.append(Example(fill("check_turn", text=text), f"It is about {names[0][0]}."))
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
            shown = range(first, min(first + chance.choice((1, 1, 2)), len(tale.sections)))
            inside = [question for question in tale.questions if question.sections <= set(shown)]
            outside = [
                question
                for question in tale.questions
                if not any(abs(at - part) < 2 for at in question.sections for part in shown)
            ]
            count = min(len(inside), len(outside), MOST_BRANCHES // 2)
            if count:
                break
        text = "\n\n".join(tale.sections[at] for at in shown)
        asked = [(one, "yes") for one in chance.sample(inside, count)]
        asked += [(one, "no") for one in chance.sample(outside, count)]
        chance.shuffle(asked)
        return [
            Example(fill("member_mention", text=text, question=one.text), reply)
            for one, reply in asked
        ]


class TaleLookups(FairyTales):
    """A memory of a tale whose gists are sentences of its sections, a page of it perhaps open.

    The page to look up.
    """

    def examples(self, number: int) -> list[Example]:
        """The examples of one memory."""
        chance = random.Random(f"{self._seed} lookups {number}")
        while True:
            tale = chance.choice(self._tales)
            pages = list(self._paged(tale, chance))[: chance.randint(4, 10)]
            asked = []
            for one in tale.questions:
                gold = [at for at, page in enumerate(pages) if one.sections <= set(page)]
                if gold:
                    asked.append((one, gold[0]))
            if asked:
                break
        first = chance.choice((1, 1, 1, chance.randint(2, 60)))
        texts = ["\n\n".join(tale.sections[at] for at in page) for page in pages]
        opened = chance.randrange(len(pages)) if chance.random() < 0.35 else None
        memory = "\n\n".join(
            f"(Page {first + at}, in full)\n{text}"
            if at == opened
            else f"(Page {first + at})\n{_gist(text)}"
            for at, text in enumerate(texts)
        )
        values = {"memory": memory, "opened": "none" if opened is None else str(first + opened)}
        chosen = chance.sample(asked, min(len(asked), MOST_BRANCHES))
        return [
            Example(
                fill("lookup", question=one.text, **values),
                "STOP" if gold == opened else f"Page {first + gold}",
            )
            for one, gold in chosen
        ]

    @staticmethod
    def _paged(tale: Tale, chance: random.Random) -> Iterator[range]:
        """Sections as pages of one or two."""
        at = 0
        while at < len(tale.sections):
            length = chance.choice((1, 2))
            yield range(at, min(at + length, len(tale.sections)))
            at += length


def _gist(text: str) -> str:
    """Sentences of a page, about as long as a gist."""
    return extract(text, round(1.4 * wanted_words(count_words(text))))
