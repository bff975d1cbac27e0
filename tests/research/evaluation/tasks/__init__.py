"""Tasks: files in the layouts of their authors, and the documents that come of them."""
