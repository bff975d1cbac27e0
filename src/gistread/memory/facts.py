"""Extracts atomic facts and key elements from each page (GraphReader, section 3.2).

A grammar binds the model to the form of facts, and the guard checks them against the page.
The graph joins elements that one fact names, after their names are normalised.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Set
from contextlib import aclosing
from dataclasses import dataclass

from gistread import prompts
from gistread.book.sentences import sentence_spans
from gistread.engine.protocol import (
    NO_USAGE,
    Engine,
    Message,
    Priority,
    Sampling,
    Usage,
)
from gistread.memory.derived import ArtifactProgress, as_finished, key_of
from gistread.memory.extractive import extract, shared_terms
from gistread.memory.guard import Draft, Fault, find_fault, told_before
from gistread.memory.model import GistMemory, MemoryEntry
from gistread.memory.sizes import TOKENS_PER_WORD, RemainingWork, unread_page_words
from gistread.search.tokens import ARTICLES, Terms, folded
from gistread.words import count_words

PROMPTS = ("extract",)
_KIND = "facts"
_MAX_FACTS = 14
_MAX_ELEMENTS = 6
_FACT_TOKENS = 40  # Mean length of a line
_WORDS_PER_FACT = 40  # Words of the page for each fact
_FACT_SENTENCE_WORDS = 18

_NARRATOR = "narrator"
_MIN_SHARED = 0.6  # Least share of a fact's words that occur on its page

_GRAMMAR = rf"""root ::= line{{1,{_MAX_FACTS}}}
line ::= "- " [^\n|]{{12,220}} " | " element ("; " element){{0,{_MAX_ELEMENTS - 1}}} "\n"
element ::= [^\n|;]{{2,40}}
"""
_LINE = re.compile(r"- ([^\n|]+?) *\| *([^\n|]+)\n")
# A word may contain a hyphen; two are a dash
_CAPITALISED = r"[^\W\d_a-z](?:[\w’']|-(?!-))*"
_NAME = re.compile(rf"(?<![.!?…]\s)(?<!^)\b{_CAPITALISED}(?:\s+{_CAPITALISED})*")


@dataclass(frozen=True, slots=True)
class Fact:
    page: int
    text: str
    elements: tuple[str, ...]  # The key elements it names, as written


_Line = tuple[str, tuple[str, ...]]  # A fact and its elements
_REPEAT_PENALTY = 1.1


async def build(
    memory: GistMemory, engine: Engine, priority: Priority = Priority.BACKGROUND
) -> AsyncGenerator[ArtifactProgress, None]:
    """Extract the facts of every page read so far that has none yet (`known_facts`).

    Raises EngineError.
    """
    entries = memory.read_entries
    limit = asyncio.Semaphore(engine.info.parallel)
    usage = NO_USAGE

    async def extract_from(entry: MemoryEntry) -> Usage:
        async with limit:
            if _known(memory, entry) is not None:
                return NO_USAGE
            text = memory.text_of(entry.page)
            most = _most_facts(count_words(text))
            prompt = (Message("user", prompts.load("extract").fill(text=text)),)
            room = engine.info.context_tokens - await engine.measure(prompt)
            sampling = Sampling(
                max(1, min(most * _FACT_TOKENS, room)),
                repeat_penalty=_REPEAT_PENALTY,
                grammar=_GRAMMAR,
            )
            reply = await engine.complete(prompt, sampling, priority)
            written = reply.text
            if reply.finish == "end":
                written += "\n"  # Its last line is whole
            lines = _lines_of(written)
            before = told_before(
                memory.book.text, entry.page.start, engine.info.wording
            )
            kept = _borne_out(lines, text, before) or _sentences_as_facts(text)
            facts = [[fact, list(elements)] for fact, elements in kept]
            memory.derived.put(_KIND, _key(text), {"facts": facts})
            return reply.usage

    done = 0
    async with aclosing(
        as_finished([asyncio.create_task(extract_from(entry)) for entry in entries])
    ) as costs:
        async for cost in costs:
            done, usage = done + 1, usage + cost
            if cost != NO_USAGE:
                yield ArtifactProgress(done, len(entries), usage)


def _lines_of(reply: str) -> list[_Line]:
    """The whole lines of a reply."""
    lines = []
    for match in _LINE.finditer(reply):
        elements = (element.strip() for element in match[2].split(";"))
        lines.append((" ".join(match[1].split()), tuple(filter(None, elements))))
    return lines


def known_facts(memory: GistMemory) -> tuple[Fact, ...]:
    """The facts extracted so far, in the order of the book.

    Hashes the whole text: run it in a thread.
    """
    return tuple(
        fact for entry in memory.read_entries for fact in _known(memory, entry) or ()
    )


def remaining(memory: GistMemory) -> RemainingWork:
    """Estimate the extraction left, unread pages included.

    Hashes the whole text: run it in a thread.
    """
    read = memory.read_entries
    page_words = [entry.page.words for entry in read if _known(memory, entry) is None]
    done = len(read) - len(page_words)
    page_words += unread_page_words(memory)
    task = count_words(prompts.load("extract").own_words)
    return RemainingWork(
        done,
        done + len(page_words),
        round(sum(words + task for words in page_words) * TOKENS_PER_WORD),
        sum(_most_facts(words) * _FACT_TOKENS for words in page_words),
    )


def _most_facts(page_words: int) -> int:
    return max(2, min(_MAX_FACTS, page_words // _WORDS_PER_FACT))


def _key(text: str) -> str:
    return key_of(prompts.version(*PROMPTS), text)


def _known(memory: GistMemory, entry: MemoryEntry) -> list[Fact] | None:
    match memory.derived.get(_KIND, _key(memory.text_of(entry.page))):
        case {"facts": list(lines)}:
            return [
                Fact(entry.page.number, fact, tuple(elements))
                for fact, elements in lines
            ]
    return None


def _borne_out(lines: Iterable[_Line], page: str, before: str) -> list[_Line]:
    """The facts that their page bears out, each with the elements that the page names.

    `before`: the text before the page.
    """
    own_words = prompts.load("extract").own_words
    terms = set(shared_terms(page))
    kept: dict[str, _Line] = {}
    for fact, elements in lines:
        draft = Draft(fact, page, own_words, told_before=before)
        is_faulty = find_fault(
            draft, (Fault.FOREIGN_NAMES, Fault.REFUSAL, Fault.PROMPT)
        )
        own_terms = set(shared_terms(fact)) - _added_names(fact, page, before)
        least_shared = max(1, _MIN_SHARED * len(own_terms))
        if is_faulty or len(own_terms & terms) < least_shared:
            continue
        named = tuple(
            element
            for element in elements[:_MAX_ELEMENTS]
            if element in page or not terms.isdisjoint(shared_terms(element))
        )
        kept.setdefault(fact.casefold(), (fact, named or tuple(elements_in(fact))))
    return list(kept.values())


def _added_names(fact: str, page: str, before: str) -> set[str]:
    """The terms of names that a fact has in place of the page's "he" or "I".

    `before`: the text before the page, which has these names.
    """
    words = (match[0] for match in re.finditer(_CAPITALISED, fact))
    names = [word for word in words if word not in page and word in before]
    return set(shared_terms(" ".join([*names, _NARRATOR])))


_LONGEST_FACT = 200  # Characters of a page without a sentence


def _sentences_as_facts(page: str) -> list[_Line]:
    most = max(1, min(_MAX_FACTS, count_words(page) // _WORDS_PER_FACT))
    own = extract(page, most * _FACT_SENTENCE_WORDS)
    sentences = [" ".join(own[start:end].split()) for start, end in sentence_spans(own)]
    facts = [
        (sentence, tuple(elements_in(sentence))) for sentence in sentences if sentence
    ]
    return facts or [(" ".join(page.split())[:_LONGEST_FACT], ())]


def elements_in(sentence: str) -> list[str]:
    """The names in a sentence (capitalised words inside it), then its longest other words."""
    matches = (match[0].strip("’'-") for match in _NAME.finditer(sentence))
    names = list(
        dict.fromkeys(name for name in matches if len(name) > 2 or not name.isascii())
    )
    in_names = " ".join(names)
    others = dict.fromkeys(
        word for word in re.findall(r"[^\W\d_]{5,}", sentence) if word not in in_names
    )
    return [*names, *sorted(others, key=len, reverse=True)][:_MAX_ELEMENTS]


# A name after one of these is not the same name alone: Lady Fortunato is not Fortunato.
_OF_ANOTHER = """
lady mrs miss ms mistress madam madame mme mlle mademoiselle dame
señora señorita signora signorina frau fräulein mevrouw pani
mother father sister brother wife husband son daughter widow aunt uncle cousin young old little
queen king prince princess duchess duke countess count baroness baron house castle street family
"""


@dataclass(frozen=True, slots=True)
class Element:
    """A key element, the facts that name it, and its neighbours' keys, most frequent first."""

    key: str
    name: str  # Its most frequent written form
    facts: tuple[Fact, ...]
    neighbours: tuple[str, ...]


def build_graph(facts: tuple[Fact, ...], language: str = "") -> Mapping[str, Element]:
    """The graph by key, in order of first appearance. `language` is a BCP 47 tag."""
    terms = Terms(language)
    written: dict[str, Counter[str]] = defaultdict(Counter)
    keys_of: dict[Fact, list[str]] = {}
    for fact in facts:
        keys = [
            (_element_key(element, terms), element.strip()) for element in fact.elements
        ]
        for key, form in keys:
            if key:
                written[key][form] += 1
        keys_of[fact] = [key for key, _ in keys if key]
    merged = _merge_keys(written, _keys_of_others(terms))
    facts_of: dict[str, dict[Fact, None]] = defaultdict(dict)
    beside: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        nodes = list(dict.fromkeys(merged[key] for key in keys_of[fact]))
        for node in nodes:
            facts_of[node][fact] = None
            beside[node].update(other for other in nodes if other != node)
    return {
        key: Element(
            key,
            _usual_form(written[key]),
            tuple(facts_of[key]),
            tuple(other for other, _ in beside[key].most_common()),
        )
        for key in facts_of
    }


def _keys_of_others(terms: Terms) -> set[str]:
    return {_element_key(word, terms) for word in _OF_ANOTHER.split()}


def _usual_form(forms: Counter[str]) -> str:
    """The most frequent form; among equals one with a capital, then the shortest."""
    return max(forms, key=lambda form: (forms[form], form[:1].isupper(), -len(form)))


def _element_key(element: str, terms: Terms) -> str:
    words = [word.removesuffix("'s").strip("'") for word in terms.words(element)]
    counted = [word for word in words if word not in ARTICLES] or words
    return " ".join(folded(terms.stem(word)) for word in counted if word)


def _merge_keys(
    written: Mapping[str, Counter[str]], of_another: Set[str]
) -> dict[str, str]:
    """The key that stands for each: a full name for its last word, if only one ends with it.

    `written`: the forms of each key in the facts.
    """
    names = {key for key, forms in written.items() if _usual_form(forms)[:1].isupper()}
    ends: dict[str, list[str]] = defaultdict(list)
    for key in written:
        first, _, last = key.rpartition(" ")
        if first and key in names:
            ends[last].append(key)
    home = {key: key for key in written}
    for key in written:
        full = ends[key] if " " not in key and key in names else []
        if len(full) == 1 and of_another.isdisjoint(full[0].split()):
            home[key] = full[0]
    return home
