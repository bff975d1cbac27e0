"""Shortens a page (ReadAgent, section 3.1, Figure 3).

If two attempts of the model fail the guard, the gist is made of the page's own sentences.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from gistread.engine import protocol
from gistread.memory.extractive import extract, length, quote
from gistread.memory.guard import Draft, Fault, clean, find_fault, find_final_fault
from gistread.memory.model import DEFAULT_FOCUS, Gist, GistFocus, GistSource
from gistread.prompts import TRAINED, PromptTemplate
from gistread.words import count_words

PROMPTS = ("gist", "gist_again")  # Part of a memory's identity

VERBATIM_WORDS = 60  # A shorter page (a title page, a few last lines) is its own gist

# Characters between checks of an unfinished gist; some ten words. A copy is known after 24 words.
_CHECKED_EVERY = 60
_LEAST_EXTRA = 48  # Least tokens reserved for a task that may be longer than another
_ROOM = 1.8  # Tokens allowed for each token of the requested length
_SPARE_TOKENS = 24  # Allowed beyond that, so that a short gist can end its sentence

_TENS_OF_PAGE = 0.015  # Tens of words of a gist for each word of the page
_TENS_OF_GISTS = 0.03  # The same of a summary, for each word of its gists
_LEAST_WORDS = 20
_LEAST_MERGED_WORDS = 40
_MOST_WORDS = 160


@dataclass(frozen=True, slots=True)
class GistResult:
    """A gist and how it was made."""

    gist: Gist
    faults: tuple[Fault, ...]  # Faults of the rejected attempts, in order
    usage: protocol.Usage


def wanted_words(page_words: int) -> int:
    """The length of a gist: 15% of the page, between 20 and 160 words.

    The paper has 14.5% (QuALITY) and 3.2% (novels), sections 4.3, 4.4.
    """
    words = 10 * round(page_words * _TENS_OF_PAGE)
    return min(_MOST_WORDS, max(_LEAST_WORDS, words))


def merged_words(gist_words: int) -> int:
    """The length of a summary of gists: 30% of them, between 40 and 160 words.

    The share is larger than that of a gist, since gists are short already.
    """
    words = 10 * round(gist_words * _TENS_OF_GISTS)
    return min(_MOST_WORDS, max(_LEAST_MERGED_WORDS, words))


def gist_tokens(page_words: int, page_tokens: int, words: int = 0) -> int:
    """Most tokens of a gist of so many `words` for a page; 0: the usual length."""
    if not words:
        words = wanted_words(page_words)
    tokens = words * page_tokens / max(1, page_words)
    # A page without spaces counts as one long word; its gist has at most half its tokens.
    return _SPARE_TOKENS + min(page_tokens // 2, math.ceil(_ROOM * tokens))


@dataclass(frozen=True, slots=True)
class Attempt:
    """A prompt for a gist, and how the model writes it."""

    prompt: protocol.Prompt
    sampling: protocol.Sampling
    own_words: str  # The prompt without the page; a gist must not repeat it
    before: str = ""  # Text before the page that the prompt shows too


async def gist_page(
    text: str,
    engine: protocol.Engine,
    attempts: Sequence[Attempt],
    priority: protocol.Priority,
    *,
    task: str = "",
    words: int = 0,
    told_before: str = "",
    prose: str = "",
    on_draft: Callable[[str], None] = lambda _: None,
) -> GistResult:
    """Make the gist of a page; the fallback takes sentences near the `task`. Raises EngineError.

    `words`: its length; 0: the usual one. `told_before`: see `Draft`. `prose`: the text without its
    headings, from which gists of its own sentences are taken; default: `text`. `on_draft` gets the
    text so far of an attempt, if its words would be the gist, and an empty text if it is rejected.
    """
    # The starter finds what matters but mixes up who did it, so its gists quote the page.
    is_quoted = engine.info.wording == TRAINED
    show = _ignore if is_quoted else on_draft
    prose = prose or text
    if is_short(text):
        return GistResult(_gist_of(prose, GistSource.VERBATIM), (), protocol.NO_USAGE)
    words = words or wanted_words(count_words(text))
    faults: list[Fault] = []
    usage = protocol.NO_USAGE
    for attempt in attempts:
        draft = Draft(
            "", text, attempt.own_words, before=attempt.before, told_before=told_before
        )
        written = await _write(draft, attempt, engine, priority, show)
        usage += written.usage
        if written.fault is None:
            gist = _gist_of(written.text, GistSource.MODEL)
            if is_quoted:
                quoted = quote(prose, written.text, words)
                gist = _gist_of(quoted, GistSource.QUOTED)
            return GistResult(gist, tuple(faults), usage)
        on_draft("")
        faults.append(written.fault)
    extracted = extract(prose, words, task)
    gist = _gist_of(extracted, GistSource.EXTRACTIVE)
    return GistResult(gist, tuple(faults), usage)


def _gist_of(text: str, source: GistSource) -> Gist:
    return Gist(text, count_words(text), source)


def _ignore(_: str) -> None:
    """Show nothing of a draft."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A model's text, its fault if any, and the cost."""

    text: str
    fault: Fault | None
    usage: protocol.Usage


async def _write(
    draft: Draft,
    attempt: Attempt,
    engine: protocol.Engine,
    priority: protocol.Priority,
    on_draft: Callable[[str], None],
) -> _Written:
    """Let the model write. Stops early at a fault that further words cannot correct."""
    written = ""
    checked_length = 0
    usage = protocol.NO_USAGE
    streaming = engine.stream(attempt.prompt, attempt.sampling, priority)
    async with aclosing(streaming) as stream:
        async for event in stream:
            match event:
                case protocol.TextDelta(piece, usage):
                    written += piece
                    on_draft(written)
                    if len(written) >= checked_length + _CHECKED_EVERY:
                        checked_length = len(written)
                        so_far, _ = clean(written, draft.page)
                        if fault := find_final_fault(replace(draft, text=so_far)):
                            return _Written(so_far, fault, usage)
                case protocol.StreamRestarted():
                    written = ""
                    checked_length = 0
                case protocol.Completion():
                    is_cut = event.finish != "end"
                    gist, cut_off = clean(event.text, draft.page, cut_off=is_cut)
                    fault = find_fault(replace(draft, text=gist, cut_off=cut_off))
                    return _Written(gist, fault, event.usage)
    return _Written("", Fault.EMPTY, usage)


def is_short(text: str) -> bool:
    """Whether a page is too short to be shortened."""
    return length(text) < VERBATIM_WORDS


async def careful_attempts(
    text: str, engine: protocol.Engine, focus: GistFocus = DEFAULT_FOCUS, words: int = 0
) -> tuple[Attempt, ...]:
    """Attempts with the page alone in the prompt, as in the paper (Figure 3).

    `words`: see `gist_tokens`.
    """
    page_words = count_words(text)
    words = words or wanted_words(page_words)
    room_tokens = gist_tokens(page_words, await engine.count(text), words)
    attempts: list[Attempt] = []
    for name, sampling in zip(PROMPTS, samplings(room_tokens), strict=True):
        template = focus.template(name)
        prompt = template.fill(passage=text, words=words)
        attempts.append(make_attempt(template, prompt, sampling))
    return tuple(attempts)


async def extra_task_tokens(
    engine: protocol.Engine, focus: GistFocus, gist_prompt: str, other_prompt: str
) -> int:
    """Tokens to reserve for the task of the prompt of a gist, which may be the longer one.

    `gist_prompt`, `other_prompt`: names of the two prompts.
    """
    gist_task = await engine.count(_task(focus.template(gist_prompt)))
    other_task = await engine.count(_task(focus.template(other_prompt)))
    return max(_LEAST_EXTRA, gist_task - other_task)


def _task(template: PromptTemplate) -> str:
    """The part of a prompt after the page."""
    _, _, task = template.own_words.partition("---")
    return task


_FIRST = protocol.Sampling(max_tokens=0, repeat_penalty=1.1)
_SECOND = protocol.Sampling(
    max_tokens=0, temperature=0.4, seed=1, repeat_penalty=1.15, dry_multiplier=0.8
)


def samplings(room_tokens: int) -> tuple[protocol.Sampling, protocol.Sampling]:
    """The sampling of the first attempt, and of the second, whose text should differ."""
    first = replace(_FIRST, max_tokens=room_tokens)
    second = replace(_SECOND, max_tokens=room_tokens)
    return first, second


def make_attempt(
    template: PromptTemplate, filled: str, sampling: protocol.Sampling, before: str = ""
) -> Attempt:
    """Build an attempt.

    Its stop strings end the text of a weak model that repeats the prompt after its gist.
    """
    beginning_of_task = " ".join(_task(template).split()[:2])
    stop = ("\n---", "\nPassage:", f"\n{beginning_of_task}")
    prompt = (protocol.Message("user", filled, allow_kv_shift=True),)
    return Attempt(prompt, replace(sampling, stop=stop), template.own_words, before)
