"""Chooses the next action on a saved web page, read like a book: snippets, gists, look-ups (ReadAgent, appendix D)."""
