"""The user's data, and the files that hold it."""
