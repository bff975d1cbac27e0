"""One open book and its models, without a user interface; listeners receive the events in `events.py`."""
