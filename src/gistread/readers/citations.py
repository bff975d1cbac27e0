"""Finds the sentences of the book that tell what an answer says.

It looks in the passages that the answer cites, or in all that were shown.
Without numbers in the answer the nearest sentences are its sources, the first chosen by the model
in doubt.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gistread.engine.protocol import NO_USAGE, Sampling, Usage, choose_or
from gistread.errors import EngineError
from gistread.memory.model import GistMemory
from gistread.memory.passages import (
    Passage,
    join,
    overlaps,
    sentences_of,
    split_into_passages,
)
from gistread.readers.absence import says_not_found, told_part
from gistread.readers.answering import Asking, user_prompt
from gistread.readers.events import Answered
from gistread.readers.evidence import (
    Evidence,
    almost_nearest,
    citation_of,
    statement_spans,
)
from gistread.readers.thread import REFERENCE, without_options
from gistread.search.ranked import Relevance
from gistread.search.tokens import code_of, language_of
from gistread.store.model import Citation

_MOST = 3  # Citations that the program finds itself
_FURTHER_PASSAGES = 4  # Of the whole book, beside those shown
_LEAST_SHARE = 2 / 3  # Least score of a further one, as a share of the best

# Share of the words of an answer that a sentence has which surely tells it
_LEAST_SHARED = 0.3

_LISTED = re.compile(r"^[ \t]*(?:[-*•|]|\d+[.)])", re.MULTILINE)


def cite(
    answer: str,
    question: str,
    memory: GistMemory,
    places: Sequence[Passage],
    cited: Sequence[Passage] = (),
) -> tuple[Citation, ...]:
    """The sentences that tell what the answer says.

    `places`: what was shown of the book. `cited`: the passages that the answer cites as [1], [2] …;
    the citations then are as many, in this order. Without them up to three, the nearest to the
    answer first.
    """
    if cited:
        evidence = Evidence(question, memory, join([*places, *cited], memory.book))
        return tuple(
            evidence.best(answer, _citing(answer, number), place)
            for number, place in enumerate(cited, start=1)
        )
    return leading(nearest_sentences(answer, question, memory, places))


def nearest_sentences(
    answer: str,
    question: str,
    memory: GistMemory,
    places: Sequence[Passage],
    closed: Sequence[Passage] | None = None,
) -> list[tuple[Citation, float]]:
    """Sentences, the nearest to the answer or to one of its statements first.

    `places`: what was shown of the book. The rest of it counts as well but for the places `closed`;
    None: nothing else.
    """
    parts = [answer[start:end] for start, end in statement_spans(answer)]
    if len(_LISTED.findall(answer)) < 2:
        parts.insert(0, answer)
    if closed is not None:
        queries = [f"{question} {part}" for part in dict.fromkeys(parts)]
        places = join({*places, *_told_elsewhere(queries, memory, closed)}, memory.book)
    evidence = Evidence(question, memory, places)
    scores: dict[Citation, float] = {}
    for part in dict.fromkeys(parts):
        for citation, score in evidence.ranked(part):
            scores[citation] = max(score, scores.get(citation, 0.0))
    return sorted(scores.items(), key=lambda scored: -scored[1])


def leading(ranked: Sequence[tuple[Citation, float]]) -> tuple[Citation, ...]:
    """The nearest sentences, while they are not much farther from the answer than the first."""
    return tuple(
        citation
        for citation, score in ranked[:_MOST]
        if score >= _LEAST_SHARE * ranked[0][1]
    )


def _told_elsewhere(
    queries: Iterable[str], memory: GistMemory, closed: Sequence[Passage]
) -> Iterator[Passage]:
    """The passages of the book nearest to the queries: a model may know more than it was shown."""
    passages = split_into_passages(memory.book)
    relevance = Relevance(
        [memory.book.text[start:end] for start, end in passages], memory.book.language
    )
    for query in queries:
        scores = relevance.scores(REFERENCE.sub(" ", query))
        by_own_words = sorted(
            range(len(passages)), key=scores.alone.__getitem__, reverse=True
        )
        for index in {
            *scores.order[:_FURTHER_PASSAGES],
            *by_own_words[:_FURTHER_PASSAGES],
        }:
            if not overlaps(closed, passages[index]):
                yield passages[index]


def _citing(answer: str, number: int) -> str:
    """The statements that cite this number.

    References after the full stop belong to the sentence before.
    """
    spans = statement_spans(answer)
    citing: list[str] = []
    for reference in re.finditer(rf"(?:\[\d+\] ?)*\[{number}\]", answer):
        offset = max(0, reference.start() - len(". "))
        around = (answer[start:end] for start, end in spans if start <= offset < end)
        citing += islice(around, 1)
    return " ".join(citing) or answer


# Sentences to choose from; one of them tells 95% of answers (`tests/benchmarks/answers.py`)
MOST_OFFERED = 12
_OFFERED_SHARE = 0.4  # Least score of one, as a share of the best
_MOST_OF_A_PLACE = 40  # Sentences of a cited page, to choose one that no words find
_MOST_IN_DOUBT = 8  # The same if words leave in doubt which of a page tells
_MOST_ASKED = 6  # Statements of one answer, so that the sources follow soon
_SHORT_PLACE = 800  # Characters of a cited place whose sentence words find well enough
_NO_SOURCE = "0"  # The model's choice if no sentence tells the answer
_LONGEST_CHARACTERS = 400  # Of a sentence offered
_EXAMPLE_CHARACTERS = 200  # Of the text that shows the language of the book
_TRANSLATION_TOKENS = 192  # Of an answer; its beginning finds the first source


async def with_sources(
    answered: Answered,
    asking: Asking,
    places: Sequence[Passage],
    closed: Sequence[Passage],
) -> Answered:
    """The answer with up to three citations.

    If the first is in doubt, a model that can name numbers is asked for it.
    `places`: what was shown of the book. `closed`: places that may not be cited.
    """
    question, memory = asking.question, asking.memory
    answer = told_part(answered.answer, answered.absence)
    if not answer:
        return replace(answered, citations=())
    if asking.options.model.cites and _is_foreign(
        answer, without_options(question), memory
    ):
        answer, cost = await _in_book_language(asking, answer, places)
        answered = replace(answered, usage=answered.usage + cost)
    ranked = await asyncio.to_thread(
        nearest_sentences, answer, question, memory, places, closed
    )
    nearest = leading(ranked)
    is_clear = len(nearest) == 1 and _shares_words(answer, question, memory, nearest[0])
    if not nearest or is_clear or not asking.options.model.cites:
        return replace(answered, citations=nearest)
    offered = almost_nearest(ranked, _OFFERED_SHARE)[:MOST_OFFERED]
    # The answer is kept if the model fails after it.
    with contextlib.suppress(EngineError):
        first, usage = await _named_source(asking, answer, offered)
        others = [citation for citation in nearest if citation != first]
        sources = (first, *others)[: len(nearest)] if first else ()
        return replace(answered, citations=sources, usage=answered.usage + usage)
    return replace(answered, citations=nearest)


async def with_cited_sentences(
    answered: Answered, asking: Asking, places: Sequence[Passage]
) -> Answered:
    """The answer; for citations that are in doubt, with the sentences that the model names.

    `places`: what was shown of the book.
    """
    if not asking.options.model.cites:
        return answered
    citations = list(answered.citations)
    usage = answered.usage
    offers = await asyncio.to_thread(_doubtful, answered, asking, places)
    for offer in offers[:_MOST_ASKED]:
        with contextlib.suppress(EngineError):  # The nearest sentence stays.
            named, cost = await _named_source(asking, offer.statement, offer.sentences)
            citations[offer.index] = named or citations[offer.index]
            usage += cost
    return replace(answered, citations=tuple(citations), usage=usage)


@dataclass(frozen=True, slots=True)
class _Offer:
    """A statement with sentences of the place that it cites, one of which should tell it."""

    index: int  # Of the citation
    statement: str
    sentences: Sequence[Citation]


def _doubtful(
    answered: Answered, asking: Asking, places: Sequence[Passage]
) -> list[_Offer]:
    """The citations whose sentence shared words cannot decide.

    In another language than the book's all sentences of the place are offered, since no shared
    words find the right one. Else those nearest to the statement, if another one is almost as near
    as the first and the place is long.
    """
    memory = asking.memory
    answer = answered.answer
    question = without_options(asking.question)
    is_foreign = _is_foreign(answer, question, memory)
    evidence = Evidence(question, memory, join([*places, *answered.cited], memory.book))
    offers: list[_Offer] = []
    for index, place in enumerate(answered.cited):
        statement = _citing(answer, index + 1)
        if is_foreign:
            spans = list(sentences_of(memory.book, *place))
            is_offered = 1 < len(spans) <= _MOST_OF_A_PLACE
            offered = [citation_of(span, memory) for span in spans]
        else:
            offered = evidence.possible(answer, statement, place)[:_MOST_IN_DOUBT]
            is_offered = place[1] - place[0] > _SHORT_PLACE and len(offered) > 1
        if is_offered:
            bare = _LISTED.sub("", REFERENCE.sub("", statement)).strip()
            offers.append(_Offer(index, bare, offered))
    return offers


def _is_foreign(answer: str, question: str, memory: GistMemory) -> bool:
    language = code_of(memory.book.language)
    return language_of(answer, language_of(question, language)) != language


async def _named_source(
    asking: Asking, answer: str, offered: Sequence[Citation]
) -> tuple[Citation | None, Usage]:
    """The sentence that the model names as the source, if any. Raises EngineError."""
    listed = [
        f"{number}. {citation.quote[:_LONGEST_CHARACTERS]}"
        for number, citation in enumerate(offered, start=1)
    ]
    prompt = user_prompt(
        "source", text="\n".join(listed), question=asking.question, answer=answer
    )
    options = [*(str(number) for number in range(1, len(offered) + 1)), _NO_SOURCE]
    choice = await choose_or(asking.engine, prompt, options, 0)
    named = options[choice.index]
    return (None if named == _NO_SOURCE else offered[choice.index]), choice.usage


async def _in_book_language(
    asking: Asking, answer: str, places: Sequence[Passage]
) -> tuple[str, Usage]:
    """The answer in the model's translation, whose words find sentences of the book, and the cost.

    As it is if the model fails.
    """
    book = asking.memory.book
    start = places[0][0] if places else 0
    example = book.text[start : start + _EXAMPLE_CHARACTERS].strip()
    prompt = user_prompt("in_book_language", text=example, answer=answer)
    try:
        completion = await asking.engine.complete(prompt, Sampling(_TRANSLATION_TOKENS))
    except EngineError:
        return answer, NO_USAGE
    translation = completion.text.strip()
    if not translation or says_not_found(translation):
        return answer, completion.usage
    return translation, completion.usage


def _shares_words(
    answer: str, question: str, memory: GistMemory, citation: Citation
) -> bool:
    """Whether a sentence has so many words of the answer that it surely tells it."""
    place = (citation.start, citation.end)
    return Evidence(question, memory, [place]).share(answer) >= _LEAST_SHARED
