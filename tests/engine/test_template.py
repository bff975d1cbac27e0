"""Conversations are rendered by the model's template, with reasoning turned off."""

import subprocess
import sys

import pytest
from jinja2 import TemplateError

from gistread.engine.llama.worker.template import ChatTemplate
from gistread.engine.protocol import Message

_SIMPLE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[go]{% endif %}"
)
# A list that holds a list twice, which holds a list twice, and so on.
_ENDLESS = "{% set ns = namespace(x=[]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"
_ASK = (Message("system", "Be brief."), Message("user", "Why?"))


def rendered(source: str, prompt: tuple[Message, ...] = _ASK) -> str:
    return ChatTemplate(source, bos="<s>", eos="</s>").render(prompt)


def test_the_models_own_template_is_used() -> None:
    assert rendered(_SIMPLE) == "[system]Be brief.[user]Why?[go]"


def test_a_begun_answer_is_continued() -> None:
    assert rendered(_SIMPLE, (*_ASK, Message("assistant", "Page "))) == "[system]Be brief.[user]Why?[go]Page "


def test_a_model_without_a_template_gets_plain_text() -> None:
    assert rendered("") == "Be brief.\n\nWhy?\n\nAnswer:"


def test_a_template_without_system_messages_gets_them_with_the_question() -> None:
    source = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + _SIMPLE
    assert rendered(source) == "[user]Be brief.\n\nWhy?[go]"


def test_a_template_that_refuses_everything_is_an_error() -> None:
    with pytest.raises(TemplateError):
        rendered("{{ raise_exception('never') }}")


def test_thinking_is_turned_off_where_the_template_can() -> None:
    source = _SIMPLE + "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    assert rendered(source).endswith("[go]<think>\n\n</think>\n\n")


def test_an_opened_thought_is_closed() -> None:
    assert rendered(_SIMPLE + "<think>\n{# closes with </think> #}").endswith("[go]<think>\n\n</think>\n\n")


def test_a_model_that_thinks_unasked_begins_with_an_empty_thought() -> None:
    source = "{# strips </think> from history #}" + _SIMPLE
    assert rendered(source) == "[system]Be brief.[user]Why?[go]<think>\n\n</think>\n\n"


@pytest.mark.parametrize(
    "source",
    [
        "{% if %}",
        "{{ 1 / 0 }}",
        "{{ messages[9].content.upper() }}",
        "{{ messages | no_filter }}",
        "{{ nothing }}",
        "{% for m in messages %}{{ m.role }}{% endfor %}",
    ],
    ids=["syntax", "arithmetic", "index", "filter", "empty", "without what is said"],
)
def test_a_useless_template_is_an_error_at_load(source: str) -> None:
    with pytest.raises(TemplateError):
        ChatTemplate(source, bos="<s>", eos="</s>")


def test_generation_blocks_in_a_template_are_ignored() -> None:
    source = "{% for m in messages %}{% generation %}[{{ m.content }}]{% endgeneration %}{% endfor %}"
    assert rendered(source) == "[Be brief.][Why?]"


def test_a_blank_template_counts_as_none() -> None:
    assert rendered(" \n") == rendered("")


def test_a_template_runs_in_a_sandbox() -> None:
    with pytest.raises(TemplateError):
        rendered("{{ messages.__class__.__mro__[1].__subclasses__() }}")


@pytest.mark.parametrize(
    "greedy",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{{ 'xxxxxxxx' }}{% endfor %}",
        "{{ 'x' * 10**9 }}",
        "{% set n = 99999 * 99999 %}{{ 'x' * n }}",
        "{% set n = 9 ** 9999999 %}",
        "{{ '%999999999d' % 1 }}",
        "{{ 'x' | center(999999999) }}",
        "{{ '{:>999999999}'.format(1) }}",
        "{{ [1] | slice(999999999) | list }}",
        "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    ],
)
def test_a_template_that_takes_too_much_time_or_memory_is_refused(greedy: str) -> None:
    with pytest.raises(TemplateError):
        rendered(greedy + _SIMPLE)


def test_a_call_that_cannot_be_interrupted_ends_the_process() -> None:
    script = f"""
from tests.engine import test_template
from gistread.engine.llama.worker import template
template._MOST_S = 0.3
test_template.rendered({_ENDLESS!r} + test_template._SIMPLE)
"""
    ran = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith("Timeout")


def test_usual_arithmetic_is_allowed() -> None:
    assert rendered("{% if 3 % 2 == 1 and 2 ** 3 * 3 == 24 and '-' * 3 == '---' %}" + _SIMPLE + "{% endif %}")
