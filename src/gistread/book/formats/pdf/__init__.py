"""What only PDF needs: where glyphs stand has to tell lines, paragraphs, headings and notes. `book.py` is the whole."""
