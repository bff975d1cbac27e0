"""Measures what is lost: words of PDFs and EPUBs, pages of memories that are killed, damaged or refused by the disk."""
