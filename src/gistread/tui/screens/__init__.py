"""One module per screen; `reading.py` is the main one."""
