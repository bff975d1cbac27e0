"""Says where a part of a book stands, for prompts: its chapter, who tells it, what came before."""

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.memory.narrator import narration_of

_BEFORE_WORDS = 40  # Of the gist before
_BEFORE_CHARACTERS = 280  # The same for languages without spaces
MAX_TOKENS = 160  # Room for these sentences in a prompt


def setting(book: Book, start: int, end: int, before: str = "") -> str:
    """Sentences about `book.text[start:end]`, each after a space. `before`: the gist before it.

    The narrator's name is taken from the text before `end`. Call it in a thread, as `narration_of`.
    """
    chapter = book.chapters[book.chapter_index(start)]
    title = " ".join(chapter.title.split())
    is_hidden = book.is_volume_heading(chapter.start)  # By a spoiler bound
    sentences = ""
    if title and not is_hidden:
        sentences += f" It is from the chapter “{title}”."
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
    start, end = spans[-1]
    return text[start:end]


def _narrator(book: Book, start: int, end: int) -> str:
    """A sentence that tells who says "I"; empty if nobody does or it is unknown."""
    if not book.language.lower().startswith("en"):
        return ""
    narration = narration_of(book)
    if not narration.is_first_person(start, end):
        return ""
    name = narration.name(end)
    return f" Who says “I” in it is {name}." if name else ""
