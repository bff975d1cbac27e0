"""Readers: methods of answering questions about a book, all with the same signature (`registry.py`).

A reader takes a question, a memory and an engine and yields events (design D7), the last of them `Answered`. The person
may change `Steering` at any time. Closing the generator stops the reader at once.
"""
