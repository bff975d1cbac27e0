"""Readers: methods of answering questions as a stream of events (design D7); all are a `Reader` (`answering.py`)."""
