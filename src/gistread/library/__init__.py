"""The person's books, opened or not: which there are, where their files lie, how far person and model got.

What was opened is the shelf's; what is known of files, the folders that were added and what was taken out of the
list stand in `catalogue.py`. Knows no screen.
"""
