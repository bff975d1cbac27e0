"""Cards for Anki: a text file with the headers that Anki 2.1.55 and later read, each note a cloze
deletion.

The format: https://docs.ankiweb.net/importing/text-files.html. Anki identifies a note by its first
field, so importing again updates notes.
"""

import csv
import html
import io
import re
from collections.abc import Iterable, Iterator

from gistread.book.model import Book
from gistread.exporting.model import Export, quoted_marks
from gistread.store.model import SavedQuestion

_HEADERS = (
    *("#separator:tab", "#html:true", "#notetype:Cloze", "#columns:Text\tBack Extra\tDeck\tTags"),
    *("#deck column:3", "#tags column:4"),
)
_SOURCE = re.compile(r"\s?\[\d+\]")  # In an answer
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
# Text that Anki would read as a field, a hint, a comment or a sound.
_ENTITIES = {
    "{{": "&#123;&#123;",
    "}}": "&#125;&#125;",
    "::": "&#58;&#58;",
    "\t": " ",
    "\n": "<br>",
    "[sound": "&#91;sound",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ENTITIES)))


def as_cards(exports: Iterable[Export]) -> str:
    """Cards of highlights, of answers with verified quotes, and of names; a deck for each book."""
    text = io.StringIO()
    text.writelines(f"{header}\n" for header in _HEADERS)
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    for export in exports:
        writer.writerows(_rows(export))
    return text.getvalue()


def _rows(export: Export) -> Iterator[tuple[str, str, str, str]]:
    deck = f"gistread::{' '.join(export.book.title.replace('::', ' ').split())}"
    for kind, front, back in _cards(export):
        hidden = _answer(front[1]) if kind == "question" else _escape(front[1])
        field = _escape(front[0]) + "{{c1::" + hidden + "}}" + _escape(front[2])
        yield re.sub("^#", "&#35;", field), _escape(back), deck, f"gistread {kind}"


def _cards(export: Export) -> Iterator[tuple[str, tuple[str, str, str], str]]:
    """(tag, (text before, in and after the gap), back) of each card."""
    book = export.book
    for mark in quoted_marks(export.marks):
        quote = " ".join(mark.place.exact.split())
        if (gap := _gap(quote)) is not None:
            place = "" if mark.lost else _place(book, mark.start)
            yield "highlight", gap, "\n".join(filter(None, (mark.note, place)))
    answered = {asked.question: asked for asked in export.questions if _is_supported(asked)}
    for asked in answered.values():  # The last answer to each question
        answer = _SOURCE.sub("", asked.answer).strip()
        if answer.endswith(":"):  # It only introduces its quotes: "What the book says of Ferrand:"
            answer = " ".join(asked.citations[0].quote.split())
        quotes = [
            f"“{' '.join(citation.quote.split())}” {_place(book, citation.start)}"
            for citation in asked.citations
        ]
        yield "question", (f"{asked.question}\n", answer, ""), "\n".join(quotes)
    for entity, (start, end) in export.names:
        sentence = " ".join(book.text[start:end].split())
        name = max(
            (form.text for form in entity.forms if form.text in sentence), key=len, default=""
        )
        if name:
            before, _, after = sentence.partition(name)
            others = f"\nAlso: {', '.join(entity.others)}" if entity.others else ""
            yield (
                "name",
                (before, name, after),
                f"{entity.name} ({entity.kind}){others}\n{_place(book, start)}",
            )


def _is_supported(asked: SavedQuestion) -> bool:
    """Whether the answer has sources, and the check doubts neither it nor them."""
    is_doubted = bool(asked.marks) or any(citation.tells for citation in asked.citations)
    is_whole = asked.found and bool(asked.answer.strip()) and not asked.cut
    return is_whole and bool(asked.citations) and not is_doubted


def _gap(quote: str) -> tuple[str, str, str] | None:
    """The quote around its first name, or its longest word; None if it has no words."""
    words = list(_WORD.finditer(quote))
    names = [
        word
        for word in words[1:]
        if word[0][0].isupper() and quote[word.start() - 2] not in '.!?”"’'
    ]
    hidden = names[0] if names else max(words, key=lambda word: len(word[0]), default=None)
    return (quote[: hidden.start()], hidden[0], quote[hidden.end() :]) if hidden else None


def _place(book: Book, offset: int) -> str:
    return f"— {' · '.join(filter(None, (book.title, book.chapter_title(offset))))}"


def _answer(text: str) -> str:
    """The answer of a model with its bold words; lists keep their lines."""
    return re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<b>\1</b>", _escape(text))


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: _ENTITIES[found[0]], html.escape(text, quote=False))
