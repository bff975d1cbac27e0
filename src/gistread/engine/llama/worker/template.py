"""The process that renders chat templates.

A template comes with a model file, and may loop or grow without end.

Reads JSON lines: `[source, bos, eos]`, then prompts. Answers each with `{"text": …}` or `{"error":
…}`. The process ends when a template takes too long. Reasoning is turned off, because it takes too
long as well.
"""

import sys
from collections.abc import Sequence
from datetime import date

import orjson
from jinja2 import TemplateError
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gistread.engine.protocol import Message
from gistread.system import limit_cpu, limit_memory

_OPEN, _CLOSE = "<think>", "</think>"
_EMPTY_REASONING = f"{_OPEN}\n\n{_CLOSE}\n\n"
_TAIL_CHARACTERS = 64  # Enough for a tag and white space after it

# For base models, which have no template.
_PLAIN = (
    "{% for message in messages %}{{ message['content'] }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}Answer:{% endif %}"
)
_TRIAL = "What is told on page 7?"
_MOST_CPU_S = 1
_MOST_BYTES = 512 * 2**20
_MOST_CHARACTERS = 200_000  # Beyond the messages


class _Generation(Extension):
    """`{% generation %} … {% endgeneration %}`, which Hugging Face's trainers use.

    Its content is rendered as is.
    """

    tags = {"generation"}  # noqa: RUF012 - declared so by Jinja

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Template:
    def __init__(self, source: str, bos: str, eos: str) -> None:
        """`source`: the model's Jinja template, or empty.

        Raises jinja2.TemplateError if it cannot be used.
        """
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", _Generation],
        )
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: date.today().strftime(form)
        self._bos = bos
        self._eos = eos
        self._knows_thoughts = _CLOSE in source
        self._template = environment.from_string(source if source.strip() else _PLAIN)
        trial = Message("user", _TRIAL)
        if _TRIAL not in self.render((trial,)):
            raise TemplateError("it leaves out the messages")

    def render(self, prompt: Sequence[Message]) -> str:
        """Render a prompt up to where the model continues.

        It continues the last message if that is the assistant's, or begins a new one.
        """
        answer_begun = ""
        if prompt and prompt[-1].role == "assistant":
            answer_begun = prompt[-1].content
        if answer_begun:
            prompt = prompt[:-1]
        messages = [
            {"role": message.role, "content": message.content} for message in prompt
        ]
        rendered = self._render_with_system(messages)
        return self._without_reasoning(rendered) + answer_begun

    def _render_with_system(self, messages: list[dict[str, str]]) -> str:
        """Render messages. If the template has no system role, its text goes to the first other.

        Raises jinja2.TemplateError.
        """
        try:
            return self._render(messages)
        except (TemplateError, SecurityError, TypeError):
            contents = [
                message["content"]
                for message in messages
                if message["role"] == "system"
            ]
            others = [message for message in messages if message["role"] != "system"]
            if not contents or not others:
                raise
            contents.append(others[0]["content"])
            others[0] = {**others[0], "content": "\n\n".join(contents)}
            return self._render(others)

    def _render(self, messages: list[dict[str, str]]) -> str:
        """Raises jinja2.TemplateError, also if the template writes much more than the messages."""
        message_characters = sum(len(message["content"]) for message in messages)
        # A template may escape a message, or repeat one.
        spare_characters = _MOST_CHARACTERS + 2 * message_characters
        rendering = self._template.generate(
            messages=messages,
            add_generation_prompt=True,
            enable_thinking=False,
            bos_token=self._bos,
            eos_token=self._eos,
        )
        parts: list[str] = []
        for part in rendering:
            parts.append(part)
            spare_characters -= len(part)
            if spare_characters < 0:
                raise TemplateError("it writes too much")
        return "".join(parts)

    def _without_reasoning(self, text: str) -> str:
        """A rendered prompt, with an empty thought if the model would begin with a thought."""
        if not self._knows_thoughts:
            return text
        tail = text[-_TAIL_CHARACTERS:].rstrip()
        if tail.endswith(_OPEN):
            return text.rstrip() + f"\n\n{_CLOSE}\n\n"
        if tail.endswith(_CLOSE):
            return text
        return text + _EMPTY_REASONING


def _refuse(message: str) -> None:
    raise TemplateError(message)


def main() -> None:
    """Answer each line of standard input: the first with an empty text, if the template works."""
    limit_memory(_MOST_BYTES)
    template: Template | None = None
    for line in sys.stdin.buffer:
        limit_cpu(_MOST_CPU_S)  # For this line: counted from now on
        content = orjson.loads(line)
        try:
            if template is None:
                source, bos, eos = content
                template = Template(source, bos, eos)
                answer = {"text": ""}
            else:
                prompt = [Message(role, text) for role, text in content]
                answer = {"text": template.render(prompt)}
        except MemoryError:
            answer = {"error": "it takes too much memory"}
        except Exception as error:  # A template can fail in any way
            answer = {"error": str(error) or type(error).__name__}
        sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
