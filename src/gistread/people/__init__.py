"""People and places of a book, found by rules: every mention by its offset, and which names are the same person."""
