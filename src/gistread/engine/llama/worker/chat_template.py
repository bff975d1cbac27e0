"""Renders conversations with a model's chat template, or a plain one. Reasoning is turned off: it takes too long."""

from collections.abc import Sequence
from datetime import date

from jinja2 import TemplateError
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gistread.engine.protocol import Message

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


class ChatTemplate:
    """A chat template, which comes with a model file: it runs in Jinja's sandbox. Usable from any thread."""

    def __init__(self, source: str, bos: str, eos: str) -> None:
        """`source`: the model's Jinja template, or empty. Raises jinja2.TemplateError if it cannot be used."""
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
        )
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: date.today().strftime(form)
        self._bos, self._eos = bos, eos
        self._reasons = _CLOSE in source
        self._template = environment.from_string(source if source.strip() else _PLAIN)
        if _TRIAL not in self.render((Message("user", _TRIAL),)):
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
        return self._template.render(
            messages=messages,
            add_generation_prompt=True,
            enable_thinking=False,
            bos_token=self._bos,
            eos_token=self._eos,
        )

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
