"""Memory gisting: a page is shortened (ReadAgent, section 3.1, Figure 3), and what comes out is guarded (D6).

The model is asked once, and once again in other words and with other sampling if the guard finds a fault. If
that fails too, the gist is made of the page's own sentences, and marked so. A page too short to be shortened
is its own gist, and no model is asked.
"""

import math
from dataclasses import dataclass, replace

from gistread import prompts
from gistread.book.words import count_words
from gistread.engine.protocol import NO_USAGE, Engine, Message, Priority, Sampling, Usage
from gistread.memory.extractive import CHARACTERS_PER_WORD, extract
from gistread.memory.guard import Draft, Fault, clean, inspect
from gistread.memory.model import Gist, GistSource

PROMPTS = ("gist", "gist_again")
"""The prompts that decide what gists say."""

VERBATIM_WORDS = 60
"""A page shorter than this (a title page, a last few lines) is its own gist."""

_ROOM = 1.8
"""Tokens allowed for a gist, for one token of the length asked for."""


@dataclass(frozen=True, slots=True)
class Gisted:
    """A gist that can be kept, and how it came about."""

    gist: Gist
    faults: tuple[Fault, ...]
    """Of the attempts that were not kept, in order."""
    usage: Usage


def wanted_words(page_words: int) -> int:
    """How long a gist should be: a fifth of its page, at most 160 words.

    QuALITY's pages are shortened to 14.5% in the paper and the long pages of novels to 3.2% (sections 4.3, 4.4).
    """
    return min(160, max(20, round(page_words / 50) * 10))


def gist_tokens(page_words: int, page_tokens: int) -> int:
    """The most tokens that a gist may take, for a page of so many words and tokens."""
    wanted = wanted_words(page_words) * page_tokens / max(1, page_words)
    # A page without spaces is one long word, and its gist is not to be twenty of them.
    return 24 + min(page_tokens // 2, math.ceil(_ROOM * wanted))


async def gist_page(text: str, engine: Engine, priority: Priority = Priority.BACKGROUND) -> Gisted:
    """The gist of a page's text. Raises EngineError when the engine fails, never for what the model says."""
    text = text.strip()
    page_words = count_words(text)
    if page_words < VERBATIM_WORDS and len(text) < VERBATIM_WORDS * CHARACTERS_PER_WORD:
        return Gisted(Gist(text, page_words, GistSource.VERBATIM), (), NO_USAGE)
    words = wanted_words(page_words)
    room_tokens = gist_tokens(page_words, await engine.count(text))
    attempts = (
        ("gist", Sampling(room_tokens, repeat_penalty=1.1)),
        ("gist_again", Sampling(room_tokens, temperature=0.4, seed=1, repeat_penalty=1.15, dry_multiplier=0.8)),
    )
    faults: list[Fault] = []
    usage = NO_USAGE
    for name, sampling in attempts:
        template = prompts.load(name)
        prompt = (Message("user", template.fill(passage=text, words=words)),)
        completion = await engine.complete(prompt, replace(sampling, stop=_echoes(template)), priority)
        usage += completion.usage
        gist, cut_off = clean(completion.text, cut_off=completion.finish == "length")
        fault = inspect(Draft(gist, text, template.own_words, cut_off))
        if fault is None:
            return Gisted(Gist(gist, count_words(gist), GistSource.MODEL), tuple(faults), usage)
        faults.append(fault)
    own = extract(text, words)
    return Gisted(Gist(own, count_words(own), GistSource.EXTRACTIVE), tuple(faults), usage)


def _echoes(template: prompts.PromptTemplate) -> tuple[str, ...]:
    """How a weak model that has ended its gist goes on: with the prompt again. It is stopped there."""
    task = template.own_words.rpartition("---")[2].split()
    return ("\n---", "\nPassage:", "\n" + " ".join(task[:2]))
