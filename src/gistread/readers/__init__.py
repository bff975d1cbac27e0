"""Readers: methods of answering questions as a stream of events.

All are a `Reader` (`answering.py`). The screen, the command line, tests and logs use one stream.
"""
