"""The user's library: catalogue, list of books, scanning of folders."""
