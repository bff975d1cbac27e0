"""Tokens are counted without a model as llama.cpp counts them, for every supported vocabulary."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gistread.engine.llama.token_counter import SUPPORTED, TokenCounter, counter_of
from gistread.engine.llama.vocabulary import read_vocabulary
from tests.book.data import needs_books, text_book
from tests.vocabularies import CONTROL, NORMAL, PIECES, USER_DEFINED, LlamaVocabulary, trained, write_vocabulary

ADDED = {"<tool>": USER_DEFINED, "<tool><pad>": USER_DEFINED, "   ": USER_DEFINED, "<|end|>": CONTROL}
MOST_TEXTS = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from((1, 1, 1, 2, 3, 7))), max_size=40).map(
    lambda drawn: "".join(piece * times for piece, times in drawn)
)
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Both = tuple[TokenCounter, LlamaVocabulary]


@pytest.fixture(scope="session", params=SUPPORTED)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A counter and llama.cpp over one vocabulary of each kind, with tokens that were added to it."""
    path = tmp_path_factory.mktemp("vocabulary") / "kind.gguf"
    return opened(write_vocabulary(path, request.param, trained(1), more=ADDED))


def opened(path: Path) -> Both:
    counter = counter_of(read_vocabulary(path))
    assert counter is not None
    return counter, LlamaVocabulary(path)


def drawn_text(source: random.Random) -> str:
    return "".join(source.choice(PIECES) * source.choice((1, 1, 2, 7)) for _ in range(source.randrange(1, 40)))


def assert_same(both: Both, text: str) -> None:
    counter, llama = both
    expected = llama.tokens(text)
    assert counter.tokens(text) == expected
    assert counter.count(text) == len(expected)


@MANY
@given(text=MOST_TEXTS)
@example(text="")
@example(text=" " * 9000 + "x" + "\n" * 9000 + "7")
@example(text="I'm SURE WE'LL go'D, 'tis she's 'Re 's")
@example(text="1234567 12 345 ½²Ⅷ٣१ 1,000,000")
def test_texts_on_which_the_rules_differ_are_counted_alike(both: Both, text: str) -> None:
    assert_same(both, text)


@MANY
@given(text=st.text())
def test_any_text_is_counted_alike(both: Both, text: str) -> None:
    assert_same(both, text)


def test_the_verification_samples_are_counted_alike(both: Both) -> None:
    for sample in both[0].samples():
        assert_same(both, sample)


def test_added_tokens_are_found_in_a_text_and_control_tokens_are_text(both: Both) -> None:
    for text in ("a<tool>b", "<tool><pad><tool>", "x    y   z", "<|end|>", "<tool", "<tool><tool><pad>x"):
        assert_same(both, text)


@pytest.mark.slow
def test_every_character_has_the_class_that_llama_cpp_gives_it(both: Both) -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    for at in range(0, len(characters), 1024):
        forms = (f"a{c}a1{c}1!{c}! {c} {c}a\n{c}\na {c}1 {c}!'{c}s" for c in characters[at : at + 1024])
        assert_same(both, "".join(forms))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("pre", [pre for pre in SUPPORTED if pre != "llama-bpe"])
def test_unreachable_merges_are_ignored(pre: str, seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    both = opened(
        write_vocabulary(tmp_path / "strange.gguf", pre, trained(seed, 200, skipped=0.3), more={"zqj": NORMAL})
    )
    for _ in range(100):
        assert_same(both, drawn_text(source))


@pytest.mark.parametrize("pre", SUPPORTED)
def test_bytes_that_the_vocabulary_lacks_are_left_out(pre: str, tmp_path: Path) -> None:
    merges = trained(2, 200)
    used = set("".join(merges))
    lacking = [token for token in "ABCXYZ%&0123456789" if token not in used]
    assert lacking
    both = opened(write_vocabulary(tmp_path / "few.gguf", pre, merges, lacking=lacking))
    for text in ("ABC and XYZ", "100 % of 2&3", "%%", "A"):
        assert_same(both, text)


def test_a_word_that_is_a_token_is_that_token_by_the_rule_that_says_so(tmp_path: Path) -> None:
    words = {"zqjxk": NORMAL, "Ġzqjxk": NORMAL}
    both = opened(write_vocabulary(tmp_path / "whole.gguf", "llama-bpe", ["a b"], more=words))
    for text in ("zqjxk", "a zqjxk b", "zqjxkz", " zqjxk's"):
        assert_same(both, text)


@pytest.mark.parametrize(
    ("pre", "merges", "more", "why"),
    [
        ("deepseek-llm", ["a b"], {}, "a rule that is not known"),
        ("default", ["a b"], {}, "no rule is named"),
        ("llama-bpe", ["a b"], {"zq": NORMAL}, "tiktoken would merge z and q in other words too"),
        ("gpt-2", ["ab c", "a b"], {}, "a pair before the one that makes a part of it"),
        ("gpt-2", ["a b c"], {}, "no pair"),
    ],
)
def test_texts_that_may_differ_are_left_to_llama_cpp(
    pre: str, merges: list[str], more: dict[str, int], why: str, tmp_path: Path
) -> None:
    path = write_vocabulary(tmp_path / "other.gguf", pre, merges, more=more)
    assert counter_of(read_vocabulary(path)) is None, why


def test_a_merge_without_a_token_is_left_to_llama_cpp(tmp_path: Path) -> None:
    path = write_vocabulary(tmp_path / "other.gguf", "gpt-2", ["a b", "c d"], lacking=["cd"])
    assert counter_of(read_vocabulary(path)) is None


def test_very_long_white_space_is_left_to_llama_cpp(both: Both) -> None:
    for gap in (" " * 2_000_000, "\n " * 700_000):
        assert both[0].count("begin" + gap + "end") is None


def test_long_words_are_counted_in_time(both: Both) -> None:
    for piece in ("a", "7", "!", "é", "中"):
        assert (both[0].count(piece * 300_000) or 0) > 0


def test_tiktoken_downloads_nothing(tmp_path: Path) -> None:
    path = write_vocabulary(tmp_path / "kind.gguf", "qwen2", trained(1, 50))
    program = f"""
import asyncio, socket, sys
def trap(*arguments, **named): raise AssertionError("a socket")
socket.socket = socket.create_connection = socket.getaddrinfo = trap
from pathlib import Path
from gistread.engine.llama.token_counter import counter_of
from gistread.engine.llama.vocabulary import read_vocabulary
counter = counter_of(read_vocabulary(Path({str(path)!r})))
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
