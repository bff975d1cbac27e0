"""gistread: read long books in the terminal with a local language model."""

__version__ = "0.1.0"
