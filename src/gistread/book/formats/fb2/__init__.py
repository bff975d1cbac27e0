"""What only FictionBook needs: its own elements become those of XHTML. `book.py` is the whole."""
