"""Finds the sentences of the book that support an answer (D9), by shared significant words."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from gistread.book.model import Book
from gistread.memory.extractive import shared_terms
from gistread.memory.model import GistMemory, Page
from gistread.memory.passages import sentences_of
from gistread.readers.events import Citation
from gistread.search.ranked import Ranker

_MAX_CITATIONS = 3
_MIN_SHARE_OF_BEST = 0.6  # Least score of a further citation, as a share of the best
_PAGES_SEARCHED = 3  # Pages nearest to the answer that are searched when none was open
_REFERENCE = re.compile(r"\s*\[(?:pages?\s*)?(\d+(?:\s*[,;]\s*\d+)*)\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Sentence:
    page: int
    start: int
    end: int


def written_references(answer: str) -> list[int]:
    return [int(number) for found in _REFERENCE.finditer(answer) for number in re.findall(r"\d+", found[1])]


def without_false_references(answer: str, shown: Collection[int]) -> str:
    def kept(found: re.Match[str]) -> str:
        numbers = [number for number in re.findall(r"\d+", found[1]) if int(number) in shown]
        return f" {''.join(f'[{number}]' for number in numbers)}" if numbers else ""

    return _REFERENCE.sub(kept, answer)


def cite(
    answer: str, question: str, memory: GistMemory, opened: Collection[int], shown: Collection[int]
) -> tuple[Citation, ...]:
    """Up to three supporting sentences of the `opened` pages, or else the nearest `shown`, in order."""
    referred = [number for number in dict.fromkeys(written_references(answer)) if number in shown]
    plain = _REFERENCE.sub("", answer)
    pages = [memory.entry(number).page for number in sorted({*opened, *referred})]
    if not pages:
        pages = _nearest_pages(plain, question, memory, shown)
    places = [place for page in pages for place in _sentences(memory.book, page.start, page.end, page.number)]
    return _supporting(places, plain, question, memory.book, referred[:_MAX_CITATIONS])


def cite_passages(
    answer: str, question: str, memory: GistMemory, passages: Iterable[tuple[int, int]]
) -> tuple[Citation, ...]:
    """As `cite`, from the passages shown to the model. Text beyond the pages read so far counts as page 0."""
    sentences = [place for start, end in passages for place in _sentences(memory.book, start, end, 0)]
    pages = [memory.page_at(place.start) for place in sentences]
    places = [replace(at, page=page.number) if page else at for at, page in zip(sentences, pages, strict=True)]
    return _supporting(places, _REFERENCE.sub("", answer), question, memory.book, ())


def _supporting(
    places: list[_Sentence], answer: str, question: str, book: Book, referred: Sequence[int]
) -> tuple[Citation, ...]:
    if not places:
        return ()
    texts = [book.text[place.start : place.end] for place in places]
    scores = _support(texts, answer, question, book.language)
    best = sorted(range(len(places)), key=lambda index: -scores[index])
    chosen = [
        index
        for index in best[:_MAX_CITATIONS]
        if scores[index] > 0 and scores[index] >= _MIN_SHARE_OF_BEST * scores[best[0]]
    ]
    for number in referred:
        on_page = [index for index in best if places[index].page == number]
        if on_page and not any(places[index].page == number for index in chosen):
            chosen.append(on_page[0])
    return tuple(
        Citation(places[index].page, places[index].start, places[index].end, texts[index]) for index in sorted(chosen)
    )


def _support(texts: list[str], answer: str, question: str, language: str) -> list[float]:
    """How well each text supports the answer: BM25 by the answer, plus half by the question.

    Zero for texts with fewer than two significant words. Significant are the words of the question and the names and
    long words of the answer, unless many texts have them.
    """
    terms = [set(shared_terms(text)) for text in texts]
    spread = Counter(term for found in terms for term in found)
    common = {term for term, count in spread.items() if count > max(2, 0.15 * len(texts))}
    telling = [word for word in re.findall(r"\w+", answer) if len(word) > 4 or not word.islower()]
    of_answer = set(shared_terms(" ".join(telling))) - common
    wanted = of_answer | (set(shared_terms(question)) - common)
    ranker = Ranker(texts, language)
    by_answer, by_question = ranker.scores(answer), ranker.scores(question)
    return [
        a + 0.5 * q if len(found & wanted) >= 2 or (found & of_answer and len(wanted) < 3) else 0.0
        for found, a, q in zip(terms, by_answer, by_question, strict=True)
    ]


def _nearest_pages(answer: str, question: str, memory: GistMemory, shown: Collection[int]) -> list[Page]:
    pages = [memory.entry(number).page for number in sorted(shown)]
    if len(pages) <= _PAGES_SEARCHED:
        return pages
    scores = Ranker([memory.text_of(page) for page in pages], memory.book.language).scores(f"{answer} {question}")
    best = sorted(range(len(pages)), key=lambda index: -scores[index])[:_PAGES_SEARCHED]
    return [pages[index] for index in sorted(best)]


def _sentences(book: Book, start: int, end: int, page: int) -> list[_Sentence]:
    return [_Sentence(page, *place) for place in sentences_of(book, start, end) if book.text[slice(*place)].strip()]
