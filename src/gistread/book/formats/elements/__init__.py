"""A tree of elements becomes paragraphs: what EPUB, HTML, Markdown, FictionBook and Word documents come through."""
