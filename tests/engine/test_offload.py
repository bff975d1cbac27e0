"""Idle sequences are offloaded from the cache and restored exactly, so that nothing is evaluated twice."""

import asyncio
import random

import numpy as np
import pytest

from gistread.engine.llama.fit import LoadOptions
from gistread.engine.llama.worker.offload import EvictionRank, Offload, OffloadedPrefix
from gistread.engine.protocol import Priority
from tests.engine.conftest import StartEngine, TinyModel
from tests.engine.fresh_model import FreshModel, passage
from tests.engine.test_prefix_reuse import ask
from tests.tiny_architectures import write_attention

WINDOW = 1024
PARTS = 8
PART_WORDS = 120
"""Some 700 tokens."""
RESTING = 1024
"""Cells that may be in use beside what runs."""


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    """A model with rollback; sequences of others are not offloaded."""
    path = write_attention(tmp_path_factory.mktemp("models") / "tiny.gguf", 1)
    return TinyModel(path, FreshModel(path), can_roll_back=True)


def offloaded(tokens: str, *, store: Offload, rank: EvictionRank = EvictionRank.INTERACTIVE) -> bool:
    """Offload the new ones of these tokens, a byte each. False without room."""
    known = store.find(as_tokens(tokens))
    room = store.make_room(len(tokens) - known.length, known, rank)
    if room:
        state = np.frombuffer(tokens[known.length :].encode(), dtype=np.uint8)
        store.add(as_tokens(tokens), state, known, rank)
    return room


def as_tokens(text: str) -> list[int]:
    return list(text.encode())


def brought_back(found: OffloadedPrefix) -> str:
    """The tokens restored from these pieces, each up to the start of the next."""
    ends = [*(piece.start for piece in found.runs[1:]), found.length]
    pieces = zip(found.runs, ends, strict=True)
    return "".join(bytes(piece.state[: end - piece.start]).decode() for piece, end in pieces)


def test_the_longest_offloaded_prefix_is_found() -> None:
    store = Offload()
    for tokens in ("the mule went home", "the mule went over", "the mule", "an inn", "the mule went over a pass"):
        offloaded(tokens, store=store)
    for wanted in ("the mule went over a hill", "the mule went home", "the mule waits", "an", "the mule went hot"):
        found = store.find(as_tokens(wanted))
        assert brought_back(found) == wanted[: found.length]
    assert store.find(as_tokens("the mule went over a hill")).length == len("the mule went over a ")
    assert store.find(as_tokens("a")).length == 1
    assert store.find(as_tokens("no mule")) == OffloadedPrefix((), 0)


def test_a_shared_prefix_is_offloaded_once() -> None:
    store = Offload()
    offloaded("the mule went home", store=store)
    offloaded("the mule went over", store=store)
    assert store.size == len("the mule went home") + len("over")
    offloaded("the mule", store=store)
    assert store.size == len("the mule went home") + len("over")


def test_the_least_recently_used_prefix_is_evicted_but_never_one_that_others_extend() -> None:
    store = Offload(limit_bytes=12)
    for tokens in ("abcd", "abcdef", "xyz"):
        offloaded(tokens, store=store)
    store.use(store.find(as_tokens("abcd")))
    offloaded("12345", store=store)  # takes the place of the two that go on from `abcd`
    assert [store.find(as_tokens(tokens)).length for tokens in ("abcdef", "xyz", "12345")] == [4, 3, 5]
    assert store.size == 12
    offloaded("t" * 13, store=store)
    assert store.find(as_tokens("t")) == OffloadedPrefix((), 0)


def test_prefixes_of_background_work_are_evicted_first_and_limited() -> None:
    store = Offload(limit_bytes=40)
    offloaded("a person's", store=store)
    left = "ABCDEFGHIJKLMNOP"
    for letter in left:
        offloaded(letter, store=store, rank=EvictionRank.BACKGROUND)
    assert [letter for letter in left if store.find(as_tokens(letter)).length] == list(left[-8:])
    offloaded("0123456789" * 3, store=store)
    assert not any(store.find(as_tokens(letter)).length for letter in left)
    assert store.find(as_tokens("a person's")).length == len("a person's")


def test_offloading_uses_only_a_share_of_free_memory() -> None:
    free = 800
    store = Offload(free_bytes=lambda: free)
    offloaded("a" * 100, store=store)
    free = 80
    offloaded("b" * 50, store=store)
    assert (store.size, store.find(as_tokens("b")).length) == (0, 0)


def test_pinned_prefixes_are_not_evicted_by_new_pins_or_by_other_requests() -> None:
    store = Offload(limit_bytes=100)
    held = [letter * 20 for letter in "abcd"]
    assert all(offloaded(tokens, store=store, rank=EvictionRank.PINNED) for tokens in held)
    assert not offloaded("e" * 20, store=store, rank=EvictionRank.PINNED)
    assert store.pinnable_bytes() == store.size == 80
    for number in range(9):  # Each takes the place of the one before it, and never of what is held.
        assert offloaded(f"{number}" * 15, store=store)
        assert store.use(store.find(as_tokens(held[number % 4]))) is None
    assert all(store.find(as_tokens(tokens)).length == 20 for tokens in held)
    assert offloaded("f" * 90, store=store)
    assert not any(store.find(as_tokens(tokens)).length for tokens in held)


def test_an_offloaded_prefix_is_pinned_without_a_second_copy() -> None:
    store = Offload(limit_bytes=100)
    for tokens in ("a" * 60, "b" * 30):
        offloaded(tokens, store=store)
    assert store.pin(store.find(as_tokens("a" * 60)))
    assert not store.pin(store.find(as_tokens("b" * 30)))
    offloaded("c" * 40, store=store)
    assert [store.find(as_tokens(letter * 60)).length for letter in "abc"] == [60, 0, 40]


async def test_repeated_long_prompts_beyond_the_cache_are_evaluated_once(model: TinyModel, start: StartEngine) -> None:
    dice, engine = random.Random(1), await start(model.path, options=LoadOptions(context_tokens=WINDOW))
    cells: list[int] = []
    engine.watch(lambda _: cells.append(engine.stats.cells))
    beginnings = [passage(dice, PART_WORDS) + " " for _ in range(PARTS)]
    first = [model.fresh.clear_question(dice, beginning) for beginning in beginnings]
    again = [model.fresh.clear_question(dice, beginning) for beginning in beginnings]
    assert sum(len(question.tokens) for question in first) > 5 * WINDOW
    for question in first:
        await ask(engine, question)
    for question, known in zip(again, first, strict=True):
        usage = await ask(engine, question)
        common = next(i for i, (a, b) in enumerate(zip(question.tokens, known.tokens, strict=False)) if a != b)
        assert usage.reused >= common
    longest = max(len(question.held) for question in (*first, *again))
    assert max(cells) <= longest + RESTING


async def test_offloading_during_running_and_interrupted_requests_changes_no_answer(
    model: TinyModel, start: StartEngine
) -> None:
    dice, engine = random.Random(2), await start(model.path, options=LoadOptions(context_tokens=WINDOW))
    beginnings = [passage(dice, 100) + " " for _ in range(6)]
    questions = [model.fresh.clear_question(dice, dice.choice(beginnings)) for _ in range(16)]
    for _ in range(2):
        some = dice.sample(questions, k=8)
        running = [asyncio.create_task(ask(engine, question, Priority.BACKGROUND)) for question in some]
        for question in dice.sample(questions, k=3):
            await ask(engine, question)
        await asyncio.gather(*running)
