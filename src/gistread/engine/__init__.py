"""Engines: `protocol.py` is the interface.

Packages above this one do not depend on a particular engine.
"""
