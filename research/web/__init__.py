"""Chooses the next action on a saved web page by snippets, gists and look-ups.

As in ReadAgent, appendix D.
"""
