"""Keeps the place in a book along with other devices, through a KOReader sync server (kosync)."""
