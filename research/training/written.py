"""Examples from written pages: gists, places to pause, look-ups, answers."""

import asyncio
import random
from collections.abc import Sequence

from gistread.book.builder import BookBuilder
from gistread.engine.protocol import NO_USAGE, Choice, Priority, Prompt
from gistread.memory.extractive import extract
from gistread.memory.gisting import wanted_words
from gistread.memory.model import GistFocus, PageSize
from gistread.memory.single_pass import SinglePass
from gistread.presets import FICTION
from gistread.prompts import TRAINED
from gistread.words import count_words
from research.training.examples import Example
from research.training.pages import WrittenPage
from research.training.tales import NOT_SAID, fill, sentence

END_CHARACTERS = 30
"""Of a page, by which its end is recognised in a prompt."""
SIZE = PageSize(200, 560)
"""Of pages in single-pass prompts: most written pages end where such a page may."""
AGAIN_SHARE = 0.15
"""Share of gists that are asked for again."""
MOST_GIST = 1.6
"""Most words of a gist, times those asked for."""
OPENED_SHARE = 0.6
"""Share of memories with a page in full."""
FOREIGN_SHARE = 0.3
"""Share of texts with a question about another source."""
TOKENS_PER_WORD = 1.35
FRAME_TOKENS = 40
"""Of a prompt, beside the text."""
AIM = {"aim": "", "keep": FICTION.keep}
AGAIN = {"aim": "", "ask": FICTION.ask}


class Written:
    """Packs over written pages; subclasses define the questions."""

    length = 1
    """Pages of a pack."""

    def __init__(self, pages: list[list[WrittenPage]], seed: int) -> None:
        self._seed = seed
        self.pages = pages
        self.runs = [run for of_source in pages for run in self._cut(of_source)]
        random.Random(seed).shuffle(self.runs)

    def _cut(self, pages: list[WrittenPage]) -> list[list[WrittenPage]]:
        """The pages in runs of `length`; the last may be shorter."""
        starts = range(0, len(pages), self.length)
        return [pages[start : start + self.length] for start in starts]

    def examples(self, number: int) -> list[Example]:
        """The examples of one run of pages."""
        chance = random.Random(f"{self._seed} {type(self).__name__} {number}")
        run = self.runs[number % len(self.runs)]
        return self.ask(run, chance)

    def ask(self, run: Sequence[WrittenPage], chance: random.Random) -> list[Example]:
        """The examples of these pages."""
        raise NotImplementedError

    def foreign(self, run: Sequence[WrittenPage], chance: random.Random) -> str:
        """A question about another source."""
        while True:
            page = chance.choice(chance.choice(self.pages))
            if page.questions and page.source != run[0].source:
                return chance.choice(page.questions).text


class Gists(Written):
    """Pages to shorten one by one, as careful reading does."""

    def ask(self, run: Sequence[WrittenPage], chance: random.Random) -> list[Example]:
        (page,) = run
        is_again = chance.random() < AGAIN_SHARE
        return [_gist_example(page, is_again=is_again)]


def _gist_example(page: WrittenPage, *, is_again: bool = False) -> Example:
    """A page to shorten; `is_again`: as it is asked for after an attempt that failed."""
    words = wanted_words(count_words(page.text))
    if is_again:
        prompt = fill("gist_again", passage=page.text, words=words, **AGAIN)
    else:
        prompt = fill("gist", passage=page.text, words=words, **AIM)
    return Example(prompt, fitted(page.gist, words))


def fitted(gist: str, words: int) -> str:
    """The most important sentences of a gist: the words asked for, and little more."""
    shorter = extract(gist, round(MOST_GIST * words))
    return shorter if count_words(shorter) >= words else gist


class SinglePassGists(Written):
    """Pages in one growing text, as single-pass reading shows them.

    The replies are where to pause, and the gist of each page.
    """

    length = 3

    def ask(self, run: Sequence[WrittenPage], chance: random.Random) -> list[Example]:
        return asyncio.run(self._read(run))

    @staticmethod
    async def _read(run: Sequence[WrittenPage]) -> list[Example]:
        builder = BookBuilder()
        for page in run:
            for paragraph in page.text.split("\n\n"):
                builder.add(paragraph)
        book = builder.build(title=run[0].source, source_format="txt")
        recorder = _Recorder([page.text[-END_CHARACTERS:] for page in run])
        single_pass = SinglePass(
            book, 0, SIZE, recorder, focus=GistFocus(wording=TRAINED)
        )
        made: list[Example] = []
        start = 0
        for page in run:
            page_to_gist = await single_pass.next_page(start)
            page_read = page_to_gist.page
            attempts = page_to_gist.attempts_after("")
            text_read = book.text[page_read.start : page_read.end]
            if text_read.strip() != page.text.strip():
                break
            if len(recorder.labels) > 1:
                made.append(Example(recorder.prompt, recorder.chosen))
            gist = fitted(page.gist, wanted_words(page_read.words))
            made.append(Example(attempts[0].prompt[0].content, gist))
            start = page_read.end
        if not made:
            is_again = random.Random(start).random() < AGAIN_SHARE
            made.append(_gist_example(run[0], is_again=is_again))
        return made


class _Recorder:
    """An engine that records its prompts, and pauses where a page of the source ends."""

    class info:  # noqa: N801
        context_tokens = 8192
        placement = None
        is_small = True
        wording = TRAINED

    def __init__(self, ends: Sequence[str]) -> None:
        self._ends = tuple(ends)
        self.prompt = ""  # The latest that asks for a pause point
        self.chosen = ""
        self.labels: tuple[str, ...] = ()

    async def count(self, text: str) -> int:
        return round(TOKENS_PER_WORD * count_words(text))

    async def measure(self, prompt: Prompt) -> int:
        self.labels = ()
        return await self.count(prompt[0].content) + FRAME_TOKENS

    async def choose(
        self, prompt: Prompt, options: Sequence[str], priority: Priority
    ) -> Choice:
        self.prompt = prompt[0].content
        self.labels = tuple(options)
        for index, label in enumerate(options):
            before, mark, _ = self.prompt.rpartition(f"\n\n{label}\n\n")
            if mark and before.endswith(self._ends):
                self.chosen = label
                return Choice(index, None, NO_USAGE)
        return Choice(0, None, NO_USAGE)


class Memories(Written):
    """A memory of neighbouring pages, one of them perhaps open.

    The replies are which page to look up and why, and answers.
    """

    length = 8

    def ask(self, run: Sequence[WrittenPage], chance: random.Random) -> list[Example]:
        first = chance.choice((1, 1, 1, chance.randint(2, 60)))
        with_questions = [at for at, page in enumerate(run) if page.questions]
        is_open = bool(with_questions) and chance.random() < OPENED_SHARE
        opened = chance.choice(with_questions) if is_open else None
        parts = [f"(Page {first + at})\n{page.gist}" for at, page in enumerate(run)]
        if opened is not None:
            parts[opened] = f"(Page {first + opened}, in full)\n{run[opened].text}"
        values = {
            "memory": "\n\n".join(parts),
            "opened": "none" if opened is None else str(first + opened),
        }

        def lookup(question: str, reply: str) -> Example:
            return Example(fill("lookup", question=question, **values), reply)

        def answer(question: str, reply: str) -> Example:
            prompt = fill("answer", "task_answer", question=question, **values)
            return Example(prompt, reply)

        made: list[Example] = []
        for at in with_questions:
            question = chance.choice(run[at].questions)
            if at == opened:
                made.append(lookup(question.text, "STOP"))
                made.append(answer(question.text, sentence(question.answer)))
                continue
            reply = f"Page {first + at}"
            if question.reason:
                reply += f", because {question.reason.rstrip('.')}."
            made.append(lookup(question.text, reply))
        made.append(answer(self.foreign(run, chance), NOT_SAID))
        return made


class Answers(Written):
    """Questions over the text of a few pages."""

    length = 2

    def ask(self, run: Sequence[WrittenPage], chance: random.Random) -> list[Example]:
        text = "\n\n".join(page.text for page in run)

        def answer(question: str, reply: str) -> Example:
            prompt = fill(
                "answer_passages", "task_answer", text=text, question=question
            )
            return Example(prompt, reply)

        made = [
            answer(question.text, sentence(question.answer))
            for page in run
            for question in page.questions
        ]
        if not made or chance.random() < FOREIGN_SHARE:
            made.append(answer(self.foreign(run, chance), NOT_SAID))
        return made
