"""One module a screen; `reading.py` is the one a person lives in."""
