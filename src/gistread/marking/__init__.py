"""Marks in books, and text anchors that survive another version of the text."""
