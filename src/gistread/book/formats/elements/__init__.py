"""Turns XHTML trees into paragraphs: shared by EPUB, HTML, Markdown, FictionBook and Word."""
