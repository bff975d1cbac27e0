"""Single-pass reading: each token of the book is evaluated about once (design D4).

The text of a chapter grows in one prompt, with numbered places to pause in it. To find a pause point, a short task
follows the text up to the end of the passage; to shorten the page, another follows the text up to the end of
the page. Both begin with what an engine has just evaluated, and so does the next passage: what comes anew is new
text and a task. (Careful reading, ReadAgent's two passes, shows every page twice and what lies between a page's
end and its passage's end three times.) Earlier pages stay in the window as context until it is full; then it
begins anew a few words before the page.

Which text stands in a prompt follows from the book, the page size, the pages so far and token counts alone, so a
reading that goes on after a kill has the same prompts as one that was never stopped.
"""

from dataclasses import dataclass

from gistread import prompts
from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.book.sentences import sentence_spans
from gistread.engine.protocol import NO_USAGE, Engine, Message, Priority, Prompt, Usage
from gistread.memory.extractive import CHARACTERS_PER_WORD
from gistread.memory.focus import DEFAULT_FOCUS, GistFocus
from gistread.memory.gisting import Attempt, attempt, gist_tokens, longer_task, samplings, wanted_words
from gistread.memory.model import Page, PageSize, Pauses
from gistread.memory.pagination import Passage, find_passage, shorter
from gistread.memory.sizes import TOKENS_PER_WORD

PROMPTS = ("single_pass_text", "single_pass_pause", "single_pass_gist")
"""The prompts that decide pages and gists."""

WINDOW_TOKENS = 4096
"""Most tokens of a prompt: text far back costs time and tells little of where to pause."""
FULL_TOKENS = 800
"""From here on the window begins anew as soon as that costs little. Attention over two thousand tokens takes a CPU
as long as the weights do, for each token."""
_CHEAP_WORDS = 40
"""Text after a page that had been shown already and has to be shown again: so little of it costs little."""
_TASK_TOKENS = 48
"""Left free at least for what a gist's task may be longer than a pause's."""
_OVERLAP_WORDS = 25
"""Context before the first page of a window that begins in the middle of a chapter."""


@dataclass(frozen=True, slots=True)
class _Window:
    """The text before the model: the book from `begin` on, with these labels in it."""

    begin: int
    labels: tuple[tuple[int, int], ...]
    """Offset and number of each place to pause, ascending."""
    shown_until: int
    """How far the text has been shown in an earlier prompt."""

    def label_at(self, offset: int) -> str:
        number = dict(self.labels).get(offset)
        return "the beginning" if number is None else f"<{number}>"

    def text(self, book: Book, until: int) -> str:
        pieces: list[str] = []
        at = self.begin
        for offset, number in self.labels:
            if offset <= until:
                pieces += [book.text[at:offset].rstrip(), f"\n\n<{number}>\n\n"]
                at = offset
        pieces.append(book.text[at:until].rstrip())
        return "".join(pieces).strip()


class SinglePass:
    """Reads one chapter: each page is found where the last one ended."""

    def __init__(
        self,
        book: Book,
        start: int,
        size: PageSize,
        engine: Engine,
        priority: Priority,
        pauses: Pauses = Pauses.CHOSEN,
        focus: GistFocus = DEFAULT_FOCUS,
    ) -> None:
        self._book = book
        self._size = size
        self._pauses = pauses
        self._engine = engine
        self._priority = priority
        self._gist = focus.template("single_pass_gist")
        self._room = min(engine.info.context_tokens, WINDOW_TOKENS)
        self._window = _Window(start, (), start)
        self._tokens = 0
        """Of the last prompt that showed a passage."""

    async def follow(self, page: Page) -> None:
        """Go past a page that an earlier reading found, as that reading did."""
        await self._show(page.start)
        self._turn(page.end)

    async def next_page(self, start: int) -> tuple[Page, tuple[Attempt, ...], Usage]:
        """The page that begins at `start`, how to ask for its gist, and what it cost to find.

        Raises EngineError when no page fits the window or the engine fails.
        """
        passage = await self._show(start)
        end, usage = passage.end, NO_USAGE
        if len(passage.pauses) > 1:
            labels = [self._window.label_at(pause) for pause in passage.pauses]
            choice = await self._engine.choose(self._pause_prompt(passage), labels, self._priority)
            end, usage = passage.pauses[choice.index], choice.usage
        page = Page(0, start, end, count_words(self._book.text[start:end]))
        attempts = await self._attempts(page)
        self._turn(end)
        return page, attempts, usage

    async def _show(self, start: int) -> Passage:
        """Bring the passage from `start` on into the window, which begins anew or shows less when it is full."""
        size = self._size
        fresh = self._window.begin == start
        task_tokens = await longer_task(self._engine, self._gist, "single_pass_pause", _TASK_TOKENS)
        while True:
            passage = self._label(find_passage(self._book, start, size, self._pauses))
            self._tokens = await self._engine.measure(self._pause_prompt(passage))
            text = self._book.text[start : passage.end].strip()
            words = count_words(text)
            # Where a word takes many tokens, so does a gist; at least as many are left free as prose usually needs.
            tokens = max(round(TOKENS_PER_WORD * words), await self._engine.count(text))
            needed = self._tokens + gist_tokens(words, tokens) + task_tokens
            if needed <= self._room:
                return passage
            if fresh:
                size = shorter(self._book, passage, size, needed, self._room)
            self._begin_anew(start, overlap=not fresh)
            fresh = True

    def _label(self, passage: Passage) -> Passage:
        """The passage with those of its pauses that have a label, or get one since their text is shown first now."""
        window = self._window
        known = dict(window.labels)
        base = known.get(passage.start, 0)
        numbers: dict[int, int] = {}
        for pause, number in zip(passage.pauses, passage.numbers, strict=True):
            if pause in known or pause > window.shown_until:
                numbers[pause] = known.get(pause, base + number)
        if not numbers:  # every pause lies in text that was shown without labels
            numbers[passage.end] = base + passage.numbers[-1]
        self._window = _Window(
            window.begin, tuple(sorted((known | numbers).items())), max(window.shown_until, passage.end)
        )
        return Passage(passage.start, tuple(numbers), tuple(numbers.values()))

    def _begin_anew(self, start: int, *, overlap: bool) -> None:
        begin = _before(self._book, start) if overlap else start
        labels = ((start, 1),) if begin < start else ()
        self._window = _Window(begin, labels, start)

    def _turn(self, end: int) -> None:
        """Decide at a page's end whether the window begins anew: when it is long and little was shown beyond."""
        beyond = count_words(self._book.text[end : self._window.shown_until])
        if beyond <= _CHEAP_WORDS and self._tokens >= FULL_TOKENS:
            self._begin_anew(end, overlap=True)

    async def _attempts(self, page: Page) -> tuple[Attempt, ...]:
        """To shorten the page where it stands in the window. The second time the prompt is the same: it lies ready."""
        text = self._book.text[page.start : page.end].strip()
        filled = self._gist.fill(
            start=self._window.label_at(page.start),
            end=self._window.label_at(page.end),
            words=wanted_words(page.words),
        )
        prompt = self._prompt(page.end, filled)
        room_tokens = gist_tokens(page.words, await self._engine.count(text))
        before = self._book.text[self._window.begin : page.start]
        return tuple(attempt(self._gist, prompt, sampling, before) for sampling in samplings(room_tokens))

    def _pause_prompt(self, passage: Passage) -> Prompt:
        task = prompts.load("single_pass_pause").fill(start=self._window.label_at(passage.start))
        return (Message("user", self._prompt(passage.end, task)),)

    def _prompt(self, until: int, task: str) -> str:
        text = prompts.load("single_pass_text").fill(text=self._window.text(self._book, until))
        return f"{text}\n\n{task}"


def _before(book: Book, start: int) -> int:
    """Where a few words of context before `start` begin: with a sentence, at most a few dozen words back."""
    first = book.volumes[book.volume_index(start)].start if book.volumes else 0
    text = book.text[max(first, start - _OVERLAP_WORDS * CHARACTERS_PER_WORD) : start]
    offset = start - len(text)
    begin = start
    for sentence, _ in reversed(sentence_spans(text)[1:]):
        if count_words(book.text[offset + sentence : start]) > _OVERLAP_WORDS:
            break
        begin = offset + sentence
    return begin
