"""A saved web page, read as a book is: snippets, gists, look-ups, and the next action (ReadAgent, appendix D)."""
