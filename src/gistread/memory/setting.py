"""Says where a part of a book stands, for prompts: its chapter, who tells it, what came before."""

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.memory.narrator import narration_of

_BEFORE_WORDS = 40  # Of what was told just before
_BEFORE_CHARACTERS = 280  # Of the same, for languages without spaces
MAX_TOKENS = 160  # Room for these sentences in a prompt


def setting(book: Book, start: int, end: int, before: str = "") -> str:
    """Sentences about `book.text[start:end]`, each after a space. `before`: the gist before it.

    The narrator's name is known from the text before `end` alone. Call it in a thread, as
    `narration_of`.
    """
    chapter = book.chapters[book.chapter_index(start)]
    is_hidden = book.is_volume_heading(chapter.start)  # A bound hides it
    title = "" if is_hidden else " ".join(chapter.title.split())
    sentences = f" It is from the chapter “{title}”." if title else ""
    sentences += _narrator(book, chapter.start, end)
    told_before = _first_words(before)
    if told_before:
        sentences += f" Just before it: {told_before}"
    return sentences


def _first_words(text: str) -> str:
    """The first sentence of a text, or the beginning of a long one."""
    for start, end in sentence_spans(text):
        words = text[start:end].split()[:_BEFORE_WORDS]
        return " ".join(words)[:_BEFORE_CHARACTERS]
    return ""


def last_sentence(text: str) -> str:
    """The last sentence of a text."""
    spans = sentence_spans(text)
    if not spans:
        return ""
    return text[slice(*spans[-1])]


def _narrator(book: Book, start: int, end: int) -> str:
    if not book.language.lower().startswith("en"):
        return ""
    narration = narration_of(book)
    name = narration.name(end) if narration.is_first_person(start, end) else ""
    if not name:
        return ""
    return f" Who says “I” in it is {name}."
