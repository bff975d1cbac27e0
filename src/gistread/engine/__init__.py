"""Engines: `protocol.py` is the interface; packages above this one do not depend on a particular engine."""
