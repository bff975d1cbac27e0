"""What llama.cpp says while it works goes to stderr, which is a log file; what is asked for later is kept."""

import os
import re

import llama_cpp as llama

_ERROR_LEVEL = 4
_FUSED = re.compile(r"Flash Attention (?:was auto, set to )?(enabled|disabled)")


class LlamaLog:
    """Begins with an empty memory; takes the place of the one before."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.flash_attention = False
        """Whether the context made last computes attention fused, as far as it said."""
        self._callback = llama.llama_log_callback(self._on_line)
        llama.llama_log_set(self._callback, None)
        _KEPT_ALIVE.append(self._callback)

    def _on_line(self, level: int, text: bytes, _data: object) -> None:
        line = text.decode("utf-8", "replace")
        os.write(2, text)
        if level == _ERROR_LEVEL and line.strip():
            self.errors.append(line.strip())
        if found := _FUSED.search(line):
            self.flash_attention = found[1] == "enabled"


_KEPT_ALIVE: list[object] = []
"""Callbacks that llama.cpp calls as long as the process lives."""
