"""A question about the whole library.

Names the books that may answer it, then answers from their best passages. These become one book, a
chapter for each book that was named, and each passage under the title of its book. So the reader,
its checks and its citations are those of any question, and no text behind a bound can reach them.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.config import Config
from gistread.engine.protocol import Engine, choose_or
from gistread.errors import GistreadError, StorageError, UsageError
from gistread.library.index import Matches, PassageHit, places_in
from gistread.library.shelf import LibraryHit, Shelf, ShelfBook, hit_in
from gistread.memory.passages import Span, join
from gistread.memory.sizes import unread_memory
from gistread.memory.store import MemoryStore
from gistread.readers.answering import Asking, ReaderOptions, user_prompt
from gistread.readers.cost import FIRST_WORD_S
from gistread.readers.events import Answered, ReaderEvent
from gistread.readers.gistread import NAME as READER
from gistread.readers.model_class import ModelClass, class_of
from gistread.readers.phrases import pattern
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from gistread.search.book_search import best_sentence
from gistread.session.models import ModelChecks
from gistread.session.questions import check_length
from gistread.store.model import Citation
from gistread.units import counted

MOST_BOOKS = 3
_CANDIDATES = 6  # Books among which the model chooses
_COMPARED = 2 * _CANDIDATES  # Books whose gists count too
_NO_BOOK = "0"
_LEAST = 0.5  # Of the best book's score, for a book to be named
_MOST_WORDS = 2  # Words of the question that are given as the reason
_PASSAGES = 180  # Of all books; enough for `readers/shortlist.py`
# Text up to an empty line
_PARAGRAPH = re.compile(r"[^\n](?:.|\n(?!\n))*")


@dataclass(frozen=True, slots=True)
class NamedBook:
    """A book that may answer, and why."""

    best: LibraryHit  # Its passage with most of the words of the question
    passages: int  # How many have most of them
    words: tuple[str, ...]  # The rarest of them in the best passage

    @property
    def book(self) -> ShelfBook:
        return self.best.book

    @property
    def reason(self) -> str:
        """Why it was named, for the user: `3 passages, “bandages”, “inn”`."""
        words = [f"“{word}”" for word in self.words]
        return ", ".join([counted(self.passages, "passage"), *words])


@dataclass(frozen=True, slots=True)
class BooksNamed:
    """The books that the answer is from, the likeliest first."""

    books: tuple[NamedBook, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """`Book.text[start:end]` of the passages is at `offset` in its own book."""

    start: int
    end: int
    book: ShelfBook
    offset: int


class LibraryQuestion:
    """A question about the library. Raises UsageError for an empty one."""

    def __init__(
        self, question: str, shelf: Shelf, config: Config, *, unread: bool = False
    ) -> None:
        """`unread`: whether books that were not begun are asked too."""
        if not question.strip():
            raise UsageError(
                "The question is empty.",
                "Ask for example “Which book has a man with bandages?”.",
            )
        check_length(question)
        self.question = question
        self._shelf = shelf
        self._config = config
        self.books = [book for book in shelf.books if unread or book.begun]
        self.left_out = len(shelf.books) - len(self.books)
        self._pieces: list[_Piece] = []

    async def stream(
        self, load: Callable[[], Awaitable[Engine]], checks: ModelChecks
    ) -> AsyncGenerator[BooksNamed | ReaderEvent, None]:
        """`BooksNamed`, then the reader's events.

        `BooksNamed` comes before a model is loaded, and again if the model prefers another book.
        Raises GistreadError, also if no book has words of the question.
        """
        named_books, matches = await asyncio.to_thread(self.candidates)
        if not named_books:
            books = counted(len(self.books), "book")
            raise GistreadError(f"None of {books} has words of this question.")
        yield BooksNamed(tuple(named_books[:MOST_BOOKS]))
        engine = await load()
        result = await checks.for_answer(engine, begin=lambda: None)
        model = class_of(engine.info, result)
        preferred = await self._preferred(named_books, engine, model)
        if preferred is not None and preferred > 0:  # 0: the first, as it is
            named_books.insert(0, named_books.pop(preferred))
            yield BooksNamed(tuple(named_books[:MOST_BOOKS]))
        # An unreliable model mixes books up.
        most_sources = MOST_BOOKS if model.is_believed else 1
        sources = named_books[:most_sources]
        # Also for `_by_words`, which cites a place in it.
        text = await asyncio.to_thread(self._passages, sources, matches)
        if not model.is_believed and self._asks_which:
            yield self._by_words(named_books[0])
            return
        asking = self._asking(text, engine, model)
        async with aclosing(METHODS[READER].reader()(asking)) as events:
            async for event in events:
                if isinstance(event, Answered):
                    answered = self._quoting(event, text, matches)
                    if not model.cites:
                        answered = self._or_by_words(answered, named_books[0])
                    yield answered
                else:
                    yield event

    def _asking(self, text: Book, engine: Engine, model: ModelClass) -> Asking:
        """The question about these passages, for the reader."""
        options = ReaderOptions(
            max_pages=self._config.max_pages,
            first_word_s=FIRST_WORD_S,
            model=model,
            opening="opening_books",
        )
        memory = unread_memory(text)
        return Asking(self.question, memory, engine, Steering(), options)

    def source(self, citation: Citation) -> tuple[ShelfBook, Span]:
        """The book that a citation is from, and the place in it."""
        piece = self._piece_of(citation)
        shift = piece.offset - piece.start
        start = citation.start + shift
        end = min(citation.end, piece.end) + shift
        return piece.book, (start, end)

    def _piece_of(self, citation: Citation) -> _Piece:
        """The passage that a citation is from; the next one for the title above it."""
        return next(piece for piece in self._pieces if citation.start < piece.end)

    def _or_by_words(self, answered: Answered, likeliest: NamedBook) -> Answered:
        """The answer of a small model, or `_by_words` if it found none to “which book …”.

        Small models miss the book that a passage is from.
        """
        if answered.found or not self._asks_which:
            return answered
        return replace(self._by_words(likeliest), usage=answered.usage)

    def _quoting(self, answered: Answered, text: Book, matches: Matches) -> Answered:
        """Cite the sentence nearest to the question where the title of its book is cited."""
        citations: dict[Span, Citation] = {}
        for citation in answered.citations:
            piece = self._piece_of(citation)
            start, end = citation.start, citation.end
            is_title = citation.quote.strip() == piece.book.entry.title
            begins_in_title = start < piece.start
            if is_title or begins_in_title:
                start, end = _nearest_sentence(piece, text, matches)
            # Without a page: the book of passages has no sections.
            citations[start, end] = replace(
                citation, page=0, start=start, end=end, quote=text.text[start:end]
            )
        return replace(answered, citations=tuple(citations.values()))

    @property
    def _asks_which(self) -> bool:
        return pattern("asks_which_book").match(self.question) is not None

    def _by_words(self, likeliest: NamedBook) -> Answered:
        """The answer without a model.

        The book that has the words of the question, and its nearest sentence.
        """
        best = likeliest.best
        pieces_before = [
            piece
            for piece in self._pieces
            if piece.book is best.book and piece.offset <= best.start
        ]
        piece = pieces_before[-1]  # The one that has the sentence
        start = piece.start + best.start - piece.offset
        end = start + len(best.text)
        citation = Citation(page=0, start=start, end=end, quote=best.text)
        answer = f"By its words, the question is about {best.book.entry.title}:"
        return Answered(answer, found=True, citations=(citation,), quoted=True)

    def candidates(self) -> tuple[list[NamedBook], Matches]:
        """The likeliest books, by the words of the question in passages and gists.

        Raises StorageError.
        """
        # Without “Which book …”, which says nothing about the book
        words = pattern("asks_which_book").sub("", self.question, count=1)
        matches = self._shelf.find(words, self.books)
        by_id = {book.indexed.id: book for book in self.books}
        scores = matches.book_scores()
        by_passages = sorted(scores, key=lambda book_id: -scores[book_id])
        likely = by_passages[:_COMPARED]
        for book_id in likely:
            # A gist may have more words of the question than any passage.
            gist_score = self._gist_score(by_id[book_id], matches)
            passage_score = matches.in_book(book_id)[0].score
            scores[book_id] += max(0.0, gist_score - passage_score)
        by_score = sorted(likely, key=lambda book_id: -scores[book_id])
        candidates: list[NamedBook] = []
        for book_id in by_score[:_CANDIDATES]:
            if scores[book_id] < _LEAST * scores[by_score[0]]:
                break
            named_book = self._named(by_id[book_id], matches.in_book(book_id))
            if named_book is not None:
                candidates.append(named_book)
        return candidates, matches

    def _named(self, book: ShelfBook, hits: Sequence[PassageHit]) -> NamedBook | None:
        """A book with these passages, the best first; None if its text cannot be read.

        Words count with more than the share `_LEAST` of the highest weight, passages with at least
        that share of the best score.
        """
        text = self._shelf.text_of(book)
        if text is None:
            return None
        best = hits[0]
        weights = best.words
        least_weight = _LEAST * max(weights.values())
        words = [word for word, weight in weights.items() if weight > least_weight]
        rarest = sorted(words, key=lambda word: (-weights[word], word))[:_MOST_WORDS]
        count = sum(hit.score >= _LEAST * best.score for hit in hits)
        return NamedBook(hit_in(book, text, best), count, tuple(rarest))

    def _gist_score(self, book: ShelfBook, matches: Matches) -> float:
        """The weight of the question's words in the best gist up to the bound.

        0 without a memory.
        """
        store = MemoryStore(self._shelf.paths.memories)
        text = self._shelf.text_of(book) or ""
        # Its real chapters are not needed: the hash of the text finds the memory.
        whole = replace(_untitled(text), chapters=(Chapter("", 0, len(text)),))
        with suppress(StorageError):
            headers = store.find(whole)
            if headers:
                memory = store.load(whole, headers[0])
                weights = [
                    _weight_in(entry.gist.text, matches, book)
                    for entry in memory.read_entries
                    if book.bound is None or entry.page.end <= book.bound
                ]
                return max(weights, default=0.0)
        return 0.0

    async def _preferred(
        self, candidates: Sequence[NamedBook], engine: Engine, model: ModelClass
    ) -> int | None:
        """Index of the book that the model takes the question to be about.

        None if it names none, or cannot or need not choose. Raises EngineError.
        """
        if len(candidates) == 1 or not model.chooses:
            return None
        listed = "\n\n".join(
            _listed(number, book) for number, book in enumerate(candidates, start=1)
        )
        prompt = user_prompt(
            "choose_book", engine.info.wording, text=listed, question=self.question
        )
        options = [str(number) for number in range(1, len(candidates) + 1)]
        # Only a capable model says it rightly; a smaller one keeps the best book.
        if model.cites:
            options.append(_NO_BOOK)
        choice = await choose_or(engine, prompt, options, default=0)
        if choice.index >= len(candidates):  # It is `_NO_BOOK`.
            return None
        return choice.index

    def _passages(self, named_books: Sequence[NamedBook], matches: Matches) -> Book:
        """The best passages as one book; records in `_pieces` where each is from."""
        collection = _Collection()
        chapters: list[Chapter] = []
        most_of_each = _PASSAGES // len(named_books)
        for book in (candidate.book for candidate in named_books):
            chapter_start = len(collection.text)
            title = " ".join(book.entry.title.split())
            book_text = self._shelf.text_of(book) or ""
            hits = matches.in_book(book.indexed.id)[:most_of_each]
            spans = [book.indexed.span(hit.number) for hit in hits]
            for span in join(spans, _untitled(book_text)):
                collection.add(book, title, book_text, span)
            chapters.append(Chapter(title, chapter_start, len(collection.text)))
        self._pieces = collection.pieces
        language = named_books[0].book.indexed.language
        return Book(
            collection.text,
            title="",
            paragraphs=tuple(collection.paragraphs),
            chapters=tuple(chapters),
            language="" if language == "en" else language,  # Empty also means English.
        )


@dataclass(slots=True)
class _Collection:
    """The text of the book of passages while it is put together."""

    text: str = ""
    paragraphs: list[Paragraph] = field(default_factory=list)
    pieces: list[_Piece] = field(default_factory=list)

    def add(self, book: ShelfBook, title: str, book_text: str, span: Span) -> None:
        """Add a passage of a book under its title."""
        start, end = span
        heading_start = len(self.text)
        heading_end = heading_start + len(title)
        heading = Paragraph(heading_start, heading_end, ParagraphKind.HEADING, 1)
        self.paragraphs.append(heading)
        self.text += f"{title}\n\n"
        piece_start = len(self.text)
        # From the book's offsets to those of `text`
        shift = piece_start - start
        self.paragraphs += [
            Paragraph(match.start() + shift, match.end() + shift)
            for match in _PARAGRAPH.finditer(book_text, start, end)
        ]
        self.pieces.append(_Piece(piece_start, end + shift, book=book, offset=start))
        self.text += f"{book_text[start:end]}\n\n"


def _untitled(text: str) -> Book:
    """A book that is nothing but a text."""
    return Book(text, title="", paragraphs=(), chapters=())


def _nearest_sentence(piece: _Piece, text: Book, matches: Matches) -> Span:
    """The sentence of a passage that is nearest to the question, in the book of passages."""
    passage = text.text[piece.start : piece.end]
    places = places_in(passage, matches.weights, piece.book.indexed.language)
    start, end = best_sentence(passage, places, matches.weights.__getitem__)
    return piece.start + start, piece.start + end


def _weight_in(text: str, matches: Matches, book: ShelfBook) -> float:
    """The weight of the question's words in a text, each counted once."""
    places = places_in(text, matches.weights, book.indexed.language)
    words = {word for *_, word in places}
    return sum(matches.weights[word] for word in words)


def _listed(number: int, named: NamedBook) -> str:
    """A book as one of several to choose from, with its best passage."""
    entry = named.book.entry
    by = f" by {', '.join(entry.authors)}" if entry.authors else ""
    best = named.best
    passage = " ".join(f"{best.before}{best.text}{best.after}".split())
    return f"{number}. {entry.title}{by}: “{passage}”"
