"""Cards for Anki: a text file with the headers that Anki 2.1.55 and later read.

Each note is a cloze deletion. Anki identifies it by its GUID, or else by its first field, so
importing again updates notes. Questions have a GUID: a new answer replaces the old one. The format:
https://docs.ankiweb.net/importing/text-files.html.
"""

import csv
import hashlib
import html
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gistread.book.model import Book
from gistread.exporting.markup import STRONG
from gistread.exporting.model import Export, quoted_marks
from gistread.marking import Mark
from gistread.people.joining import Entity
from gistread.store.model import NO_PLAIN_SENTENCE, Citation, SavedQuestion
from gistread.units import counted, in_quotes

_HEADERS = (
    "#separator:tab",
    "#html:true",
    "#notetype:Cloze",
    "#columns:Text\tBack Extra\tDeck\tTags\tGUID",
    "#deck column:3",
    "#tags column:4",
    "#guid column:5",
)
_SOURCE = re.compile(r"\s?\[\d+\]")  # In an answer: " [1]"
_GUID_CHARACTERS = 16
_SENTENCE_ENDS = '.!?”"’'
_WORD = re.compile(r"\w+")
# A word that a card may hide: it begins with a letter.
_GAP_WORD = re.compile(r"[^\W\d_][\w'’-]*")
# Text that Anki would read as a field, a hint, a comment or a sound.
_ESCAPES = {
    "{{": "&#123;&#123;",
    "}}": "&#125;&#125;",
    "::": "&#58;&#58;",
    "\t": " ",
    "\n": "<br>",
    "[sound": "&#91;sound",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)))


def as_cards(exports: Iterable[Export]) -> str:
    """Cards of highlights, of answers with verified quotes, and of names; a deck for each book."""
    text = io.StringIO()
    text.writelines(f"{header}\n" for header in _HEADERS)
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    for export in exports:
        writer.writerows(_rows(export))
    return text.getvalue()


def _rows(export: Export) -> Iterator[tuple[str, ...]]:
    """(text, back, deck, tags, GUID) of each card."""
    # In the name of a deck, "::" separates it from a deck inside it.
    title_without_colons = export.book.title.replace("::", " ")
    title = " ".join(title_without_colons.split())
    deck = f"gistread::{title}"
    for card in _cards(export):
        hidden = _escape(card.hidden)
        if card.kind == "question":
            hidden = _answer(card.hidden)
        text = _escape(card.before) + "{{c1::" + hidden + "}}" + _escape(card.after)
        text = re.sub("^#", "&#35;", text)  # A line with # would be a comment.
        yield text, _escape(card.back), deck, f"gistread {card.kind}", card.guid


@dataclass(frozen=True, slots=True)
class _Card:
    """A text with a gap: `before`, the hidden words, `after`."""

    kind: str  # `highlight`, `question` or `name`
    before: str
    hidden: str  # The words of the gap
    after: str
    back: str
    guid: str = ""  # Empty: the first field identifies the note


def _cards(export: Export) -> Iterator[_Card]:
    """The cards of highlights, then of answers, then of names."""
    book = export.book
    for mark in quoted_marks(export.marks):
        yield from _highlight_cards(book, mark)
    for words, saved in _last_answers(export).items():
        digest = hashlib.sha256(f"{book.sha256} {words}".encode()).hexdigest()
        yield _question_card(book, saved, guid=digest[:_GUID_CHARACTERS])
    for entity, sentence in export.names:
        yield from _name_cards(book, entity, sentence)


def _last_answers(export: Export) -> dict[str, SavedQuestion]:
    """The last answer with sources to each question, by its words."""
    answers: dict[str, SavedQuestion] = {}
    for saved in export.questions:
        is_believed = export.doubted or not _is_doubted(saved)
        if _has_sources(saved) and is_believed:
            answers[_same_question(saved)] = saved
    return answers


def doubted_notice(export: Export) -> str:
    """What is said of questions that get no card as each answer is in doubt; else empty.

    >>> from gistread.book.model import Book
    >>> doubted_notice(Export(Book("", "", (), ())))
    ''
    """
    if export.doubted:
        return ""
    carded = _last_answers(export)
    left_out = {
        _same_question(saved)
        for saved in export.questions
        if _has_sources(saved) and _is_doubted(saved)
    }
    count = len(left_out - carded.keys())
    if not count:
        return ""
    return f"{counted(count, 'question')} left out: the answer is in doubt."


def _highlight_cards(book: Book, mark: Mark) -> Iterator[_Card]:
    """A card that asks for a name of the quote, or its longest word; none without words."""
    quote = " ".join(mark.place.exact.split())
    gap = _gap(quote)
    if gap is None:
        return
    place = "" if mark.lost else _place(book, mark.start)
    back = "\n".join(filter(None, (mark.note, place)))
    yield _Card(
        "highlight",
        before=quote[: gap.start()],
        hidden=gap[0],
        after=quote[gap.end() :],
        back=back,
    )


def _name_cards(book: Book, entity: Entity, span: tuple[int, int]) -> Iterator[_Card]:
    """A card that asks for a name in the sentence that introduces it; none if it is not there."""
    start, end = span
    sentence = " ".join(book.text[start:end].split())
    forms = [form.text for form in entity.forms if form.text in sentence]
    name = max(forms, key=len, default="")
    if not name:
        return
    before, _, after = sentence.partition(name)
    lines = [f"{entity.name} ({entity.kind})"]
    if entity.others:
        lines.append(f"Also: {', '.join(entity.others)}")
    lines.append(_place(book, start))
    yield _Card("name", before=before, hidden=name, after=after, back="\n".join(lines))


def _question_card(book: Book, saved: SavedQuestion, guid: str) -> _Card:
    """A card that asks the question; its back has the sources, doubts and other passages.

    The answer must have sources.
    """
    answer = _SOURCE.sub("", saved.answer).strip()
    # Such an answer only introduces its quotes: "What the book says of Ferrand:"
    if answer.endswith(":"):
        answer = " ".join(saved.citations[0].quote.split())
    lines = [_quote_line(book, citation) for citation in saved.citations]
    for mark in saved.marks:
        doubted = saved.answer[mark.start : mark.end]
        lines.append(f"{in_quotes(doubted)}: {mark.message}")
    rival_words = [citation.tells for citation in saved.citations if citation.tells]
    lines += [f"Another passage says {in_quotes(words)}" for words in rival_words]
    return _Card(
        "question",
        before=f"{saved.question}\n",
        hidden=answer,
        after="",
        back="\n".join(lines),
        guid=guid,
    )


def _quote_line(book: Book, citation: Citation) -> str:
    quote = " ".join(citation.quote.split())
    return f"{in_quotes(quote)} {_place(book, citation.start)}"


def _same_question(saved: SavedQuestion) -> str:
    """The words of a question, by which it is recognised without regard to case and punctuation."""
    words = _WORD.findall(saved.question.casefold())
    return " ".join(words) or saved.question


def _has_sources(saved: SavedQuestion) -> bool:
    """Whether the question has a whole answer with sources."""
    has_answer = saved.found and bool(saved.answer.strip())
    return has_answer and not saved.cut and bool(saved.citations)


def _is_doubted(saved: SavedQuestion) -> bool:
    """Whether the check doubts the answer, or other passages or no plain sentence answer it."""
    has_no_sentence = saved.answer.startswith(NO_PLAIN_SENTENCE)
    has_rivals = any(citation.tells for citation in saved.citations)
    return bool(saved.marks) or has_no_sentence or has_rivals


def _gap(quote: str) -> re.Match[str] | None:
    """The first name of a quote, or its longest word; None if it has no words."""
    words = list(_GAP_WORD.finditer(quote))
    # The first word may have its capital only from the beginning of the quote.
    for word in words[1:]:
        is_capital = word[0][0].isupper()
        sign_before_space = quote[word.start() - 2]
        begins_sentence = sign_before_space in _SENTENCE_ENDS
        if is_capital and not begins_sentence:
            return word
    return max(words, key=lambda word: len(word[0]), default=None)


def _place(book: Book, offset: int) -> str:
    """`— Emma · Chapter 3`"""
    titles = (book.title, book.chapter_title(offset))
    place = " · ".join(filter(None, titles))
    return f"— {place}"


def _answer(text: str) -> str:
    """The answer of a model with its bold words; lists keep their lines."""
    return STRONG.sub(r"<b>\1</b>", _escape(text))


def _escape(text: str) -> str:
    """Text as HTML without anything that Anki would read as more than text."""

    def escaped(sign: re.Match[str]) -> str:
        return _ESCAPES[sign[0]]

    return _SPECIAL.sub(escaped, html.escape(text, quote=False))
