"""Builds and stores the gist memory of a book.

Pagination, gisting, the guard, and artifacts derived from gists.
"""
