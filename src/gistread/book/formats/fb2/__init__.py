"""Reads FictionBook 2 (FB2)."""
