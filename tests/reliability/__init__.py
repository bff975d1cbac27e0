"""Measures what is lost.

Words of PDFs and EPUBs, pages of memories that are killed, damaged or refused by the disk.
"""
