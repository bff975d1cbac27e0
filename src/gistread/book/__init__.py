"""A file becomes a Book: title, chapters, paragraphs, each with offsets into one normalised text."""

from gistread.book.model import Book, Chapter, Kind, Paragraph
from gistread.book.open import open_book

__all__ = ["Book", "Chapter", "Kind", "Paragraph", "open_book"]
