"""The papers' algorithm over the binding's `Llama`: one chat call after another, as scripts do it.

Pagination and gisting as in ReadAgent (section 3.1 and Appendix H): from the last pause point a
passage of up to 600 words is taken, with labels between its paragraphs after 280. The model is
asked in prose where to pause, and its answer searched with a regular expression; where nothing is
found, the last label is taken (the middle one, if weights are random). Then it is asked for the
page's gist, which is taken as it comes. The task comes first and the text after it, as in the
paper. No grammar, no guard, no second attempt. It is what someone who knows the binding well would
write: all cores, a window that is large enough, greedy, answers no longer than they need to be.

Runs in a process of its own. What `indexing` is compared with.
"""

import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gistread.book.model import Book
from gistread.memory.model import PageSize
from gistread.memory.sizes import PAGE_SIZES
from gistread.words import count_words
from tests.benchmarks import texts
from tests.benchmarks.figures import Finding, Skipped, Table
from tests.benchmarks.setting import Setting, alone, threads

_WINDOW_TOKENS = 4096
_PAUSE_TOKENS = 16
_GIST_TOKENS = 256

_PAUSE = """You are reading a long text and decide where to take a break. Below is a passage of \
it. Between some of its paragraphs stand numbered labels such as <3>. Pick the label at which a \
break is most natural: at the end of a scene, of a conversation or of an argument, or where time \
or place change. Reply with the label in angle brackets and nothing \
else, for example: Break point: <3>

Passage:

{passage}
"""
_GIST = """Shorten the following passage. Reply with the shortened passage and nothing else.

Passage:

{page}
"""
_LABEL = re.compile(r"<\s*(\d+)\s*>")


@dataclass(frozen=True, slots=True)
class NaiveRun:
    """What it cost to read a text so."""

    seconds: float
    first_page_s: float
    book_tokens: int
    prompt_tokens: int
    """Of all prompts together."""
    decoded: int
    pages: int
    pause_calls: int
    """Calls for a pause point; where only one is possible nobody is asked."""
    unparsed: int
    """Of their answers, those that named no label that had been shown."""


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    book = texts.to_index(setting.words, quick=setting.quick)
    if book is None:
        yield Skipped("the naive loop", f"{texts.HE_WALKED.name} is not there")
        return
    run = read_naively(setting, book)
    yield Table(
        f"The naive loop: {book.words:,} words of {book.title}, one call after another",
        ("figure", "value"),
        (
            ("time [s]", run.seconds),
            ("time of the first page [s]", run.first_page_s),
            ("tokens of the book", run.book_tokens),
            (
                "prompt tokens for a token of the book",
                run.prompt_tokens / run.book_tokens,
            ),
            ("tokens decoded for a token of the book", run.decoded / run.book_tokens),
            ("pages", run.pages),
            ("pause points asked for", run.pause_calls),
            ("… of which no answer could be parsed", run.unparsed),
        ),
    )


def size_of(setting: Setting) -> PageSize:
    """Pages as in the paper's QuALITY runs: 280 to 600 words."""
    return PageSize(60, 120) if setting.quick else PAGE_SIZES["quality"]


def read_naively(setting: Setting, book: Book) -> NaiveRun:
    """Read a text so. Once in a run of the benchmarks, whichever parts need it."""
    paragraphs = tuple(book.text[p.start : p.end] for p in book.paragraphs)
    return _read_once(
        setting.model,
        setting.adapter,
        paragraphs,
        size_of(setting),
        setting.gist_tokens,
    )


@cache
def _read_once(
    model: Path,
    adapter: Path | None,
    paragraphs: tuple[str, ...],
    size: PageSize,
    gist_tokens: int,
) -> NaiveRun:
    return alone(_read, model, adapter, paragraphs, size, gist_tokens)


def _read(
    model: Path,
    adapter: Path | None,
    paragraphs: Sequence[str],
    size: PageSize,
    gist_tokens: int,
) -> NaiveRun:
    from llama_cpp import Llama

    cores = threads()
    llama = Llama(
        str(model),
        n_ctx=_WINDOW_TOKENS,
        n_threads=cores,
        n_threads_batch=cores,
        n_gpu_layers=-1,
        lora_path=str(adapter) if adapter else None,
        verbose=False,
    )
    book_tokens = len(llama.tokenize("\n\n".join(paragraphs).encode(), add_bos=False))
    loop = _Loop(
        llama.create_chat_completion,
        gist_tokens or _GIST_TOKENS,
        takes_middle=bool(gist_tokens),
    )
    started = time.perf_counter()
    at, first_page_s = 0, 0.0
    while at < len(paragraphs):
        at = loop.read_page(paragraphs, at, size)
        first_page_s = first_page_s or time.perf_counter() - started
    seconds = time.perf_counter() - started
    return NaiveRun(
        seconds,
        first_page_s,
        book_tokens,
        loop.prompt_tokens,
        loop.decoded,
        loop.pages,
        loop.pause_calls,
        loop.unparsed,
    )


class _Loop:
    """One call after another, and the account of them."""

    def __init__(
        self, chat: Callable[..., Any], gist_tokens: int, *, takes_middle: bool
    ) -> None:
        self._chat = chat
        self._gist_tokens = gist_tokens
        self._takes_middle = takes_middle
        self.prompt_tokens = 0
        self.decoded = 0
        self.pages = 0
        self.pause_calls = 0
        self.unparsed = 0

    def read_page(self, paragraphs: Sequence[str], start: int, size: PageSize) -> int:
        """Find and shorten the page that begins with paragraph `start`; the paragraph after it."""
        labels, end = _labels(paragraphs, start, size)
        if len(labels) > 1:
            end = self._pause(paragraphs[start:end], start, labels)
        self._ask(
            _GIST.format(page="\n\n".join(paragraphs[start:end])), self._gist_tokens
        )
        self.pages += 1
        return end

    def _pause(self, passage: Sequence[str], start: int, labels: Sequence[int]) -> int:
        pieces: list[str] = []
        for number, paragraph in enumerate(passage, start=start + 1):
            pieces += [paragraph, f"<{number}>"] if number in labels else [paragraph]
        label = _LABEL.search(
            self._ask(_PAUSE.format(passage="\n\n".join(pieces)), _PAUSE_TOKENS)
        )
        self.pause_calls += 1
        if label and int(label[1]) in labels:
            return int(label[1])
        self.unparsed += 1
        return labels[len(labels) // 2] if self._takes_middle else labels[-1]

    def _ask(self, text: str, max_tokens: int) -> str:
        answer = self._chat(
            [{"role": "user", "content": text}], max_tokens=max_tokens, temperature=0.0
        )
        self.prompt_tokens += answer["usage"]["prompt_tokens"]
        self.decoded += answer["usage"]["completion_tokens"]
        return answer["choices"][0]["message"]["content"] or ""


def _labels(
    paragraphs: Sequence[str], start: int, size: PageSize
) -> tuple[list[int], int]:
    """Where a pause is allowed, as the number of paragraphs before it; the end of the passage."""
    words = 0
    labels: list[int] = []
    end = start
    for number, paragraph in enumerate(paragraphs[start:], start=start + 1):
        words += count_words(paragraph)
        if labels and words > size.max_words:
            break
        end = number
        if words >= size.min_words:
            labels.append(number)
        if words > size.max_words:
            break
    return labels or [end], end
