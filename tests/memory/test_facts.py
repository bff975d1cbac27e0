"""Atomic facts and the graph of what they name: guarded, normalised, and no page lost."""

from pathlib import Path

import pytest

from gistread.engine.protocol import NO_USAGE, Completion
from gistread.memory.derived import DerivedRecords
from gistread.memory.facts import Fact, build, elements_in, known_facts
from gistread.memory.graph import build_graph
from gistread.memory.model import GistMemory
from tests.fake_engine import FakeEngine, Say
from tests.readers.memories import FACTS, make_memory


def listing(text: str) -> Say:
    """The fact of the page, as a good model would list it."""
    fact = next(fact for fact in FACTS if fact in text)
    return f"- {fact} | {'; '.join(elements_in(fact))}\n"


async def facts_of(memory: GistMemory, fake: FakeEngine) -> tuple[Fact, ...]:
    async for _ in build(memory, fake):
        pass
    return known_facts(memory)


async def test_every_page_has_facts_in_the_order_of_the_book() -> None:
    facts = await facts_of(make_memory(), FakeEngine(says=listing))
    assert [fact.page for fact in facts] == list(range(1, 9))
    assert [fact.text for fact in facts] == list(FACTS)
    assert "Ferrand" in facts[7].elements


async def test_facts_follow_a_grammar() -> None:
    fake = FakeEngine(says=listing)
    await facts_of(make_memory(), fake)
    assert all("root ::= line{1,14}" in call.sampling.grammar for call in fake.calls)


@pytest.mark.parametrize(
    "said",
    [
        "Nonsense without any form at all.",
        "",
        "- Napoleon and Wellington met in Brussels at Waterloo. | Napoleon; Wellington\n",
        "- Ann met Tom in Rome in May. | Ann; Tom; Rome\n",
        "- The cat sat down upon nothing. | cat\n",
    ],
)
async def test_sentences_stand_in_for_a_page_without_usable_facts(said: str) -> None:
    memory = make_memory()
    facts = await facts_of(memory, FakeEngine(says=lambda _: said))
    assert {fact.page for fact in facts} == set(range(1, 9))
    for fact in facts:
        assert fact.text in " ".join(memory.text_of(memory.entry(fact.page).page).split())


async def test_a_line_that_was_cut_off_is_left_out() -> None:
    said = Completion(f"- {FACTS[0]} | Martha; Saltness\n- {FACTS[0][:30]} | Mar", "length", NO_USAGE)
    facts = await facts_of(make_memory(1, 1), FakeEngine(says=[said]))
    assert [fact.text for fact in facts] == [FACTS[0]]


async def test_facts_are_stored_and_a_stopped_extraction_resumes(tmp_path: Path) -> None:
    memory, again = make_memory(), make_memory()
    memory.derived = DerivedRecords(tmp_path / "x.derived")
    going = build(memory, FakeEngine(says=listing))
    for _ in range(3):
        await anext(going)
    await going.aclose()
    again.derived = DerivedRecords(tmp_path / "x.derived")
    fake = FakeEngine(says=listing)
    assert [fact.text for fact in await facts_of(again, fake)] == list(FACTS)
    assert 0 < len(fake.calls) <= 5
    once_more = FakeEngine(says=listing)
    assert await facts_of(again, once_more) == await facts_of(again, FakeEngine(says=listing))
    assert once_more.calls == []


def fact(text: str, *elements: str, page: int = 1) -> Fact:
    return Fact(page, text, elements)


def test_forms_of_one_element_are_one_node() -> None:
    graph = build_graph(
        (
            fact("a", "The Time Traveller", "machine"),
            fact("b", "time traveller's", "machines"),
            fact("c", "Filby"),
            fact("d", "a machine", "Filby"),
        ),
        "en",
    )
    names = {element.name: element for element in graph.values()}
    assert len(graph) == 3
    assert [one.text for one in names["machine"].facts] == ["a", "b", "d"]
    assert [graph[key].name for key in names["machine"].neighbours] == ["The Time Traveller", "Filby"]


def test_a_surname_belongs_to_the_one_full_name_that_ends_with_it() -> None:
    graph = build_graph(
        (
            fact("a", "Benjamin Bathurst"),
            fact("b", "Bathurst"),
            fact("c", "Martha Quill"),
            fact("d", "Ann Quill"),
            fact("e", "Quill"),
        )
    )
    names = {element.name: [one.text for one in element.facts] for element in graph.values()}
    assert names == {"Benjamin Bathurst": ["a", "b"], "Martha Quill": ["c"], "Ann Quill": ["d"], "Quill": ["e"]}


def test_near_equal_names_are_one_and_near_equal_numbers_are_not() -> None:
    graph = build_graph(
        (fact("a", "Weena Morlock"), fact("b", "Weena Morlok"), fact("c", "180900"), fact("d", "180800"))
    )
    assert len(graph) == 3


def test_names_in_other_scripts_are_not_merged() -> None:
    graph = build_graph((fact("a", "李明", "Наташа"), fact("b", "王伟", "Наташе"), fact("c", "עברית")), "ru")
    assert len(graph) == 4


def test_a_fact_without_elements_has_no_node() -> None:
    assert build_graph((fact("a"), fact("b", "!!!", "  "))) == {}


def test_two_hyphens_are_a_dash_and_one_is_part_of_a_name() -> None:
    named = elements_in("A telegram came from Holmes last Tuesday--he was at Poldhu-on-Sea with Dr. Moore Agar.")
    assert {"Holmes", "Tuesday", "Poldhu-on-Sea"} <= set(named)
    assert not any("--" in name for name in named)
