"""What only Word documents need: styles and numbering tell what a paragraph is. `book.py` is the whole."""
