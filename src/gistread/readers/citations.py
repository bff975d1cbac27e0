"""Finds the sentences of the book that tell what an answer says.

If the answer cites passages by number, the sentences are found in these. Otherwise its sources are
the nearest sentences of all that was shown; in doubt the model chooses the first of them.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gistread.engine.protocol import NO_USAGE, Sampling, Usage, choose_or
from gistread.errors import EngineError
from gistread.memory.model import GistMemory
from gistread.memory.passages import (
    Passage,
    Span,
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
from gistread.readers.ranking import searched_part
from gistread.readers.thread import REFERENCE, without_options
from gistread.search.ranked import Relevance
from gistread.search.tokens import code_of, language_of
from gistread.store.model import Citation

_MOST = 3  # Citations that the program finds itself
_FURTHER_PASSAGES = 4  # Of the whole book, beside those shown
_LEAST_SHARE = 2 / 3  # Least score of a further citation, as a share of the best

# A sentence with this share of the words of an answer surely tells it.
_LEAST_SHARED = 0.3

# Sentences to choose from; one of them tells 95% of answers (`tests/benchmarks/answers.py`)
MOST_OFFERED = 12
_OFFERED_SHARE = 0.4  # Least score of an offered sentence, as a share of the best
# Most sentences of a cited page of which the model chooses one if shared words find none
_MOST_OF_A_PLACE = 40
_MOST_IN_DOUBT = 8  # The same if shared words find several
_MOST_ASKED = 6  # Statements of one answer, so that the sources follow soon
_SHORT_PLACE = 800  # Characters of a cited place whose sentence words find well enough
_NO_SOURCE = "0"  # The model's choice if no sentence tells the answer
_LONGEST_CHARACTERS = 400  # Of a sentence offered
_EXAMPLE_CHARACTERS = 200  # Of the text that shows the language of the book
_TRANSLATION_TOKENS = 192  # Of an answer; its beginning finds the first source

_LISTED = re.compile(r"^[ \t]*(?:[-*•|]|\d+[.)])", re.MULTILINE)  # "- ", "2. "


def cite(
    answer: str,
    question: str,
    memory: GistMemory,
    places: Sequence[Passage],
    cited: Sequence[Passage] = (),
) -> tuple[Citation, ...]:
    """The sentences that tell what the answer says.

    `places`: what was shown of the book. `cited`: the passages that the answer cites as [1], [2] …
    With them, there is one sentence for each; without them up to three, the nearest to the answer
    first.
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
    excluded: Sequence[Passage] | None = None,
) -> list[tuple[Citation, float]]:
    """Sentences, the nearest to the answer or to one of its statements first.

    `places`: what was shown of the book. `excluded`: with it, sentences of the rest of the book
    count too, except those of the excluded places.
    """
    parts = [answer[start:end] for start, end in statement_spans(answer)]
    is_list = len(_LISTED.findall(answer)) >= 2
    if not is_list:
        parts.insert(0, answer)
    parts = list(dict.fromkeys(parts))
    searched = searched_part(question, memory.book)
    if excluded is not None:
        queries = [f"{question} {part}" for part in parts]
        elsewhere = _told_elsewhere(queries, memory, searched, excluded)
        places = join({*places, *elsewhere}, memory.book)
    # What was shown may have the imprint, too.
    within = list(_within(searched, places))
    evidence = Evidence(question, memory, within or places)
    scores: dict[Citation, float] = {}
    for part in parts:
        for citation, score in evidence.ranked(part):
            scores[citation] = max(score, scores.get(citation, 0.0))
    return sorted(scores.items(), key=lambda scored: -scored[1])


def _within(part: Span, places: Iterable[Passage]) -> Iterator[Passage]:
    """The parts of places that are in a part of the book."""
    part_start, part_end = part
    for start, end in places:
        if start < part_end and part_start < end:
            yield max(start, part_start), min(end, part_end)


def leading(ranked: Sequence[tuple[Citation, float]]) -> tuple[Citation, ...]:
    """The nearest sentences, while they are not much farther from the answer than the first."""
    nearest = almost_nearest(ranked, _LEAST_SHARE)
    return tuple(nearest[:_MOST])


def _told_elsewhere(
    queries: Iterable[str],
    memory: GistMemory,
    part: Span,
    excluded: Sequence[Passage],
) -> Iterator[Passage]:
    """The passages in a part of the book that are nearest to the queries.

    A model may know more than it was shown.
    """
    book = memory.book
    passages = split_into_passages(book, *part)
    texts = [book.text[start:end] for start, end in passages]
    relevance = Relevance(texts, book.language)
    for query in queries:
        scores = relevance.scores(REFERENCE.sub(" ", query))
        by_own_words = sorted(
            range(len(passages)), key=scores.of_own_words.__getitem__, reverse=True
        )
        nearest = scores.order[:_FURTHER_PASSAGES] + by_own_words[:_FURTHER_PASSAGES]
        for index in nearest:
            if not overlaps(excluded, passages[index]):
                yield passages[index]


def _citing(answer: str, number: int) -> str:
    """The statements that cite this number; the whole answer if none does.

    References after the full stop belong to the sentence before.
    """
    spans = statement_spans(answer)
    citing: list[str] = []
    # "[2]", "[1] [2]"
    for reference in re.finditer(rf"(?:\[\d+\] ?)*\[{number}\]", answer):
        offset = max(0, reference.start() - len(". "))
        for start, end in spans:
            if start <= offset < end:
                citing.append(answer[start:end])
                break
    return " ".join(citing) or answer


async def with_sources(
    answered: Answered,
    asking: Asking,
    places: Sequence[Passage],
    excluded: Sequence[Passage],
) -> Answered:
    """The answer with up to three citations.

    If the first is in doubt, a model that can name numbers is asked for it.
    `places`: what was shown of the book. `excluded`: places that may not be cited.
    """
    question, memory = asking.question, asking.memory
    can_choose = asking.options.model.cites
    answer = told_part(answered.answer, answered.absence)
    if not answer:
        return replace(answered, citations=())
    if can_choose and _is_foreign(answer, without_options(question), memory):
        answer, cost = await _in_book_language(asking, answer, places)
        answered = replace(answered, usage=answered.usage + cost)
    ranked = await asyncio.to_thread(
        nearest_sentences, answer, question, memory, places, excluded
    )
    nearest = leading(ranked)
    is_clear = len(nearest) == 1 and _shares_words(answer, question, memory, nearest[0])
    if not nearest or is_clear or not can_choose:
        return replace(answered, citations=nearest)
    offered = almost_nearest(ranked, _OFFERED_SHARE)[:MOST_OFFERED]
    try:
        first, cost = await _named_source(asking, answer, offered)
    except EngineError:
        return replace(answered, citations=nearest)
    answered = replace(answered, usage=answered.usage + cost)
    if first is None:
        return replace(answered, citations=())
    others = [citation for citation in nearest if citation != first]
    sources = (first, *others)[: len(nearest)]
    return replace(answered, citations=sources)


async def with_cited_sentences(
    answered: Answered, asking: Asking, places: Sequence[Passage]
) -> Answered:
    """The answer with the sentences that the model names for citations in doubt.

    `places`: what was shown of the book.
    """
    if not asking.options.model.cites:
        return answered
    citations = list(answered.citations)
    usage = answered.usage
    offers = await asyncio.to_thread(_doubtful, answered, asking, places)
    for offer in offers[:_MOST_ASKED]:
        # If the model fails, the nearest sentence remains.
        with contextlib.suppress(EngineError):
            named, cost = await _named_source(asking, offer.statement, offer.sentences)
            usage += cost
            if named is not None:
                citations[offer.index] = named
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
    """The citations for which shared words do not tell which sentence is meant.

    For an answer in another language than the book's, all sentences of the place are offered, since
    there are no shared words. Otherwise those nearest to the statement, if several are about
    equally near and the place is long.
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
            offered = [citation_of(span, memory) for span in spans]
            is_in_doubt = 1 < len(offered) <= _MOST_OF_A_PLACE
        else:
            start, end = place
            offered = evidence.possible(answer, statement, place)[:_MOST_IN_DOUBT]
            is_in_doubt = len(offered) > 1 and end - start > _SHORT_PLACE
        if is_in_doubt:
            bare = _LISTED.sub("", REFERENCE.sub("", statement)).strip()
            offers.append(_Offer(index, bare, offered))
    return offers


def _is_foreign(answer: str, question: str, memory: GistMemory) -> bool:
    """Whether an answer is in another language than the book."""
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
    numbers = [str(number) for number in range(1, len(offered) + 1)]
    choice = await choose_or(asking.engine, prompt, [*numbers, _NO_SOURCE], 0)
    named = offered[choice.index] if choice.index < len(offered) else None
    return named, choice.usage


async def _in_book_language(
    asking: Asking, answer: str, places: Sequence[Passage]
) -> tuple[str, Usage]:
    """The answer translated by the model, so that it shares words with the book, and the cost.

    Unchanged if the model fails.
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
