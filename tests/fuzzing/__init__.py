"""Opens thousands of broken files of each format and watches that nothing but a BookError comes of
it.
"""
