"""Conversations are rendered by the model's template, with reasoning turned off."""

import pytest
from jinja2.exceptions import SecurityError

from gistread.engine.llama.worker.chat_template import ChatTemplate
from gistread.engine.protocol import Message

_SIMPLE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[go]{% endif %}"
)
_ASK = (Message("system", "Be brief."), Message("user", "Why?"))


def rendered(source: str, prompt: tuple[Message, ...] = _ASK) -> str:
    return ChatTemplate(source, bos="<s>", eos="</s>").render(prompt)


def test_the_models_own_template_is_used() -> None:
    assert rendered(_SIMPLE) == "[system]Be brief.[user]Why?[go]"


def test_a_begun_answer_is_continued() -> None:
    assert rendered(_SIMPLE, (*_ASK, Message("assistant", "Page "))) == "[system]Be brief.[user]Why?[go]Page "


def test_a_template_without_system_messages_gets_them_with_the_question() -> None:
    source = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + _SIMPLE
    assert rendered(source) == "[user]Be brief.\n\nWhy?[go]"


def test_thinking_is_turned_off_where_the_template_can() -> None:
    source = _SIMPLE + "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    assert rendered(source).endswith("[go]<think>\n\n</think>\n\n")


def test_an_opened_thought_is_closed() -> None:
    assert rendered(_SIMPLE + "<think>\n{# closes with </think> #}").endswith("[go]<think>\n\n</think>\n\n")


def test_a_model_that_thinks_unasked_begins_with_an_empty_thought() -> None:
    source = "{# strips </think> from history #}" + _SIMPLE
    assert rendered(source) == "[system]Be brief.[user]Why?[go]<think>\n\n</think>\n\n"


@pytest.mark.parametrize("source", ["{{ ''.__class__.__mro__ }}", "{{ messages.__init__.__globals__ }}"])
def test_a_template_cannot_leave_its_sandbox(source: str) -> None:
    with pytest.raises(SecurityError):
        rendered(source + _SIMPLE)
