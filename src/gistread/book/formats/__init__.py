"""Readers of file formats, one module or package each. Marked-up formats share `elements`."""
