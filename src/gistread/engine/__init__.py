"""A prompt becomes tokens. `protocol.py` says what an engine is; nothing above this package knows llama.cpp."""
