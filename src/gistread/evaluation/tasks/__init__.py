"""Tasks as data: one module a format reads the files of a benchmark as their authors give them out."""
