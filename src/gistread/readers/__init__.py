"""Readers: each one method of answering questions about a book, all with the same signature (`registry.py`).

A reader is handed a question, a memory and an engine, and speaks in events (design D7), the last of them
`Answered`. The person beside it changes `Steering` at any time. Closing the generator stops it at once.
"""
