"""Search over texts: exact, as a person types, and ranked, as a question asks."""
