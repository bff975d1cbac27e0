"""The next step is always a legal one, and everything before the model fits its window."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import LoadOptions
from research.web.acting import act
from research.web.model import Action, Operation, WebPage
from research.web.snippets import read_page
from tests.fake_engine import FakeEngine
from tests.research.web.pages import SHOP
from tests.tiny_gguf import write_tiny_gguf

GIST = (
    "This part of the shop shows kettles and teapots with their prices, and a button to put each "
    "into the basket."
)

EVERY = ("Part 1", "Part 2", "Part 3")


def shop(copies: int = 1) -> WebPage:
    body = SHOP.partition("<body>")[2].partition("</body>")[0]
    return read_page(f"<html><body>{body * copies}</body></html>".encode(), "shop.html")


def chapters(count: int = 8) -> WebPage:
    """Sections that are all long enough to be shortened, with two links each."""
    words = (
        "The kettle of this chapter boils on gas and on induction, and its lid does not rattle. "
        * 6
    )
    parts = (
        (
            f'<section><h2>Part {n}</h2><p>{words}</p><a href="/{n}/a">Buy {n}</a> <a '
            f'href="/{n}/b">Ask {n}</a></section>'
        )
        for n in range(count)
    )
    return read_page(
        f"<html><body>{''.join(parts)}</body></html>".encode(), "chapters.html"
    )


async def action_of(page: WebPage, engine: FakeEngine) -> Action:
    return await act(page, "Buy the red kettle", [], engine, lambda line: None)


def choosing(*preferred: str) -> FakeEngine:
    """An engine that answers with the first of these that is offered."""

    def choose(_: str, options: Sequence[str]) -> int | str:
        return next(
            (option for option in preferred if option in options), len(options) - 1
        )

    return FakeEngine(
        chooses=choose, says=lambda text: GIST if "shop" in text[:2000] else "green tea"
    )


async def test_a_link_is_clicked_with_nothing_to_type() -> None:
    action = await action_of(shop(), choosing(*EVERY, "Element 6", "click"))
    assert (action.element.name, action.operation, action.value) == (
        "Red enamel kettle",
        Operation.CLICK,
        "",
    )


async def test_a_list_is_asked_for_one_of_its_options() -> None:
    engine = choosing(*EVERY, "Element 12", "Belgium")
    action = await action_of(shop(), engine)
    assert (action.operation, action.value) == (Operation.SELECT, "Belgium")
    assert engine.calls[-1].options == ("France", "Belgium")


async def test_what_is_typed_is_one_line_of_free_text() -> None:
    engine = choosing(*EVERY, "Element 4", "type")
    engine._says = lambda text: "green tea"
    action = await action_of(shop(), engine)
    assert (action.operation, action.value) == (Operation.TYPE, "green tea")
    assert engine.calls[-1].sampling.grammar
    assert engine.calls[-1].prompt[-1].content == 'Element 4, type: "'


async def test_snippets_are_opened_and_only_then_acted_on() -> None:
    page = chapters()
    steps: list[str] = []
    engine = choosing("Part 3", "Part 1")
    action = await act(page, "Buy the red kettle", [], engine, steps.append)
    assert action.lookups[:2] == (3, 1)
    assert "1. part 3 of 8" in steps
    whole = {
        index for number in action.lookups for index in page.snippet(number).elements
    }
    step = next(
        call
        for call in engine.calls
        if call.options and call.options[0].startswith("Element")
    )
    assert {int(option.removeprefix("Element ")) for option in step.options} == whole
    assert 0 < action.compression_rate < 100


@pytest.mark.parametrize("context_tokens", [700, 1200, 3000])
async def test_a_page_larger_than_the_window_is_told_in_part_and_never_beyond_it(
    context_tokens: int,
) -> None:
    engine = choosing("Element 1")
    engine._info = FakeEngine(context_tokens=context_tokens).info
    page = shop(40)
    action = await action_of(page, engine)
    assert 0 < len(action.shown) < len(page.snippets)


@pytest.fixture
async def tiny(tmp_path: Path) -> AsyncIterator[LlamaEngine]:
    engine = LlamaEngine(
        write_tiny_gguf(tmp_path / "tiny.gguf"),
        log=tmp_path / "worker.log",
        options=LoadOptions(context_tokens=2048),
    )
    await engine.start()
    yield engine
    await engine.close()


@pytest.mark.parametrize(
    "task",
    [
        "Buy the red kettle",
        *(
            pytest.param(task, marks=pytest.mark.slow)
            for task in ("Find the jobs", "茶を買う", "x")
        ),
    ],
)
async def test_whatever_a_model_says_the_step_is_legal(
    tiny: LlamaEngine, task: str
) -> None:
    page = shop()
    action = await act(page, task, [], tiny, lambda line: None)
    assert action.element in page.elements
    assert action.operation in action.element.operations
    match action.operation:
        case Operation.CLICK:
            assert action.value == ""
        case Operation.SELECT:
            assert action.value in action.element.options
        case Operation.TYPE:
            assert action.value
            assert "\n" not in action.value
    assert action.usage.prefilled + action.usage.reused > 0
