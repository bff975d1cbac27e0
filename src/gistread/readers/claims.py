"""Facts about a person or place that a model found, each with a quote, and names for the same person.

The facts are GraphReader's (`memory/facts.py`), limited to the pages of a bounded memory. A fact counts if a sentence
of its page names the same person or place and shares words with it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gistread.memory import facts
from gistread.memory.extractive import shared_terms
from gistread.memory.facts import Fact
from gistread.memory.model import GistMemory, MemoryEntry
from gistread.memory.passages import Passage, sentences_of
from gistread.people.index import Index
from gistread.people.joining import Entity
from gistread.readers.introductions import sentence_at
from gistread.readers.support import check

_LEAST_SHARED = 2  # Terms, besides the name, that a fact shares with its quote
_SAME = re.compile(
    r"(?:,? (?:who )?(?:is|was) (?:really |in truth |in fact |actually )?"
    r"(?:none other than|no other than|the same (?:person|man|woman) as|the same as|really|in reality|in truth)"
    r"|,? (?:alias|otherwise called|also known as|known to all as)|[’']s real name (?:is|was)) (?:the )?"
)


@dataclass(frozen=True, slots=True)
class Claim:
    entity: str
    text: str
    quote: Passage  # The sentence of the book that names the entity and has most of the claim's words
    checked: bool  # Whether the paragraph of the quote supports the claim


@dataclass(frozen=True, slots=True)
class Identity:
    """Another entity that the text says is the same, and the sentence that says so."""

    other: Entity
    quote: Passage


def claims(entity: Entity, memory: GistMemory) -> list[Claim]:
    """The claims about the entity in a bounded memory, by place, without repetitions. Run it in a thread."""
    names = _names(entity)
    told = [fact for fact in facts.known_facts(memory) if names.search(fact.text)]
    found: dict[str, Claim] = {}
    for fact in told:
        if claim := _claim(entity, fact, names, memory):
            found.setdefault(claim.text, claim)
    return sorted(found.values(), key=lambda claim: claim.quote)


def pages_without_facts(entity: Entity, memory: GistMemory) -> list[MemoryEntry]:
    """The pages that name the entity but have no extracted facts, most mentions first. Hashes all pages."""
    names = _names(entity)
    counts = [(len(names.findall(memory.text_of(entry.page))), entry) for entry in facts.without_facts(memory)]
    return [entry for count, entry in sorted(counts, key=lambda one: -one[0]) if count]


def identities(entity: Entity, view: Index, told: Sequence[Claim] = ()) -> Iterator[Identity]:
    """Yield entities that the text, or a claim, says are the same as this one."""
    text = view.book.text
    places = [(text, match, sentence_at(match.start(), view.book)) for match in _SAME.finditer(text)]
    places += [(one.text, match, one.quote) for one in told for match in _SAME.finditer(one.text)]
    seen = {entity}
    for said, match, quote in places:
        pair = [view.named_at(said, match.start() - 1), view.named_at(said, match.end())]
        other = pair[pair[0] is entity]
        if entity in pair and other is not None and other not in seen:
            seen.add(other)
            yield Identity(other, quote)


def _names(entity: Entity) -> re.Pattern[str]:
    forms = sorted((form.text for form in entity.forms), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, forms))})\b")


def _claim(entity: Entity, fact: Fact, names: re.Pattern[str], memory: GistMemory) -> Claim | None:
    page, book = memory.entry(fact.page).page, memory.book
    said = set(shared_terms(names.sub("", fact.text)))

    def shared(place: Passage) -> int:
        return len(said.intersection(shared_terms(book.text[slice(*place)])))

    places = [place for place in sentences_of(book, page.start, page.end) if names.search(book.text[slice(*place)])]
    quote = max(places, key=shared, default=None)
    if quote is None or shared(quote) < min(_LEAST_SHARED, len(said)):
        return None
    paragraph = book.paragraphs[book.paragraph_index(quote[0])]
    around = max(page.start, paragraph.start), min(page.end, paragraph.end)
    statements = check(fact.text, "", memory, [around])
    return Claim(entity.name, fact.text, quote, all(one.supported for one in statements))
