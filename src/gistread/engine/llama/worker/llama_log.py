"""Writes llama.cpp's log to stderr, which is a log file, and keeps what is needed later."""

import os
import re

import llama_cpp as llama

_ERROR_LEVEL = 4
_FLASH_ATTENTION = re.compile(r"Flash Attention (?:was auto, set to )?(enabled|disabled)")
_CALLBACKS: list[object] = []
"""Referenced for as long as llama.cpp may call them: the life of the process."""


class LlamaLog:
    """Receives log lines from now on, in place of any earlier LlamaLog."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.flash_attention = False
        """Whether the last context uses flash attention, according to the log."""
        callback = llama.llama_log_callback(self._on_line)
        llama.llama_log_set(callback, None)
        _CALLBACKS.append(callback)

    def _on_line(self, level: int, text: bytes, _data: object) -> None:
        line = text.decode("utf-8", "replace")
        os.write(2, text)
        if level == _ERROR_LEVEL and line.strip():
            self.errors.append(line.strip())
        if found := _FLASH_ATTENTION.search(line):
            self.flash_attention = found[1] == "enabled"
