"""Counts tokens without a loaded model: a tiktoken encoding built from a GGUF file's vocabulary, and verified.

Byte-level BPE is fully determined by the file: bytes, ranked merges, and the name of the pre-tokenization rule.
tiktoken is many times faster than llama.cpp. Both must agree on every text, so only vocabularies and texts known to
agree are handled; llama.cpp counts the rest. tiktoken's own encodings, which it would download, are not used.
"""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.engine.llama.vocabulary import ALPHABET, Vocabulary, merged_tokens, read_vocabulary, token_bytes
from gistread.errors import GistreadError

if TYPE_CHECKING:
    from tiktoken import Encoding


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: str  # For tiktoken. Must match all of any text: unmatched text would be lost.
    whole_words: bool = False  # Whether a word that is a token is not merged


# Letters, digits and marks as in llama.cpp's tables, of Unicode 15.1.
_L, _N, _M = (rf"[\p{{{name}}}&&\p{{Age:15.1}}]" for name in "LNM")
_CONTRACTIONS = "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

# Words come first if no other alternative can match there: twice as fast.
_GPT2 = _Rule(rf" ?{_L}+|'(?:[stmd]|re|ve|ll)| ?{_N}+| ?[^\s{_L}{_N}]+|\s+(?!\S)|\s+")
# llama.cpp splits off each digit first and then the text between, so spaces before a digit stay together.
_DIGITS_ALONE = _Rule(rf" ?{_L}+|'(?:[stmd]|re|ve|ll)|{_N}| ?[^\s{_L}{_N}]+|\s+(?![^\s{_N}])|\s+")
_LLAMA3 = _Rule(
    rf"{_CONTRACTIONS}|[^\r\n{_L}{_N}]?{_L}+|{_N}{{1,3}}| ?[^\s{_L}{_N}]+[\r\n]*|{_SPACES}", whole_words=True
)
_QWEN2 = _Rule(rf"{_CONTRACTIONS}|[^\r\n{_L}{_N}]?{_L}+|{_N}| ?[^\s{_L}{_N}]+[\r\n]*|{_SPACES}")
_QWEN35 = _Rule(rf"{_CONTRACTIONS}|[^\r\n{_L}{_N}]?[{_L}{_M}]+|{_N}| ?[^\s{_L}{_M}{_N}]+[\r\n]*|{_SPACES}")

_RULES = {
    "command-r": _DIGITS_ALONE,
    "gpt-2": _GPT2,
    "llama-bpe": _LLAMA3,
    "qwen2": _QWEN2,
    "qwen35": _QWEN35,
    "refact": _DIGITS_ALONE,
    "smollm": _DIGITS_ALONE,
    "starcoder": _DIGITS_ALONE,
}

_METHOD = "gpt2"
# In models with such a title, llama.cpp strips spaces next to added tokens.
_UNSUPPORTED_TITLES = ("phi-3", "phi3", "modern-bert")
_LONG_SPACE = 50_000  # Characters. tiktoken panics on a million spaces in a row, and prints that over the screen.
_WORD = re.compile(r"[\W_]?[^\W\d_]+|\w{1,3}|[\W_]+")  # A superset of single words under a `whole_words` rule
_PARTS = 3  # A word that merges do not produce must leave this many parts: tiktoken would join two

_SAMPLED_WORDS = 1000
_SAMPLES = (
    "I'm sure WE'LL say it's 'tis; they'Re, don'T, you'vE, 'd, s' ’s ’ll 'ſ",
    "In 1812, 3.14159 and 1,000,000 or 12th: ½ ² Ⅷ ٣٤٥ १२३ ߁, 007x8 9",
    "  two   three\n\n\n four\r\n\r\n\tfive \n six  \n  7  8   ",
    "trailing \u00a0\u2003no-break\u2028line\u2029paragraph\x85next \u200b\ufeff\x1c\x0b\x00\x7f end\n",
    "“Well,” he said—“…!?”—_so_ *it* <is> [1] {2} #3 ~~~ === ---\n/// \\ @x &c. $5 100% a+b=c^d|e `f`",
    "naïve café e\u0301te\u0301 Ελληνικά Русский עִבְרִית العَرَبِيَّة हिन्दी ไทย 한국어 İstanbul ǅ ß",
    "我们读一本长书。第１２３页，「好」吗？ 日本語のカタカナ・ひらがな。",
    "🙂👩‍👩‍👧🏽 🇫🇷 \U0001f600\ufe0f ♥️ ∑∫√ ←→ \ue000 \U0010ffff",
    # Letters and digits added in Unicode 15, 16 and 17.
    "\U00011f02a\U0001e4d0b 1\u1c89c 2\U00010d40d 3\U00016130 4\U00011bc0 5\ua7cb x\ua7dc 6\u088f 7\U00010940",
)

SUPPORTED = tuple(_RULES)

_IN_THREAD_FROM = 2000  # Characters. Longer texts are counted in a thread.


class TokenCounter:
    """Tokenizes texts with one vocabulary as llama.cpp does, without parsing control tokens."""

    def __init__(self, encoding: "Encoding", ids: Sequence[int], added: Mapping[str, int]) -> None:
        """`ids`: token ids by rank; -1 for a byte missing from the vocabulary. `added`: user-defined tokens by text."""
        self._encoding = encoding
        self._ids = ids
        self._lacks_bytes = -1 in ids
        # llama.cpp searches the whole text for the longest added token first.
        self._added = dict(sorted(added.items(), key=lambda item: -len(item[0].encode())))
        self._any_added = re.compile("|".join(map(re.escape, self._added))) if added else None

    def count(self, text: str) -> int | None:
        """Count tokens; None if only llama.cpp can. Callable from any thread."""
        pieces = self._pieces(text)
        return None if pieces is None else sum(1 if isinstance(piece, int) else self._length(piece) for piece in pieces)

    def tokens(self, text: str) -> list[int] | None:
        """The token ids, as `count`."""
        pieces = self._pieces(text)
        if pieces is None:
            return None
        tokens: list[int] = []
        for piece in pieces:
            tokens += [piece] if isinstance(piece, int) else self._tokens(piece)
        return tokens

    def samples(self) -> list[str]:
        """Texts to compare with llama.cpp: where rules differ, and words of this vocabulary."""
        words = [token for token in self._ids if token >= 0]
        ranks = range(0, len(words), max(1, len(words) // _SAMPLED_WORDS))
        drawn = [self._encoding.decode_single_token_bytes(rank) for rank in ranks]
        return [*_SAMPLES, *self._added, b"".join(drawn).decode("utf-8", "replace")]

    def _length(self, piece: str) -> int:
        return len(self._tokens(piece) if self._lacks_bytes else self._encoding.encode_ordinary(piece))

    def _tokens(self, piece: str) -> list[int]:
        tokens = [self._ids[rank] for rank in self._encoding.encode_ordinary(piece)]
        return [token for token in tokens if token >= 0] if self._lacks_bytes else tokens

    def _pieces(self, text: str) -> list[str | int] | None:
        """Split a text at added tokens, replaced by their ids; None if it has too long a run of spaces."""
        if any(text[at : at + _LONG_SPACE].isspace() for at in range(0, len(text) - _LONG_SPACE, _LONG_SPACE)):
            return None
        # llama.cpp gets a lone surrogate as a question mark (`worker/weights.py`).
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()
        if self._any_added is None or not self._any_added.search(text):
            return [text]
        pieces: list[str | int] = [text]
        for added, token in self._added.items():
            divided: list[str | int] = []
            for piece in pieces:
                if isinstance(piece, int) or added not in piece:
                    divided.append(piece)
                    continue
                before, *others = piece.split(added)
                divided.append(before)
                for other in others:
                    divided += (token, other)
            pieces = divided
        return pieces


def counter_of(vocabulary: Vocabulary) -> TokenCounter | None:
    """Build a counter; None if it might differ from llama.cpp. Takes a second for 150,000 tokens."""
    rule = _RULES.get(vocabulary.pre)
    if (
        rule is None
        or vocabulary.model != _METHOD
        or any(name in vocabulary.title.lower() for name in _UNSUPPORTED_TITLES)
    ):
        return None
    try:
        merged = merged_tokens(vocabulary.merges)
        ids = {text.decode("utf-8", "replace"): token for token, text in enumerate(vocabulary.tokens)}
        missing = [text for text in merged if text not in ids]
        added = [text.decode() for text in vocabulary.added]
    except ValueError:
        return None
    if missing:  # llama.cpp would substitute other tokens
        return None
    texts = [*ALPHABET, *merged]
    encoding = _encoding(rule.pattern, texts)
    if rule.whole_words and (words := _other_words(ids, {*texts, *added})):
        if any(len(encoding.encode_ordinary(token_bytes(word).decode())) < _PARTS for word in words):
            return None
        texts += words
        encoding = _encoding(rule.pattern, texts)
    return TokenCounter(encoding, [ids.get(text, -1) for text in texts], {text: ids[text] for text in added if text})


def _encoding(pattern: str, texts: Sequence[str]) -> "Encoding":
    from tiktoken import Encoding  # the encodings that tiktoken registers would be downloaded

    ranks = {token_bytes(text): rank for rank, text in enumerate(texts)}
    return Encoding("gistread", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def _other_words(ids: Iterable[str], known: Container[str]) -> list[str]:
    words: list[str] = []
    for text in ids:
        if text not in known:
            with contextlib.suppress(UnicodeError):  # not a word
                if _WORD.fullmatch(token_bytes(text).decode()):
                    words.append(text)
    return words


class VerifiedCounter:
    """Counts tokens in this process, once verified against llama.cpp on samples. Cheap to create; await `close`."""

    def __init__(self, path: Path, tokenize: Callable[[Sequence[str]], Awaitable[list[list[int]]]]) -> None:
        """`path`: the model file. `tokenize` asks llama.cpp, only while the model is loaded; raises EngineError."""
        self._path = path
        self._tokenize = tokenize
        self._building: asyncio.Task[TokenCounter | None] | None = None
        self._checking: asyncio.Task[bool] | None = None

    async def count(self, text: str, *, loaded: bool) -> int | None:
        """Count tokens; None if llama.cpp must. Without a loaded model the counter is used unverified."""
        counter = await self._verified() if loaded else await self._built()
        if counter is None:
            return None
        return counter.count(text) if len(text) <= _IN_THREAD_FROM else await asyncio.to_thread(counter.count, text)

    async def close(self) -> None:
        for task in (self._checking, self._building):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _built(self) -> TokenCounter | None:
        if self._building is None:
            self._building = asyncio.create_task(asyncio.to_thread(_build, self._path), name="token-counter")
        return await asyncio.shield(self._building)

    async def _verified(self) -> TokenCounter | None:
        if self._checking is None:
            self._checking = asyncio.create_task(self._agrees(), name="token-counter-check")
        return await self._built() if self._checking.done() and self._checking.result() else None

    async def _agrees(self) -> bool:
        counter = await self._built()
        if counter is None:
            return False
        samples = counter.samples()
        try:
            return await self._tokenize(samples) == [counter.tokens(sample) for sample in samples]
        except GistreadError:  # Requests that need the model report it.
            return False


def _build(path: Path) -> TokenCounter | None:
    try:
        return counter_of(read_vocabulary(path))
    except GistreadError:
        return None
