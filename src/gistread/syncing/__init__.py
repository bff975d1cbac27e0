"""Syncs the place in a book with other devices, through a KOReader sync server (kosync)."""
