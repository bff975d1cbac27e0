"""Builds and stores the gist memory of a book: pagination, gisting, the guard, and artifacts derived from gists."""
