"""What only EPUB needs: the package says which files are its text, and what it is called. `book.py` is the whole."""
