"""One open book and its models: all that goes on behind the screen. Knows no widgets; `news.py` is what it tells."""
