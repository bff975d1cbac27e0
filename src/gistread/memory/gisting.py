"""Memory gisting: a page is shortened (ReadAgent, section 3.1, Figure 3), and what comes out is guarded (D6).

The model is asked once, and once again with other sampling (and in other words) if the guard finds a fault. If
that fails too, the gist is made of the page's own sentences, and marked so. A page too short to be shortened
is its own gist, and no model is asked.
"""

import math
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from gistread import prompts
from gistread.book.normalise import count_words
from gistread.engine.protocol import (
    NO_USAGE,
    Completion,
    Engine,
    Message,
    Priority,
    Prompt,
    Restarted,
    Sampling,
    TextDelta,
    Usage,
)
from gistread.memory.extractive import CHARACTERS_PER_WORD, extract
from gistread.memory.focus import DEFAULT_FOCUS, GistFocus
from gistread.memory.guard import Draft, Fault, clean, find_fault, hopeless
from gistread.memory.model import Gist, GistSource
from gistread.prompts import PromptTemplate

PROMPTS = ("gist", "gist_again")
"""The prompts that decide what gists say."""

VERBATIM_WORDS = 60
"""A page shorter than this (a title page, a last few lines) is its own gist."""

_LOOKED_AT_EVERY = 120
"""Characters: some twenty words."""
_ROOM = 1.8
"""Tokens allowed for a gist, for one token of the length asked for."""


@dataclass(frozen=True, slots=True)
class GistResult:
    """A gist that can be kept, and how it came about."""

    gist: Gist
    faults: tuple[Fault, ...]
    """Of the attempts that were not kept, in order."""
    usage: Usage


def wanted_words(page_words: int) -> int:
    """How long a gist should be: three twentieths of its page, at most 160 words.

    QuALITY's pages are shortened to 14.5% in the paper and the long pages of novels to 3.2% (sections 4.3, 4.4).
    """
    return min(160, max(20, round(page_words * 0.015) * 10))


def merged_words(gist_words: int) -> int:
    """How long the gist of gists should be: three tenths of them, at least 40 and at most 160 words.

    They have been shortened before: by the same share again, a chapter would be told in twenty words and a book, too.
    """
    return min(160, max(40, round(gist_words * 0.03) * 10))


def gist_tokens(page_words: int, page_tokens: int, wanted: int = 0) -> int:
    """The most tokens that a gist of `wanted` words (0: as usual) may take, for a page of so many words and tokens."""
    tokens = (wanted or wanted_words(page_words)) * page_tokens / max(1, page_words)
    # A page without spaces is one long word, and its gist is not to be twenty of them.
    return 24 + min(page_tokens // 2, math.ceil(_ROOM * tokens))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to ask for a gist."""

    prompt: Prompt
    sampling: Sampling
    own_words: str
    """What the prompt says beside the page: a gist that says it too is no gist."""
    before: str = ""
    """Text of the book in front of the page that the prompt shows."""


async def gist_page(
    text: str,
    engine: Engine,
    attempts: Sequence[Attempt],
    priority: Priority,
    *,
    task: str = "",
    guarded: bool = True,
    wanted: int = 0,
) -> GistResult:
    """The gist of a page's text. Raises EngineError when the engine fails, never for what the model says.

    Sentences that stand in for a gist are those nearest to the `task`, where there is one, and `wanted` words together;
    0: as many as the gist of a page. Not `guarded`, the gist is what the model writes at the first attempt, unless that
    is nothing.
    """
    page_words = count_words(text)
    if is_short(text):
        return GistResult(Gist(text, page_words, GistSource.VERBATIM), (), NO_USAGE)
    faults: list[Fault] = []
    usage = NO_USAGE
    if not guarded:
        said = await engine.complete(attempts[0].prompt, attempts[0].sampling, priority)
        usage += said.usage
        if written := said.text.strip():
            return GistResult(Gist(written, count_words(written), GistSource.MODEL), (), usage)
        attempts, faults = (), [Fault.EMPTY]
    for attempt in attempts:
        gist, fault, cost = await _draft(text, attempt, engine, priority)
        usage += cost
        if fault is None:
            return GistResult(Gist(gist, count_words(gist), GistSource.MODEL), tuple(faults), usage)
        faults.append(fault)
    own = extract(text, wanted or wanted_words(page_words), task)
    return GistResult(Gist(own, count_words(own), GistSource.EXTRACTIVE), tuple(faults), usage)


async def _draft(text: str, attempt: Attempt, engine: Engine, priority: Priority) -> tuple[str, Fault | None, Usage]:
    """What the model writes, its fault if it has one, and what it cost. Ended early where no word could mend it."""
    written, looked_at = "", 0
    usage = NO_USAGE
    async with aclosing(engine.stream(attempt.prompt, attempt.sampling, priority)) as stream:
        async for event in stream:
            match event:
                case TextDelta(piece, usage):
                    written += piece
                    if len(written) >= looked_at + _LOOKED_AT_EVERY:
                        looked_at = len(written)
                        so_far, _ = clean(written)
                        if fault := hopeless(Draft(so_far, text, attempt.own_words, before=attempt.before)):
                            return so_far, fault, usage
                case Restarted():
                    written, looked_at = "", 0
                case Completion():
                    gist, cut_off = clean(event.text, cut_off=event.finish == "length")
                    draft = Draft(gist, text, attempt.own_words, cut_off, attempt.before)
                    return gist, find_fault(draft), event.usage
    return "", Fault.EMPTY, usage


def is_short(text: str) -> bool:
    """Whether a page is too short to be shortened."""
    return count_words(text) < VERBATIM_WORDS and len(text) < VERBATIM_WORDS * CHARACTERS_PER_WORD


async def careful_attempts(
    text: str, engine: Engine, focus: GistFocus = DEFAULT_FOCUS, wanted: int = 0
) -> tuple[Attempt, ...]:
    """The page alone before the model, as in the paper (Figure 3); and once again in other words.

    It is asked for `wanted` words; 0: as many as the gist of a page has.
    """
    words = wanted or wanted_words(count_words(text))
    first, second = samplings(gist_tokens(count_words(text), await engine.count(text), words))
    return tuple(
        attempt(template := focus.template(name), template.fill(passage=text, words=words), sampling)
        for name, sampling in (("gist", first), ("gist_again", second))
    )


async def longer_task(engine: Engine, gist: PromptTemplate, other: str, least: int) -> int:
    """Tokens by which the task of this gisting prompt is longer than that of the prompt `other`; `least` or more."""
    mine, others = [await engine.count(_task(template)) for template in (gist, prompts.load(other))]
    return max(least, mine - others)


def _task(template: PromptTemplate) -> str:
    """What the prompt says after the text."""
    return template.own_words.partition("---")[2]


def samplings(room_tokens: int) -> tuple[Sampling, Sampling]:
    """Of the first attempt and of the second, which is to come out otherwise."""
    return (
        Sampling(room_tokens, repeat_penalty=1.1),
        Sampling(room_tokens, temperature=0.4, seed=1, repeat_penalty=1.15, dry_multiplier=0.8),
    )


def attempt(template: PromptTemplate, filled: str, sampling: Sampling, before: str = "") -> Attempt:
    """To ask with this prompt. A weak model that has ended its gist goes on with the prompt again: it is stopped."""
    stop = ("\n---", "\nPassage:", "\n" + " ".join(_task(template).split()[:2]))
    return Attempt((Message("user", filled),), replace(sampling, stop=stop), template.own_words, before)
