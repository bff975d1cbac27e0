"""Single-pass reading: each token of the book is evaluated about once (design D4).

The text of a chapter is in one prompt, with numbered pause labels. A short task after the passage asks for a pause
point, and another one after the page for its gist. If the engine has streams, the next prompt begins with the next
page, and text shown before keeps its KV state. Otherwise earlier pages stay in the window until it pays to drop them.
Prompts depend only on the book, the page size, the pages so far, token counts, and whether there are streams.
"""

from dataclasses import dataclass

from gistread.book.model import Book
from gistread.engine.protocol import STREAM_TOKENS, Engine, Message, Prompt, Usage
from gistread.memory.gisting import Attempt, extra_task_tokens, gist_tokens, make_attempt, samplings, wanted_words
from gistread.memory.model import DEFAULT_FOCUS, GistFocus, Page, PageSize
from gistread.memory.pagination import Passage, choose_page, find_passage, labelled_text, shorten_size
from gistread.memory.sizes import TOKENS_PER_WORD
from gistread.words import count_words

PROMPTS = ("single_pass_text", "single_pass_pause", "single_pass_gist")  # Part of a memory's identity

WINDOW_TOKENS = 4096  # Longest prompt: distant text costs time and helps little to choose a pause
_CHEAP_SHARE = 0.2
"""The window restarts after a page if the text to show again is at most this share of the text dropped. On a CPU,
attention over a thousand tokens takes a small model as long as its weights; a larger share costs more than it saves."""
_LAST_NUMBER = 50  # Beyond it, label numbers restart


@dataclass(frozen=True, slots=True)
class _Window:
    """The text shown to the model: the book from `begin` on, with pause labels."""

    begin: int
    labels: tuple[tuple[int, int], ...]  # Offset and number of each label, ascending
    shown_until: int  # End of the text shown in an earlier prompt

    def label_at(self, offset: int) -> str:
        number = dict(self.labels).get(offset)
        return "the beginning" if number is None else f"<{number}>"


class SinglePass:
    """Reads one chapter, page after page."""

    def __init__(
        self, book: Book, start: int, size: PageSize, engine: Engine, focus: GistFocus = DEFAULT_FOCUS
    ) -> None:
        self._book = book
        self._size = size
        self._engine = engine
        self._focus = focus
        self._gist = focus.template("single_pass_gist")
        self._room = min(engine.info.context_tokens, WINDOW_TOKENS)
        placement = engine.info.placement
        self._has_streams = placement is not None and placement.streams > 0
        self._needed = 0  # Tokens of the last page's prompts and answers, at most
        self._window = _Window(start, (), start)

    async def skip_page(self, page: Page) -> None:
        await self._show(page.start)
        self._finish_page(page.end)

    async def next_page(self, start: int, known: int | None = None) -> tuple[Page, tuple[Attempt, ...], Usage]:
        """Find the page at `start`: page, attempts for its gist, cost. Raises EngineError when no page fits.

        `known`: see `find_passage`.
        """
        passage = await self._show(start, known)
        page, usage = await choose_page(self._book, passage, self._pause_prompt(passage), self._engine)
        end, label = page.end, self._window.label_at
        prompt = self._prompt(end, self._gist.fill(start=label(start), end=label(end), words=wanted_words(page.words)))
        room_tokens = gist_tokens(page.words, await self._engine.count(self._book.text[start:end].strip()))
        before = self._book.text[self._window.begin : start]
        attempts = tuple(make_attempt(self._gist, prompt, sampling, before) for sampling in samplings(room_tokens))
        self._finish_page(end)
        return page, attempts, usage

    async def _show(self, start: int, known: int | None = None) -> Passage:
        size = self._size
        fresh = self._window.begin == start
        task_tokens = await extra_task_tokens(self._engine, self._focus, "single_pass_gist", "single_pass_pause")
        while True:
            passage = self._label(find_passage(self._book, start, size, known))
            shown = await self._engine.measure(self._pause_prompt(passage))
            text = self._book.text[start : passage.end].strip()
            words = count_words(text)
            # A gist takes as many tokens per word as its page; reserve at least those of English prose.
            tokens = max(round(TOKENS_PER_WORD * words), await self._engine.count(text))
            self._needed = shown + gist_tokens(words, tokens) + task_tokens
            if self._needed <= self._room:
                return passage
            if fresh:
                size = shorten_size(self._book, passage, size, self._needed, self._room)
            self._restart(start)
            fresh = True

    def _label(self, passage: Passage) -> Passage:
        """Label pauses in text not shown before, and drop other pauses without a label."""
        window = self._window
        known = dict(window.labels)
        base = known.get(passage.start, 0)
        numbers: dict[int, int] = {}
        for pause, number in zip(passage.pauses, passage.numbers, strict=True):
            if pause in known or pause > window.shown_until:
                numbers[pause] = known.get(pause, base + number)
        if not numbers:  # all pauses are in text shown before without labels
            numbers[passage.end] = base + passage.numbers[-1]
        self._window = _Window(
            window.begin, tuple(sorted((known | numbers).items())), max(window.shown_until, passage.end)
        )
        return Passage(passage.start, tuple(numbers), tuple(numbers.values()))

    def _restart(self, start: int) -> None:
        self._window = _Window(start, (), start)

    def _finish_page(self, end: int) -> None:
        window = self._window
        if self._has_streams and self._needed <= STREAM_TOKENS:
            labels = tuple((offset, number) for offset, number in window.labels if offset >= end)
            if labels and labels[0][1] > _LAST_NUMBER:
                self._restart(end)
            else:
                self._window = _Window(end, labels, window.shown_until)
            return
        before = count_words(self._book.text[window.begin : end])
        beyond = count_words(self._book.text[end : window.shown_until])
        if beyond <= _CHEAP_SHARE * before:
            self._restart(end)

    def _pause_prompt(self, passage: Passage) -> Prompt:
        task = self._focus.template("single_pass_pause").fill(start=self._window.label_at(passage.start))
        return (Message("user", self._prompt(passage.end, task), allow_kv_shift=True),)

    def _prompt(self, until: int, task: str) -> str:
        labels = ((offset, number) for offset, number in self._window.labels if offset <= until)
        text = labelled_text(self._book, self._window.begin, labels, until)
        return f"{self._focus.template('single_pass_text').fill(text=text)}\n\n{task}"
