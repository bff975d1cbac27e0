"""Search: exact, regular expressions, and ranked by relevance."""
