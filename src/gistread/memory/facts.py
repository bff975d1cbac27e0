"""Extracts atomic facts and key elements from each page (GraphReader, section 3.2).

A grammar binds the model to the form of facts, and the guard checks them against the page. In the
graph, elements that the same fact names are neighbours. Their names are normalised first.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from gistread import prompts
from gistread.book.sentences import sentence_spans
from gistread.engine.protocol import (
    NO_USAGE,
    Completion,
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
_WORDS_PER_FACT = 40  # A page may have one fact for so many words
_FACT_SENTENCE_WORDS = 18
_LONGEST_FACT = 200  # Characters of a page without a sentence

_FAULTS_OF_FACTS = (Fault.FOREIGN_NAMES, Fault.REFUSAL, Fault.PROMPT)
_NARRATOR = "narrator"
_MIN_SHARED = 0.6  # Least share of a fact's words that occur on its page

_GRAMMAR = rf"""root ::= line{{1,{_MAX_FACTS}}}
line ::= "- " [^\n|]{{12,220}} " | " element ("; " element){{0,{_MAX_ELEMENTS - 1}}} "\n"
element ::= [^\n|;]{{2,40}}
"""
# "- Ann hides the letter | Ann; letter": a fact and its elements
_LINE = re.compile(r"- (?P<fact>[^\n|]+?) *\| *(?P<elements>[^\n|]+)\n")
# A word may contain a hyphen; two are a dash.
_CAPITALISED = r"[^\W\d_a-z](?:[\w’']|-(?!-))*"
# Capitalised words that do not begin a sentence
_NAME = re.compile(rf"(?<![.!?…]\s)(?<!^)\b{_CAPITALISED}(?:\s+{_CAPITALISED})*")


@dataclass(frozen=True, slots=True)
class Fact:
    page: int
    text: str
    elements: tuple[str, ...]  # The key elements it names, as written


_FactLine = tuple[str, tuple[str, ...]]  # A fact and its elements
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
        """Extract and store the facts of a page. `NO_USAGE`: it had them already."""
        async with limit:
            if _known(memory, entry) is not None:
                return NO_USAGE
            text = memory.text_of(entry.page)
            reply = await _extract(text, engine, priority)
            written = reply.text
            if reply.finish == "end":
                written += "\n"  # The last line is complete.
            start = entry.page.start
            text_before = told_before(memory.book.text, start, engine.info.wording)
            lines = _supported(_lines_of(written), text, text_before)
            if not lines:
                lines = _sentences_as_facts(text)
            facts = [[fact, list(elements)] for fact, elements in lines]
            memory.derived.put(_KIND, _key(text), {"facts": facts})
            return reply.usage

    done = 0
    tasks = [asyncio.create_task(extract_from(entry)) for entry in entries]
    async with aclosing(as_finished(tasks)) as costs:
        async for cost in costs:
            done += 1
            usage += cost
            if cost != NO_USAGE:
                yield ArtifactProgress(done, len(entries), usage)


async def _extract(page: str, engine: Engine, priority: Priority) -> Completion:
    """The lines that the model writes about a page."""
    prompt = (Message("user", prompts.load("extract").fill(text=page)),)
    room = engine.info.context_tokens - await engine.measure(prompt)
    tokens = min(_most_facts(count_words(page)) * _FACT_TOKENS, room)
    sampling = Sampling(
        max(1, tokens), repeat_penalty=_REPEAT_PENALTY, grammar=_GRAMMAR
    )
    return await engine.complete(prompt, sampling, priority)


def _lines_of(reply: str) -> list[_FactLine]:
    """The complete lines of a reply."""
    lines: list[_FactLine] = []
    for match in _LINE.finditer(reply):
        fact = " ".join(match["fact"].split())
        elements = [element.strip() for element in match["elements"].split(";")]
        lines.append((fact, tuple(filter(None, elements))))
    return lines


def known_facts(memory: GistMemory) -> tuple[Fact, ...]:
    """The facts extracted so far, in the order of the book.

    Hashes the whole text: run it in a thread.
    """
    facts: list[Fact] = []
    for entry in memory.read_entries:
        facts += _known(memory, entry) or ()
    return tuple(facts)


def remaining(memory: GistMemory) -> RemainingWork:
    """Estimate the extraction left, unread pages included.

    Hashes the whole text: run it in a thread.
    """
    read_entries = memory.read_entries
    page_words = [
        entry.page.words for entry in read_entries if _known(memory, entry) is None
    ]
    done = len(read_entries) - len(page_words)
    page_words += unread_page_words(memory)
    task_words = count_words(prompts.load("extract").own_words)
    prompt_words = sum(words + task_words for words in page_words)
    return RemainingWork(
        done,
        total=done + len(page_words),
        prefilled=round(prompt_words * TOKENS_PER_WORD),
        generated=sum(_most_facts(words) * _FACT_TOKENS for words in page_words),
    )


def _most_facts(page_words: int, *, least: int = 2) -> int:
    """Facts that a page of so many words may have. `least`: as many may any page have."""
    return max(least, min(_MAX_FACTS, page_words // _WORDS_PER_FACT))


def _key(text: str) -> str:
    return key_of(prompts.version(*PROMPTS), text)


def _known(memory: GistMemory, entry: MemoryEntry) -> list[Fact] | None:
    """The facts of a page; None if they were not extracted yet."""
    match memory.derived.get(_KIND, _key(memory.text_of(entry.page))):
        case {"facts": list(lines)}:
            return [
                Fact(entry.page.number, fact, tuple(elements))
                for fact, elements in lines
            ]
    return None


def _supported(
    lines: Iterable[_FactLine], page: str, text_before: str
) -> list[_FactLine]:
    """The facts that their page supports, each with the elements that the page names.

    `text_before`: see `told_before`.
    """
    own_words = prompts.load("extract").own_words
    terms = set(shared_terms(page))
    supported: dict[str, _FactLine] = {}
    for fact, elements in lines:
        draft = Draft(fact, page, own_words, told_before=text_before)
        is_faulty = find_fault(draft, _FAULTS_OF_FACTS)
        own_terms = set(shared_terms(fact)) - _added_names(fact, page, text_before)
        least_shared = max(1, _MIN_SHARED * len(own_terms))
        if is_faulty or len(own_terms & terms) < least_shared:
            continue
        named_elements = [
            element
            for element in elements[:_MAX_ELEMENTS]
            if element in page or not terms.isdisjoint(shared_terms(element))
        ]
        line = (fact, tuple(named_elements or elements_in(fact)))
        supported.setdefault(fact.casefold(), line)
    return list(supported.values())


def _added_names(fact: str, page: str, text_before: str) -> set[str]:
    """The terms of names that a fact has in place of the page's "he" or "I".

    The text before the page has these names.
    """
    words = re.findall(_CAPITALISED, fact)
    names = [word for word in words if word not in page and word in text_before]
    return set(shared_terms(" ".join([*names, _NARRATOR])))


def _sentences_as_facts(page: str) -> list[_FactLine]:
    """Sentences of a page in place of facts; its beginning if it has no sentence."""
    most_facts = _most_facts(count_words(page), least=1)
    extracted = extract(page, most_facts * _FACT_SENTENCE_WORDS)
    facts: list[_FactLine] = []
    for start, end in sentence_spans(extracted):
        sentence = " ".join(extracted[start:end].split())
        if sentence:
            facts.append((sentence, tuple(elements_in(sentence))))
    if facts:
        return facts
    beginning = " ".join(page.split())[:_LONGEST_FACT]
    return [(beginning, ())]


def elements_in(sentence: str) -> list[str]:
    """The names in a sentence (capitalised words inside it), then its longest other words."""
    names: dict[str, None] = {}
    for match in _NAME.finditer(sentence):
        name = match[0].strip("’'-")
        # In ASCII, so few letters are rather "I", "Mr" or initials.
        if len(name) > 2 or not name.isascii():
            names[name] = None
    in_names = " ".join(names)
    long_words = dict.fromkeys(re.findall(r"[^\W\d_]{5,}", sentence))
    others = [word for word in long_words if word not in in_names]
    others.sort(key=len, reverse=True)
    return [*names, *others][:_MAX_ELEMENTS]


# A name after one of these words is another's: Lady Fortunato is not Fortunato.
_OF_ANOTHER = """
lady mrs miss ms mistress madam madame mme mlle mademoiselle dame
señora señorita signora signorina frau fräulein mevrouw pani
mother father sister brother wife husband son daughter widow aunt uncle cousin young old little
queen king prince princess duchess duke countess count baroness baron house castle street family
"""


@dataclass(frozen=True, slots=True)
class Element:
    """A key element: a name or a thing that facts are about."""

    key: str
    name: str  # Its most frequent written form
    facts: tuple[Fact, ...]  # That name it
    # Keys of elements in the same facts, the most frequent first
    neighbours: tuple[str, ...]


def build_graph(facts: tuple[Fact, ...], language: str = "") -> Mapping[str, Element]:
    """The graph by key, in order of first appearance. `language` is a BCP 47 tag."""
    terms = Terms(language)
    # First the elements whose words have the same stems
    forms_of: dict[str, Counter[str]] = defaultdict(Counter)
    keys_of: dict[Fact, list[str]] = {}
    for fact in facts:
        keys_of[fact] = []
        for element in fact.elements:
            key = _element_key(element, terms)
            if key:
                forms_of[key][element.strip()] += 1
                keys_of[fact].append(key)
    merged = _merge_keys(forms_of, terms)
    # Then the facts that name each, and the others that these name; a dictionary keeps the order
    facts_of: dict[str, dict[Fact, None]] = defaultdict(dict)
    neighbours_of: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        keys = list(dict.fromkeys(merged[key] for key in keys_of[fact]))
        for key in keys:
            facts_of[key][fact] = None
            neighbours_of[key].update(other for other in keys if other != key)
    graph: dict[str, Element] = {}
    for key, facts_with_key in facts_of.items():
        name = _usual_form(forms_of[key])
        neighbours = tuple(other for other, _ in neighbours_of[key].most_common())
        graph[key] = Element(key, name, tuple(facts_with_key), neighbours)
    return graph


def _usual_form(forms: Counter[str]) -> str:
    """The most frequent form; if several are, one with a capital, then the shortest."""
    return max(forms, key=lambda form: (forms[form], form[:1].isupper(), -len(form)))


def _element_key(element: str, terms: Terms) -> str:
    """The stems of an element's words without articles: "lette" for "the letters"."""
    words = [word.removesuffix("'s").strip("'") for word in terms.words(element)]
    without_articles = [word for word in words if word not in ARTICLES]
    return " ".join(
        folded(terms.stem(word)) for word in without_articles or words if word
    )


def _merge_keys(forms_of: Mapping[str, Counter[str]], terms: Terms) -> dict[str, str]:
    """The key that stands for each: a full name for its last word, if only one ends with it.

    `forms_of`: the written forms of each key.
    """
    names: set[str] = set()
    full_names: dict[str, list[str]] = defaultdict(list)  # By the last word
    for key, forms in forms_of.items():
        if not _usual_form(forms)[:1].isupper():
            continue
        names.add(key)
        first, _, last = key.rpartition(" ")
        if first:
            full_names[last].append(key)
    of_another = {_element_key(word, terms) for word in _OF_ANOTHER.split()}
    merged = {key: key for key in forms_of}
    for key in names & full_names.keys():
        full_name, *others = full_names[key]
        if not others and of_another.isdisjoint(full_name.split()):
            merged[key] = full_name
    return merged
