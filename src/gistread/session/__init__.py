"""One open book and its models: all that goes on behind the screen. Knows no widgets; `events.py` is what it tells."""
