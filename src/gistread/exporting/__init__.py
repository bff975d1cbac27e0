"""Exports a book's marks, questions and gists as Markdown or JSON and for other programs, or the
book's text.
"""
