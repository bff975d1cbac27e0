"""Conversations are rendered by the model's template, with reasoning turned off."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from gistread.engine.llama.worker.chat_template import ChatTemplate, TemplateError
from gistread.engine.llama.worker.template import Template
from gistread.engine.protocol import Message

_SIMPLE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt "
    "%}[go]{% endif %}"
)
_ASK = (Message("system", "Be brief."), Message("user", "Why?"))


def rendered(source: str, prompt: tuple[Message, ...] = _ASK) -> str:
    return Template(source, bos="<s>", eos="</s>").render(prompt)


@pytest.fixture
def template_of() -> Iterator[Callable[[str], ChatTemplate]]:
    """Begins templates in processes of their own."""
    with contextlib.ExitStack() as stack:

        def begin(source: str) -> ChatTemplate:
            template = ChatTemplate(source)
            stack.callback(template.close)
            template.begin(bos="<s>", eos="</s>")
            return template

        yield begin


def test_the_models_own_template_is_used() -> None:
    assert rendered(_SIMPLE) == "[system]Be brief.[user]Why?[go]"


def test_a_begun_answer_is_continued() -> None:
    assert (
        rendered(_SIMPLE, (*_ASK, Message("assistant", "Page ")))
        == "[system]Be brief.[user]Why?[go]Page "
    )


def test_a_template_without_system_messages_gets_them_with_the_question() -> None:
    source = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        + _SIMPLE
    )
    assert rendered(source) == "[user]Be brief.\n\nWhy?[go]"


def test_thinking_is_turned_off_where_the_template_can() -> None:
    source = _SIMPLE + (
        "{% if enable_thinking is defined and not enable_thinking "
        "%}<think>\n\n</think>\n\n{% endif %}"
    )
    assert rendered(source).endswith("[go]<think>\n\n</think>\n\n")


def test_an_opened_thought_is_closed() -> None:
    assert rendered(_SIMPLE + "<think>\n{# closes with </think> #}").endswith(
        "[go]<think>\n\n</think>\n\n"
    )


def test_a_model_that_thinks_unasked_begins_with_an_empty_thought() -> None:
    source = "{# strips </think> from history #}" + _SIMPLE
    assert rendered(source) == "[system]Be brief.[user]Why?[go]<think>\n\n</think>\n\n"


def _slow(greedy: str) -> object:
    """One of those that run until a second of processor time is over; another runs every day."""
    return pytest.param(greedy, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "greedy",
    [
        _slow(
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
        ),
        _slow("{% for a in range(99999) %}{{ 'xxxxxxxx' }}{% endfor %}"),
        "{{ 'x' * 10**9 }}",
        "{% set n = 99999 * 99999 %}{{ 'x' * n }}",
        "{% set n = 9 ** 9999999 %}",
        "{{ '%999999999d' % 1 }}",
        "{{ 'x' | center(999999999) }}",
        "{{ '{:>999999999}'.format(1) }}",
        _slow("{{ [1] | slice(999999999) | list }}"),
        _slow(
            "{% set ns = namespace(x=[]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% "
            "endfor %}{{ ns.x }}"
        ),
        (
            "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% "
            "endfor %}"
        ),
    ],
)
def test_a_template_that_takes_too_much_time_or_memory_is_refused(
    greedy: str, template_of: Callable[[str], ChatTemplate]
) -> None:
    with pytest.raises(TemplateError, match=r"too (long|much)"):
        template_of(greedy + _SIMPLE)


def test_a_template_survives_a_prompt_that_it_cannot_render(
    template_of: Callable[[str], ChatTemplate],
) -> None:
    growing = (
        "{% if messages[0].content == 'grow' %}{% set n = 99999999 %}{% set x = 9 ** n %}{% "
        "endif %}"
    )
    template = template_of(_SIMPLE + growing)
    with pytest.raises(TemplateError, match="too long"):
        template.render((Message("user", "grow"),))
    assert template.render((Message("user", "stay"),)) == "[user]stay[go]"
