"""A book and an engine become a gist memory: pagination, gisting, the guard; `store.py` keeps it on disk."""
