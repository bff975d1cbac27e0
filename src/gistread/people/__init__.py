"""Finds a book's people and places by rules: every mention, and which names are the same person."""
