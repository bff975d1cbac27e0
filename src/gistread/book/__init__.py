"""A file becomes a Book: title, chapters, paragraphs, each with offsets into one normalised text."""

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.book.open import open_book

__all__ = ["Book", "Chapter", "Paragraph", "ParagraphKind", "open_book"]
