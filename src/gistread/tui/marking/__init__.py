"""Marks on the screen: selecting, copying, highlights, notes, bookmarks, and looking a word up."""
