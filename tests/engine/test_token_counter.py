"""Tokens are counted without a model as llama.cpp counts them, for every supported vocabulary."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.token_counter import SUPPORTED, TokenCounter, read_counter
from tests.book.data import needs_books, text_book
from tests.tiny_gguf import write_tiny_gguf
from tests.vocabularies import (
    CONTROL,
    PIECES,
    USER_DEFINED,
    LlamaVocabulary,
    trained,
    write_vocabulary,
)

ADDED = {
    "<tool>": USER_DEFINED,
    "<tool><pad>": USER_DEFINED,
    "   ": USER_DEFINED,
    "<|end|>": CONTROL,
}
MOST_TEXTS = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from((1, 1, 1, 2, 3, 7))), max_size=40
).map(lambda drawn: "".join(piece * times for piece, times in drawn))
MANY = settings(max_examples=25)
Both = tuple[TokenCounter, LlamaVocabulary]


@pytest.fixture(scope="session", params=SUPPORTED)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Both:
    """A counter and llama.cpp over one vocabulary of each kind, with tokens added to it."""
    path = tmp_path_factory.mktemp("vocabulary") / "kind.gguf"
    return opened(write_vocabulary(path, request.param, trained(1), more=ADDED))


def opened(path: Path) -> Both:
    counter = read_counter(path)
    assert counter is not None
    return counter, LlamaVocabulary(path)


def assert_same(both: Both, text: str) -> None:
    counter, llama = both
    assert counter.count(text) == len(llama.tokens(text))


@MANY
@given(text=MOST_TEXTS)
@example(text="")
@example(text=" " * 9000 + "x" + "\n" * 9000 + "7")
@example(text="I'm SURE WE'LL go'D, 'tis she's 'Re 's")
@example(text="1234567 12 345 ½²Ⅷ٣१ 1,000,000")
def test_texts_on_which_the_rules_differ_are_counted_alike(
    both: Both, text: str
) -> None:
    assert_same(both, text)


@MANY
@given(text=st.text())
def test_any_text_is_counted_alike(both: Both, text: str) -> None:
    assert_same(both, text)


def test_added_tokens_are_found_in_a_text_and_control_tokens_are_text(
    both: Both,
) -> None:
    for text in (
        "a<tool>b",
        "<tool><pad><tool>",
        "x    y   z",
        "<|end|>",
        "<tool",
        "<tool><tool><pad>x",
    ):
        assert_same(both, text)


@pytest.mark.slow
def test_every_character_has_the_class_that_llama_cpp_gives_it(both: Both) -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    for at in range(0, len(characters), 1024):
        forms = (
            f"a{c}a1{c}1!{c}! {c} {c}a\n{c}\na {c}1 {c}!'{c}s"
            for c in characters[at : at + 1024]
        )
        assert_same(both, "".join(forms))


def test_long_words_are_counted_in_time(both: Both) -> None:
    for piece in ("a", "7", "!", "é", "中"):
        assert (both[0].count(piece * 100_000) or 0) > 0


def test_tiktoken_downloads_nothing(tmp_path: Path) -> None:
    path = write_vocabulary(tmp_path / "kind.gguf", "qwen2", trained(1, 50))
    program = f"""
import asyncio, socket, sys
def trap(*arguments, **named): raise AssertionError("a socket")
socket.socket = socket.create_connection = socket.getaddrinfo = trap
from pathlib import Path
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.token_counter import read_counter
counter = read_counter(Path({str(path)!r}))
assert counter.count("No text of anybody's.") > 3
import tiktoken.registry
assert not tiktoken.registry.ENCODINGS and tiktoken.registry.ENCODING_CONSTRUCTORS is None
assert "tiktoken_ext.openai_public" not in sys.modules and "requests" not in sys.modules
assert "llama_cpp" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@needs_books
def test_a_book_is_counted_alike_in_the_starters_vocabulary(starter: Path) -> None:
    both = opened(starter)
    for name in ("Time-Machine", "Amontillado"):
        assert_same(both, text_book(name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("rule", "is_loaded"), [("gpt-2", False), ("falcon", True)])
async def test_a_model_is_loaded_only_to_count_in_an_unsupported_vocabulary(
    tmp_path: Path, rule: str, is_loaded: bool
) -> None:
    text = "The mule, the inn; 12 lamps.\n\nThen the 3rd."
    engine = LlamaEngine(
        write_tiny_gguf(tmp_path / "tiny.gguf", tokenizer__ggml__pre=rule)
    )
    try:
        assert await engine.count(text) == len(text) - text.count("th")
        assert (engine.worker_pid is not None) is is_loaded
    finally:
        await engine.close()
