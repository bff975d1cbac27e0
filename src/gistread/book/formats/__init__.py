"""One module a format, or one room with what only that format needs.

Those that have elements come through `elements`. `open.py` above looks at the content of a file and decides which one
reads it.
"""
