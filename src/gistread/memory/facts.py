"""Atomic facts and key elements (GraphReader, section 3.2): what each page tells, one thing at a time.

The model lists them in one constrained form, so that every line can be read (design D3). What it lists is guarded as
gists are: a fact with names that the page lacks, or a copy of the prompt, is dropped. A page of which nothing is
left is told by sentences of its own, so that none is lost. Facts are kept by the text they were made of.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass

from gistread import prompts
from gistread.book.normalise import count_words
from gistread.book.sentences import sentence_spans
from gistread.engine.concurrency_limit import ConcurrencyLimit
from gistread.engine.protocol import NO_USAGE, Engine, Message, Priority, Sampling, Usage
from gistread.memory.derived import ArtifactProgress, key_of
from gistread.memory.estimate import RemainingWork, unread
from gistread.memory.extractive import extract, shared_terms
from gistread.memory.guard import Draft, Fault, no_foreign_names, not_a_refusal, not_the_prompt
from gistread.memory.model import GistMemory, MemoryEntry
from gistread.memory.sizes import TOKENS_PER_WORD

PROMPTS = ("extract",)
_KIND = "facts"
_MOST_FACTS = 14
_MOST_ELEMENTS = 6
_FACT_TOKENS = 40
"""Of a line, in the mean."""
_WORDS_A_FACT = 40
"""Of the page."""

_OF_THE_PAGE = 0.6
"""Of a fact's words so many stand on its page, at least."""

_GRAMMAR = rf"""root ::= line{{1,{_MOST_FACTS}}}
line ::= "- " [^\n|]{{12,220}} " | " element ("; " element){{0,{_MOST_ELEMENTS - 1}}} "\n"
element ::= [^\n|;]{{2,40}}
"""
_LINE = re.compile(r"- ([^\n|]+?) *\| *([^\n|]+)\n")
_CAPITALISED = r"[^\W\d_a-z](?:[\w’']|-(?!-))*"
"""One hyphen may stand in a word; two are a dash."""
_NAME = re.compile(rf"(?<![.!?…]\s)(?<!^)\b{_CAPITALISED}(?:\s+{_CAPITALISED})*")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a page tells."""

    page: int
    text: str
    elements: tuple[str, ...]
    """As they stand in the text or in the model's list; not normalised."""


@dataclass(frozen=True, slots=True)
class Facts:
    """All that was made out, in the order of the book."""

    facts: tuple[Fact, ...]


async def build(
    memory: GistMemory, engine: Engine, priority: Priority = Priority.BACKGROUND
) -> AsyncGenerator[ArtifactProgress | Facts, None]:
    """The facts of every page that has been read; `Facts` is the last thing yielded.

    Goes on where it was stopped. Raises EngineError when the engine fails.
    """
    entries = list(memory.entries)
    places = ConcurrencyLimit(engine)
    found: dict[int, list[Fact]] = {}
    usage = NO_USAGE

    async def of_page(entry: MemoryEntry) -> tuple[int, list[Fact], Usage]:
        async with places:
            facts, cost = await _facts(memory, entry, engine, priority)
        return entry.page.number, facts, cost

    tasks = [asyncio.create_task(of_page(entry)) for entry in entries]
    try:
        for ready in asyncio.as_completed(tasks):
            number, facts, cost = await ready
            found[number] = facts
            usage += cost
            if cost != NO_USAGE:
                yield ArtifactProgress(len(found), len(entries), usage)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    yield Facts(tuple(fact for number in sorted(found) for fact in found[number]))


def known_facts(memory: GistMemory) -> Facts:
    """The facts that have been made. Hashes the whole text: for a thread."""
    return Facts(tuple(fact for entry in memory.entries for fact in _known(memory, entry) or ()))


def remaining(memory: GistMemory) -> RemainingWork:
    """What is left to make, of the pages that have not been read as well.

    Hashes the whole text: for a thread.
    """
    wanted = [entry.page.words for entry in memory.entries if _known(memory, entry) is None]
    done = len(memory.entries) - len(wanted)
    wanted += unread(memory)
    task = count_words(prompts.load("extract").own_words)
    return RemainingWork(
        done,
        done + len(wanted),
        round(sum(words + task for words in wanted) * TOKENS_PER_WORD),
        sum(_most(words) * _FACT_TOKENS for words in wanted),
    )


def _most(words: int) -> int:
    """Facts of a page of so many words."""
    return max(2, min(_MOST_FACTS, words // _WORDS_A_FACT))


def _key(text: str) -> str:
    return key_of(prompts.version(*PROMPTS), text)


def _known(memory: GistMemory, entry: MemoryEntry) -> list[Fact] | None:
    """The facts that were made of a page. They belong to the memory, as its gists do, whichever model asks for them."""
    match memory.derived.at(entry.page.start).get(_KIND, _key(memory.text_of(entry.page))):
        case {"facts": list(lines)}:
            return [Fact(entry.page.number, fact, tuple(elements)) for fact, elements in lines]
    return None


async def _facts(
    memory: GistMemory, entry: MemoryEntry, engine: Engine, priority: Priority
) -> tuple[list[Fact], Usage]:
    text = memory.text_of(entry.page)
    number = entry.page.number
    if (known := _known(memory, entry)) is not None:
        return known, NO_USAGE
    listed, usage = await _listed(text, engine, priority)
    kept = _guarded(listed, text) or _of_the_page(text)
    record = {"facts": [[fact, list(elements)] for fact, elements in kept]}
    memory.derived.at(entry.page.start).put(_KIND, _key(text), record)
    return [Fact(number, fact, elements) for fact, elements in kept], usage


Line = tuple[str, tuple[str, ...]]


async def _listed(text: str, engine: Engine, priority: Priority) -> tuple[list[Line], Usage]:
    """What the model lists, line by line; a last line that was cut off is left out."""
    most = _most(count_words(text))
    prompt = (Message("user", prompts.load("extract").fill(text=text)),)
    room = engine.info.context_tokens - await engine.measure(prompt)
    sampling = Sampling(max(1, min(most * _FACT_TOKENS, room)), repeat_penalty=1.1, grammar=_GRAMMAR)
    said = await engine.complete(prompt, sampling, priority)
    lines = [
        (" ".join(match[1].split()), tuple(filter(None, (one.strip() for one in match[2].split(";")))))
        for match in _LINE.finditer(said.text + ("" if said.finish == "length" else "\n"))
    ]
    return lines, said.usage


def _guarded(lines: Iterable[Line], page: str) -> list[Line]:
    """Those that are about this page, each once."""
    own_words = prompts.load("extract").own_words
    terms = set(shared_terms(page))
    kept: dict[str, Line] = {}
    for fact, elements in lines:
        draft = Draft(fact, page, own_words)
        faults: list[Fault | None] = [rule(draft) for rule in (no_foreign_names, not_a_refusal, not_the_prompt)]
        said = set(shared_terms(fact))
        if any(faults) or len(said & terms) < max(1, _OF_THE_PAGE * len(said)):
            continue
        named = tuple(one for one in elements[:_MOST_ELEMENTS] if set(shared_terms(one)) & terms or one in page)
        kept.setdefault(fact.casefold(), (fact, named or tuple(elements_in(fact))))
    return list(kept.values())


def _of_the_page(page: str) -> list[Line]:
    """Sentences of the page in place of facts."""
    most = max(1, min(_MOST_FACTS, count_words(page) // _WORDS_A_FACT))
    own = extract(page, most * 18)
    return [
        (sentence, tuple(elements_in(sentence)))
        for start, end in sentence_spans(own)
        if (sentence := " ".join(own[start:end].split()))
    ] or [(" ".join(page.split())[:200], ())]


def elements_in(sentence: str) -> list[str]:
    """What a sentence names: its capitalised words inside it, and its longest other words."""
    found = (match[0].strip("’'-") for match in _NAME.finditer(sentence))
    names = list(dict.fromkeys(name for name in found if len(name) > 2 or not name.isascii()))
    in_names = " ".join(names)
    others = dict.fromkeys(word for word in re.findall(r"[^\W\d_]{5,}", sentence) if word not in in_names)
    return [*names, *sorted(others, key=len, reverse=True)][:_MOST_ELEMENTS]
