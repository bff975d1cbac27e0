"""What is read: the beginnings of books, and prompts of a given length."""

from dataclasses import replace
from pathlib import Path

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.engine.protocol import Engine, Message, Prompt
from gistread.sample import story_path
from gistread.words import count_words

DATA = Path(__file__).parents[3] / "shared" / "data" / "books"
"""Books that do not come with gistread. What needs one is left out where it is missing."""
HE_WALKED = DATA / "18807_He-Walked-Around-the-Horses.txt"
NOVEL = DATA / "1342_Pride-and-Prejudice.txt"
WAR_AND_PEACE = DATA / "2600_War-and-Peace.txt"
EMMA = DATA.parent / "novels" / "austen_emma.epub"


def beginning(book: Book, words: int) -> Book:
    """The first paragraphs of a book, as many as have no more than so many words together.

    At least one.
    """
    count, end = 0, 0
    for paragraph in book.paragraphs:
        count += count_words(book.text[paragraph.start : paragraph.end])
        if end and count > words:
            break
        end = paragraph.end
    return Book(
        text=book.text[:end],
        title=book.title,
        paragraphs=tuple(p for p in book.paragraphs if p.end <= end),
        chapters=tuple(
            replace(c, end=min(c.end, end)) for c in book.chapters if c.start < end
        ),
        authors=book.authors,
        language=book.language,
        source_format=book.source_format,
    )


def to_index(words: int, *, quick: bool) -> Book | None:
    """So many words of the book that indexing is measured with. None where it is missing.

    In a quick run a few words of the sample instead.
    """
    if quick:
        return beginning(open_book(story_path()), 200)
    return beginning(open_book(HE_WALKED), words) if HE_WALKED.exists() else None


async def prompt_of(
    tokens: int, variant: int, engine: Engine, task: str = "What happens here?"
) -> Prompt:
    """A prompt of nearly so many tokens, and no more.

    It shares its beginning with no other variant.
    """
    story = open_book(story_path()).text
    words = (
        f"Chapter {variant + 1} of the tale. {story[variant * 1000 :]} {story}".split()
    )
    count = min(len(words), tokens)
    while count:
        needed = await engine.measure(_prompt_of(words[:count], task))
        if needed <= tokens:
            break
        count = min(count - 1, int(count * tokens / needed))
    return _prompt_of(words[:count], task)


def _prompt_of(words: list[str], task: str) -> Prompt:
    return (Message("user", f"{' '.join(words)}\n\n{task}"),)
