"""Opens thousands of broken files of each format: they open, or raise a BookError."""
