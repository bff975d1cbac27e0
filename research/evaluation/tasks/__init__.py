"""Tasks: one module for each format reads the files of a benchmark as published."""
