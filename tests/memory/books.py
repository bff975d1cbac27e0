"""Small books for tests, made of given paragraphs."""

from collections.abc import Sequence
from dataclasses import replace

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind


def make_book(
    *chapters: Sequence[str], language: str = "en", title: str = "A Book"
) -> Book:
    """A book of these chapters, each a sequence of paragraphs.

    One that begins with `# ` is a heading.
    """
    text = ""
    paragraphs: list[Paragraph] = []
    chapter_list: list[Chapter] = []
    for index, chapter in enumerate(chapters):
        begins = len(text)
        for number, words in enumerate(chapter):
            heading = words.startswith("# ")
            words = words.removeprefix("# ")
            start = len(text)
            paragraphs.append(
                Paragraph(
                    start,
                    start + len(words),
                    ParagraphKind.HEADING if heading else ParagraphKind.TEXT,
                    int(heading),
                )
            )
            last = index == len(chapters) - 1 and number == len(chapter) - 1
            text += words + ("" if last else "\n\n")
        chapter_list.append(Chapter(f"Chapter {index + 1}", begins, len(text)))
    return Book(
        text,
        title,
        tuple(paragraphs),
        tuple(chapter_list),
        authors=("Somebody",),
        language=language,
    )


def with_chapter_titles(book: Book, *titles: str) -> Book:
    """The book with these titles of its chapters."""
    chapters = [
        replace(chapter, title=title)
        for chapter, title in zip(book.chapters, titles, strict=True)
    ]
    return replace(book, chapters=tuple(chapters))


def prose(words: int, *, seed: int = 0) -> str:
    """`words` distinct words in sentences of ten."""
    return " ".join(
        (f"W{seed}x{i}" if i % 10 == 0 else f"w{seed}x{i}")
        + ("." if i % 10 == 9 or i == words - 1 else "")
        for i in range(words)
    )
