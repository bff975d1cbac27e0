"""Readers: methods of answering questions as a stream of events (design D7).

All are a `Reader` (`answering.py`).
"""
