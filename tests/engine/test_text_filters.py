"""Thoughts of reasoning models are no part of their text, whatever their tags and its pieces."""

import pytest

from gistread.engine.text_filters import ReasoningFilter, StopStringFilter

HARMONY = (
    "<|channel|>analysis<|message|>A "
    "colour?<|end|><|start|>assistant<|channel|>final<|message|>It is red.<|return|>"
)


def read(text: str, size: int, *, begun: bool = False, is_cut: bool = False) -> str:
    reasoning = ReasoningFilter(begun=begun)
    shown = ""
    for at in range(0, len(text), size):
        new, void = reasoning.feed(text[at : at + size])
        shown = new if void else shown + new
    return shown if is_cut else shown + reasoning.finish()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "It is red.",
        "<think>\nLet me see.</think>\n\nIt is red.",
        "Let me see.</think>\n\nIt is red.",
        "<thinking>A colour?</thinking>It is red.",
        "[THINK]A colour?[/THINK]It is red.",
        "<|START_THINKING|>A colour?<|END_THINKING|>It is red.",
        "<|channel>thought\nA colour?<channel|>It is red.",
        HARMONY,
        "analysisA colour is asked for.assistantfinalIt is red.",
        "It is <think>red? Yes.</think>red.",
    ],
)
def test_thoughts_are_left_out(text: str, size: int) -> None:
    assert read(text, size) == "It is red."


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_text_that_may_begin_in_a_thought_is_withheld(size: int) -> None:
    assert read("Let me see.</think>It is red.", size, begun=True) == "It is red."
    assert read("Let me see, it is", size, begun=True, is_cut=True) == ""
    assert read("It is red.", size, begun=True) == "It is red."


@pytest.mark.parametrize(
    "pieces",
    [
        ["It is red.\n(Page 3"],
        ["It is red.", "\n(", "Page", " 3"],
        ["It is red.\n(Pag", "e 3"],
    ],
)
def test_a_stop_string_is_found_however_the_text_is_cut_up(pieces: list[str]) -> None:
    stops = StopStringFilter(("\nQuestion:", "\n(Page "))
    assert "".join(map(stops.feed, pieces)) == "It is red."
    assert stops.stopped
