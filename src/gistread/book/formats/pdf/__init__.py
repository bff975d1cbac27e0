"""Reads PDF: reconstructs lines, paragraphs, headings and notes from the positions of glyphs."""
