"""Single-pass reading: each token of the book is evaluated about once.

The text of a chapter is in one prompt, with numbered pause labels. A short task after the passage
asks for a pause point, and another one after the page for its gist. If the engine has streams, the
next prompt begins with the next page, and text shown before keeps its KV state. Otherwise earlier
pages stay in the window until it pays to drop them. Prompts depend only on the book, the page size,
the pages so far, token counts, and whether there are streams.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gistread.book.model import Book
from gistread.engine.protocol import STREAM_TOKENS, Engine, Message, Prompt, Usage
from gistread.memory.gisting import (
    Attempt,
    extra_task_tokens,
    gist_tokens,
    make_attempt,
    samplings,
    wanted_words,
)
from gistread.memory.model import DEFAULT_FOCUS, GistFocus, Page, PageSize
from gistread.memory.pagination import (
    LabelledPassage,
    choose_page,
    find_passage,
    labelled_text,
    shorten_size,
)
from gistread.memory.setting import MAX_TOKENS, last_sentence, setting
from gistread.memory.sizes import TOKENS_PER_WORD
from gistread.prompts import TRAINED
from gistread.words import count_words

# Part of a memory's identity
PROMPTS = (
    "single_pass_text",
    "single_pass_pause",
    "single_pass_gist",
)

# Longest prompt: distant text costs time and helps little to choose a pause
WINDOW_TOKENS = 4096
# The window restarts after a page if the text to show again is at most this share of the text
# dropped. On a CPU, attention over a thousand tokens takes a small model as long as its weights; a
# larger share costs more than it saves.
_CHEAP_SHARE = 0.2
_LAST_NUMBER = 50  # After it, label numbers restart
_TAIL_CHARACTERS = 600  # The last sentence before a page is looked for in so many

# Builds the attempts at a page's gist from the gist of the page before (empty without one). Call it
# in a thread, as `narration_of`.
AttemptsAfter = Callable[[str], tuple[Attempt, ...]]


@dataclass(frozen=True, slots=True)
class PageToGist:
    """A page, how to gist it, and what finding it cost."""

    page: Page
    # Attempts at its gist, by the gist of the page before
    attempts_after: AttemptsAfter
    usage: Usage


class SinglePass:
    """Reads one chapter, page after page."""

    def __init__(
        self,
        book: Book,
        start: int,
        size: PageSize,
        engine: Engine,
        focus: GistFocus = DEFAULT_FOCUS,
    ) -> None:
        self._book = book
        self._size = size
        self._engine = engine
        self._focus = focus
        self._room = min(engine.info.context_tokens, WINDOW_TOKENS)
        placement = engine.info.placement
        self._has_streams = placement is not None and placement.streams > 0
        self._needed = 0  # Most tokens of the last page's prompts and answers
        self._window_start = start  # Where the text begins that the model is shown
        # The number of each pause by its offset, ascending
        self._labels: dict[int, int] = {}
        self._shown_until = start  # End of the text shown in an earlier prompt

    async def skip_page(self, page: Page) -> None:
        """Show a page that is known already."""
        await self._show(page.start)
        self._finish_page(page.end)

    async def next_page(self, start: int, next_start: int | None = None) -> PageToGist:
        """Find the page at `start`. Raises EngineError when no page fits.

        `next_start`: see `find_passage`.
        """
        passage = await self._show(start, next_start)
        prompt = self._pause_prompt(passage)
        page, usage = await choose_page(self._book, passage, prompt, self._engine)
        end = page.end
        text = self._text(end)
        labels = {"start": self._label_at(start), "end": self._label_at(end)}
        tokens = await self._engine.count(self._book.text[start:end].strip())
        room_tokens = gist_tokens(page.words, tokens)
        before = self._book.text[self._window_start : start]

        # Called once the gist of the page before is made: the window has moved on by then.
        def attempts(gist_before: str) -> tuple[Attempt, ...]:
            where = self._where(page, gist_before, shows_before=bool(before))
            template = self._focus.template("single_pass_gist", where=where)
            task = template.fill(**labels, words=wanted_words(page.words))
            prompt = f"{text}\n\n{task}"
            return tuple(
                make_attempt(template, prompt, sampling, before)
                for sampling in samplings(room_tokens)
            )

        self._finish_page(end)
        return PageToGist(page, attempts, usage)

    @property
    def tells_before(self) -> bool:
        """Whether the gist of a page is made with that of the page before.

        Small models repeat the gist before, and its tokens cost them seconds.
        """
        info = self._engine.info
        return not info.is_small and info.wording != TRAINED

    def _where(self, page: Page, gist_before: str, *, shows_before: bool) -> str:
        """Sentences about a page's surroundings for the prompt of a gist, ending in a line break.

        `shows_before`: whether the prompt shows the text before the page anyway.
        """
        if not self.tells_before:
            return ""
        book = self._book
        if shows_before:
            before = ""
        elif gist_before:
            before = gist_before
        else:
            chapter = book.chapters[book.chapter_index(page.start)]
            tail_start = max(chapter.start, page.start - _TAIL_CHARACTERS)
            before = last_sentence(book.text[tail_start : page.start])
        where = setting(book, page.start, page.end, before).strip()
        if not where:
            return ""
        return f"{where}\n"

    async def _show(self, start: int, next_start: int | None = None) -> LabelledPassage:
        """The passage at `start`, with labels, after the window was made to fit it.

        If it does not fit, the window begins with the passage; then the passage gets shorter.
        """
        size = self._size
        is_fresh = self._window_start == start
        task_tokens = await extra_task_tokens(
            self._engine, self._focus, "single_pass_gist", "single_pass_pause"
        )
        if self.tells_before:
            task_tokens += MAX_TOKENS
        while True:
            passage = self._label(find_passage(self._book, start, size, next_start))
            prompt_tokens = await self._engine.measure(self._pause_prompt(passage))
            text = self._book.text[start : passage.end].strip()
            words = count_words(text)
            # A gist has as many tokens per word as its page, but at least those of English prose.
            tokens = max(round(TOKENS_PER_WORD * words), await self._engine.count(text))
            self._needed = prompt_tokens + gist_tokens(words, tokens) + task_tokens
            if self._needed <= self._room:
                return passage
            if is_fresh:
                size = shorten_size(self._book, passage, size, self._needed, self._room)
            self._restart(start)
            is_fresh = True

    def _label(self, passage: LabelledPassage) -> LabelledPassage:
        """Label pauses in text not shown before, and drop other pauses without a label.

        Text that was shown gets no new labels: with one, it would lose its KV state.
        """
        known = self._labels
        first_number = known.get(passage.start, 0)
        labels: dict[int, int] = {}
        for pause, number in passage.labels.items():
            if pause in known:
                labels[pause] = known[pause]
            elif pause > self._shown_until:
                labels[pause] = first_number + number
        if not labels:
            # All pauses are in text shown before without labels.
            labels[passage.end] = first_number + passage.labels[passage.end]
        self._labels = dict(sorted((known | labels).items()))
        self._shown_until = max(self._shown_until, passage.end)
        return LabelledPassage(passage.start, labels)

    def _label_at(self, offset: int) -> str:
        """The label of a pause as the prompts name it."""
        if offset in self._labels:
            return f"<{self._labels[offset]}>"
        return "the beginning"

    def _restart(self, start: int) -> None:
        """Begin the window anew."""
        self._window_start = start
        self._labels = {}
        self._shown_until = start

    def _finish_page(self, end: int) -> None:
        """Drop pages from the window, if that pays."""
        if self._has_streams and self._needed <= STREAM_TOKENS:
            # Text after the page keeps its labels, and so its KV state.
            self._window_start = end
            self._labels = {
                offset: number
                for offset, number in self._labels.items()
                if offset >= end
            }
            first_number = next(iter(self._labels.values()), 0)
            if first_number > _LAST_NUMBER:
                self._restart(end)
            return
        words_dropped = count_words(self._book.text[self._window_start : end])
        words_shown_again = count_words(self._book.text[end : self._shown_until])
        if words_shown_again <= _CHEAP_SHARE * words_dropped:
            self._restart(end)

    def _pause_prompt(self, passage: LabelledPassage) -> Prompt:
        template = self._focus.template("single_pass_pause")
        task = template.fill(start=self._label_at(passage.start))
        prompt = f"{self._text(passage.end)}\n\n{task}"
        return (Message("user", prompt, allow_kv_shift=True),)

    def _text(self, until: int) -> str:
        """The text of the window up to `until`, with labels."""
        text = labelled_text(self._book, self._window_start, self._labels, until)
        return self._focus.template("single_pass_text").fill(text=text)
