"""Atomic facts and the graph of what they name: guarded, normalised, and no page lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.memory.derived import DerivedRecords
from gistread.memory.facts import Fact, build, build_graph, elements_in, known_facts
from gistread.memory.model import GistMemory, Page
from tests.fake_engine import FakeEngine, Say
from tests.memory.books import make_book
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
    "reply",
    [
        "Nonsense without any form at all.",
        "",
        "- Napoleon and Wellington met in Brussels at Waterloo. | Napoleon; Wellington\n",
        "- Ann met Tom in Rome in May. | Ann; Tom; Rome\n",
        "- The cat sat down upon nothing. | cat\n",
    ],
)
async def test_sentences_stand_in_for_a_page_without_usable_facts(reply: str) -> None:
    memory = make_memory()
    facts = await facts_of(memory, FakeEngine(says=lambda _: reply))
    assert {fact.page for fact in facts} == set(range(1, 9))
    for fact in facts:
        assert fact.text in " ".join(
            memory.text_of(memory.entry(fact.page).page).split()
        )


async def test_facts_are_stored_and_a_stopped_extraction_resumes(
    tmp_path: Path,
) -> None:
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
    assert await facts_of(again, once_more) == await facts_of(
        again, FakeEngine(says=listing)
    )
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
    assert [each.text for each in names["machine"].facts] == ["a", "b", "d"]
    assert [graph[key].name for key in names["machine"].neighbours] == [
        "The Time Traveller",
        "Filby",
    ]


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
    names = {
        element.name: [each.text for each in element.facts]
        for element in graph.values()
    }
    assert names == {
        "Benjamin Bathurst": ["a", "b"],
        "Martha Quill": ["c"],
        "Ann Quill": ["d"],
        "Quill": ["e"],
    }


def test_a_wife_is_not_her_husband() -> None:
    graph = build_graph(
        (
            fact("a", "Lady Fortunato"),
            fact("b", "Fortunato"),
            fact("c", "Fortunata"),
            fact("d", "crypt", "deep crypt"),
        ),
        "en",
    )
    assert {element.name for element in graph.values()} == {
        "Lady Fortunato",
        "Fortunato",
        "Fortunata",
        "crypt",
        "deep crypt",
    }


async def test_a_fact_may_name_whom_the_page_calls_he_or_i() -> None:
    book = make_book(
        [
            "Montresor met Fortunato at the carnival.",
            "I led him down, and he drank the wine.",
        ]
    )
    first, second = make_memory(2, 2).entries
    middle = book.text.index("I led")
    pages = [
        replace(first, page=Page(1, 0, middle, 6)),
        replace(second, page=Page(2, middle, len(book.text), 9)),
    ]
    memory = replace(make_memory(2, 2), book=book, entries=pages)
    named = "Montresor led Fortunato down."
    narrated = "The narrator led Fortunato down."

    def say(text: str) -> str:
        if "I led him" not in text.partition("---")[0]:
            return "- Montresor met Fortunato at the carnival. | Montresor; Fortunato; carnival\n"
        return f"- {named} | Montresor\n- {narrated} | narrator\n- He led Ann to Bruges. | Ann\n"

    facts = await facts_of(memory, FakeEngine(says=say))
    assert [fact.text for fact in facts if fact.page == 2] == [named, narrated]
