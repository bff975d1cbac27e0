"""Finds books in catalogues on the network and downloads them, only on the user's command."""
