"""Reads Word documents (DOCX)."""
