"""Books: text, chapters and paragraphs read from files of many formats."""

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.book.open import open_book

__all__ = ["Book", "Chapter", "Paragraph", "ParagraphKind", "open_book"]
