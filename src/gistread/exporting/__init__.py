"""Exports a book's marks, questions and gists, or the book's text.

As Markdown, as JSON or for other programs.
"""
