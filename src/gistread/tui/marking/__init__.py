"""Marks: selecting, copying, highlights, notes, bookmarks, and looking words up."""
