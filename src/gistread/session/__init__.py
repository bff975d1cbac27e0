"""One open book and its models, without a user interface.

Listeners receive the events in `events.py`.
"""
