"""Readers: methods of answering questions as a stream of events (design D7), all with one signature (`protocol.py`)."""
