"""One module a format; `open.py` above looks at the content of a file and decides which one reads it."""
