"""Renders conversations with a model's chat template, or a plain one. Reasoning is turned off: it takes too long."""

import faulthandler
import operator
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from types import FrameType
from typing import Any

from jinja2 import TemplateError, filters
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gistread.engine.protocol import Message
from gistread.system import limited_growth

_OPEN, _CLOSE = "<think>", "</think>"
_EMPTY_REASONING = f"{_OPEN}\n\n{_CLOSE}\n\n"

# For base models, which have no template.
_PLAIN = (
    "{% for message in messages %}{{ message['content'] }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}Answer:{% endif %}"
)


_TRIAL = "What is told on page 7?"


class _Generation(Extension):
    """`{% generation %} … {% endgeneration %}`, which Hugging Face's trainers use; its content is rendered as is."""

    tags = {"generation"}  # noqa: RUF012 - declared so by Jinja

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


# A template comes with a model file, and may loop or grow without end.
_MOST_CPU_S = 0.5
_MOST_S = 5.0  # Then the process ends: a call into C code cannot be interrupted
_MOST_BYTES = 512 * 2**20
_MOST_CHARACTERS = 200_000  # Beyond the messages
_LARGEST = 10**6  # Factor, power or length of a product
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"*": operator.mul, "**": operator.pow}
_TRACED = ("<template>", filters.__file__)  # Traced by line; other code by call
_rendering = threading.Lock()  # The limits apply to the whole process


class _Environment(ImmutableSandboxedEnvironment):
    """Also refuses products and powers of enormous size."""

    intercepted_binops = frozenset(_OPERATORS)

    def call_binop(self, context: object, operator: str, left: Any, right: Any) -> Any:
        sizes = [abs(each) if isinstance(each, int | float) else len(each) for each in (left, right)]
        if max(sizes) > 64 if operator == "**" else sizes[0] * sizes[1] > _LARGEST:
            raise TemplateError(f"it calculates {operator} with values that are too large")
        return _OPERATORS[operator](left, right)


class _TooLongError(BaseException):
    """Not an `Exception`, which Jinja would catch while compiling."""


@contextmanager
def _limits() -> Iterator[None]:
    """Raises TemplateError for code that takes too long or too much memory."""
    with _rendering, limited_growth(_MOST_BYTES):
        faulthandler.dump_traceback_later(_MOST_S, exit=True, file=2)
        try:
            with _limited_time():
                yield
        except _TooLongError:
            raise TemplateError("it takes too long") from None
        except MemoryError:
            raise TemplateError("it takes too much memory") from None
        finally:
            faulthandler.cancel_dump_traceback_later()


@contextmanager
def _limited_time() -> Iterator[None]:
    until_s = time.thread_time() + _MOST_CPU_S

    def check(frame: FrameType, event: str, argument: object) -> Any:
        if time.thread_time() > until_s:
            raise _TooLongError
        return check if frame.f_code.co_filename in _TRACED else None

    before = sys.gettrace()
    sys.settrace(check)
    try:
        yield
    finally:
        sys.settrace(before)


class ChatTemplate:
    def __init__(self, source: str, bos: str, eos: str) -> None:
        """`source`: the model's Jinja template, or empty. Raises jinja2.TemplateError if it cannot be used."""
        environment = _Environment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
        )
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: date.today().strftime(form)
        self._bos, self._eos = bos, eos
        self._reasons = _CLOSE in source
        try:
            with _limits():
                self._template = environment.from_string(source if source.strip() else _PLAIN)
            text = self.render((Message("user", _TRIAL),))
        except TemplateError:
            raise
        except Exception as error:  # a template can fail in any way
            raise TemplateError(str(error)) from None
        if _TRIAL not in text:
            raise TemplateError("it leaves out the messages")

    def render(self, prompt: Sequence[Message]) -> str:
        """Render a prompt up to where the model continues: in the assistant's last message, or at a new one."""
        begun = prompt[-1].content if prompt and prompt[-1].role == "assistant" else ""
        messages = [{"role": m.role, "content": m.content} for m in (prompt[:-1] if begun else prompt)]
        return self._without_reasoning(self._fill(messages)) + begun

    def _fill(self, messages: list[dict[str, str]]) -> str:
        try:
            return self._render(messages)
        except (TemplateError, SecurityError, TypeError):
            # Some templates have no system role: put it before the user's message.
            system = [m["content"] for m in messages if m["role"] == "system"]
            others = [m for m in messages if m["role"] != "system"]
            if not system or not others:
                raise
            others[0] = {**others[0], "content": "\n\n".join([*system, others[0]["content"]])}
            return self._render(others)

    def _render(self, messages: list[dict[str, str]]) -> str:
        left = _MOST_CHARACTERS + 2 * sum(len(message["content"]) for message in messages)
        parts: list[str] = []
        with _limits():
            for part in self._template.generate(
                messages=messages,
                add_generation_prompt=True,
                enable_thinking=False,
                bos_token=self._bos,
                eos_token=self._eos,
            ):
                parts.append(part)
                left -= len(part)
                if left < 0:
                    raise TemplateError("it writes too much")
        return "".join(parts)

    def _without_reasoning(self, text: str) -> str:
        if not self._reasons:
            return text
        tail = text[-64:].rstrip()
        if tail.endswith(_OPEN):
            return text.rstrip() + f"\n\n{_CLOSE}\n\n"
        if tail.endswith(_CLOSE):
            return text
        return text + _EMPTY_REASONING


def _refuse(message: str) -> None:
    raise TemplateError(message)
