"""Shortens a page (ReadAgent, section 3.1, Figure 3).

Two guarded attempts, then the page's own sentences.
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

_CHECKED_EVERY = 120  # Characters between checks of an unfinished gist; some twenty words
_LEAST_EXTRA = 48  # Tokens reserved at least for a task that may be longer than another
_ROOM = 1.8  # Tokens allowed for each token of the length asked for


@dataclass(frozen=True, slots=True)
class GistResult:
    gist: Gist
    faults: tuple[Fault, ...]  # Faults of the rejected attempts, in order
    usage: protocol.Usage


def wanted_words(page_words: int) -> int:
    """15% of a page, at most 160 words.

    The paper has 14.5% (QuALITY) and 3.2% (novels), sections 4.3, 4.4.
    """
    return min(160, max(20, round(page_words * 0.015) * 10))


def merged_words(gist_words: int) -> int:
    """Length of a summary of gists.

    30% of them, between 40 and 160 words, since gists are short already.
    """
    return min(160, max(40, round(gist_words * 0.03) * 10))


def gist_tokens(page_words: int, page_tokens: int, wanted: int = 0) -> int:
    """Most tokens of a gist of `wanted` words (0: the usual length) for a page of this many words
    and tokens.
    """
    tokens = (wanted or wanted_words(page_words)) * page_tokens / max(1, page_words)
    # The second bound is for pages without spaces, which count as one long word.
    return 24 + min(page_tokens // 2, math.ceil(_ROOM * tokens))


@dataclass(frozen=True, slots=True)
class Attempt:
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
    wanted: int = 0,
    told_before: str = "",
    on_draft: Callable[[str], None] = lambda _: None,
) -> GistResult:
    """Make the gist of a page; the fallback takes sentences near the `task`. Raises EngineError.

    `told_before`: see `Draft`. `on_draft` gets the text so far of an attempt, if its words would be
    the gist, and an empty text if it is rejected.
    """
    # The starter finds what matters, and mixes up who did it: its gists quote the page.
    is_quoted = engine.info.wording == TRAINED
    show = _ignore if is_quoted else on_draft
    page_words = count_words(text)
    if is_short(text):
        return GistResult(Gist(text, page_words, GistSource.VERBATIM), (), protocol.NO_USAGE)
    faults: list[Fault] = []
    usage = protocol.NO_USAGE
    for attempt in attempts:
        draft = Draft("", text, attempt.own_words, before=attempt.before, told_before=told_before)
        gist, fault, cost = await _write(draft, attempt, engine, priority, show)
        usage += cost
        if fault is None and is_quoted:
            gist = quote(text, gist, wanted or wanted_words(page_words))
            return GistResult(
                Gist(gist, count_words(gist), GistSource.QUOTED), tuple(faults), usage
            )
        if fault is None:
            return GistResult(Gist(gist, count_words(gist), GistSource.MODEL), tuple(faults), usage)
        on_draft("")
        faults.append(fault)
    own = extract(text, wanted or wanted_words(page_words), task)
    return GistResult(Gist(own, count_words(own), GistSource.EXTRACTIVE), tuple(faults), usage)


def _ignore(_: str) -> None:
    """Show nothing of a draft."""


async def _write(
    draft: Draft,
    attempt: Attempt,
    engine: protocol.Engine,
    priority: protocol.Priority,
    on_draft: Callable[[str], None],
) -> tuple[str, Fault | None, protocol.Usage]:
    """The model's text, its fault if any, and the cost.

    Stops early at a fault that further words cannot mend.
    """
    written, checked = "", 0
    usage = protocol.NO_USAGE
    async with aclosing(engine.stream(attempt.prompt, attempt.sampling, priority)) as stream:
        async for event in stream:
            match event:
                case protocol.TextDelta(piece, usage):
                    written += piece
                    on_draft(written)
                    if len(written) >= checked + _CHECKED_EVERY:
                        checked = len(written)
                        so_far, _ = clean(written)
                        if fault := find_final_fault(replace(draft, text=so_far)):
                            return so_far, fault, usage
                case protocol.StreamRestarted():
                    written, checked = "", 0
                case protocol.Completion():
                    gist, cut_off = clean(event.text, cut_off=event.finish != "end")
                    return gist, find_fault(replace(draft, text=gist, cut_off=cut_off)), event.usage
    return "", Fault.EMPTY, usage


def is_short(text: str) -> bool:
    return length(text) < VERBATIM_WORDS


async def careful_attempts(
    text: str, engine: protocol.Engine, focus: GistFocus = DEFAULT_FOCUS, wanted: int = 0
) -> tuple[Attempt, ...]:
    """Attempts with the page alone in the prompt, as in the paper (Figure 3).

    `wanted` words; 0: the usual.
    """
    words = wanted or wanted_words(count_words(text))
    first, second = samplings(gist_tokens(count_words(text), await engine.count(text), words))
    return tuple(
        make_attempt(
            template := focus.template(name), template.fill(passage=text, words=words), sampling
        )
        for name, sampling in (("gist", first), ("gist_again", second))
    )


async def extra_task_tokens(
    engine: protocol.Engine, focus: GistFocus, gist: str, other: str
) -> int:
    """Tokens to reserve for the task of the prompt `gist`, which may be longer than that of the
    prompt `other`.
    """
    mine, others = [await engine.count(_task(focus.template(name))) for name in (gist, other)]
    return max(_LEAST_EXTRA, mine - others)


def _task(template: PromptTemplate) -> str:
    return template.own_words.partition("---")[2]


def samplings(room_tokens: int) -> tuple[protocol.Sampling, protocol.Sampling]:
    """For the first attempt, and for the second, which should differ."""
    return (
        protocol.Sampling(room_tokens, repeat_penalty=1.1),
        protocol.Sampling(
            room_tokens, temperature=0.4, seed=1, repeat_penalty=1.15, dry_multiplier=0.8
        ),
    )


def make_attempt(
    template: PromptTemplate, filled: str, sampling: protocol.Sampling, before: str = ""
) -> Attempt:
    """Build an attempt.

    Its stop strings end a weak model that repeats the prompt after its gist.
    """
    stop = ("\n---", "\nPassage:", "\n" + " ".join(_task(template).split()[:2]))
    return Attempt(
        (protocol.Message("user", filled, allow_kv_shift=True),),
        replace(sampling, stop=stop),
        template.own_words,
        before,
    )
