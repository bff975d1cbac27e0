"""Reads EPUB 2 and 3."""
