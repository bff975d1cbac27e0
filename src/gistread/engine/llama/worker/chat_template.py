"""Renders conversations with a model's chat template, or a plain one.

In a process with limits (`template.py`).
"""

import contextlib
import threading
from collections.abc import Sequence
from io import BufferedReader
from subprocess import PIPE, Popen

import orjson

from gistread.child_process import start_python
from gistread.engine.protocol import Message

_RENDERER = "gistread.engine.llama.worker.template"


class TemplateError(Exception):
    """A clause about the template, such as `it takes too long`."""


class ChatTemplate:
    """A chat template in a process of its own, which starts at once. Usable from any thread."""

    def __init__(self, source: str) -> None:
        """`source`: the model's Jinja template, or empty."""
        self._source = source
        # The line with which a process begins, once the template has been tried
        self._head = b""
        self._lock = threading.Lock()
        self._start()

    def begin(self, bos: str, eos: str) -> None:
        """Compile the template and try it, with the text of these tokens.

        Raises TemplateError if it is unusable.
        """
        if self._head:
            return
        head = orjson.dumps([self._source, bos, eos]) + b"\n"
        with self._lock:
            # It may have been killed meanwhile, while a copy of the model was made.
            if self._process.poll() is not None:
                self._start()
            self._ask(head)
        self._head = head

    def render(self, prompt: Sequence[Message]) -> str:
        """Render a prompt up to where the model continues. Raises TemplateError."""
        with self._lock:
            if self._process.poll() is not None:  # An earlier prompt took too long
                self._start()
                self._ask(self._head)
            content = [(message.role, message.content) for message in prompt]
            return self._ask(orjson.dumps(content) + b"\n")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _start(self) -> None:
        self._process: Popen[bytes]
        self._process, output = start_python(_RENDERER, stdin=PIPE)
        self._output = BufferedReader(output)

    def _ask(self, line: bytes) -> str:
        """Send one line and return the text of the answer. Raises TemplateError."""
        process_input = self._process.stdin
        assert process_input is not None
        answer = b""
        with contextlib.suppress(OSError):
            process_input.write(line)
            process_input.flush()
            answer = self._output.readline()
        if not answer.endswith(b"\n"):
            self.close()
            raise TemplateError("it takes too long")
        rendered = orjson.loads(answer)
        if "error" in rendered:
            raise TemplateError(rendered["error"])
        text: str = rendered["text"]
        return text
