"""Vocabularies of byte-level BPE for tests, and llama.cpp's tokens.

They are small files that llama.cpp loads without weights.
"""

import ctypes
import functools
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import llama_cpp as llama

from tests.benchmarks.lowlevel import load
from tests.tiny_gguf import byte_tokens, metadata, write_gguf

NORMAL = 1
CONTROL = 3
USER_DEFINED = 4
PIECES = [
    *"abcdstremvlSTLDM019'’_!?.,<>-—“”",
    *(
        " ",
        "  ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "\x00",
        "\x0b",
        "\x1c",
        "\x7f",
        "\x85",
        "\xa0",
        "\u2003",
        "\u2028",
    ),
    *(
        "'s",
        "'LL",
        "'Re",
        " the",
        "The",
        "and",
        " ab",
        "12",
        "3.14",
        "...",
        "---",
        "<tool>",
        "<pad>",
        "<|end|>",
    ),
    *(
        "é",
        "e\u0301",
        "\u0301",
        "ſ",
        "ß",
        "ǅ",
        "中",
        "文",
        "こ",
        "한",
        "ע",
        "हि",
        "½",
        "²",
        "Ⅷ",
        "٣",
        "१",
    ),
    *(
        "🙂",
        "👩‍👩‍👧",
        "\u200b",
        "\ufeff",
        "\u180e",
        "\uffff",
        "\ue000",
        "\ud800",
        "\udc00",
        "\u1c89",
        "\U00010d40",
    ),
]
"""What texts are made of that rules differ on."""


@functools.cache
def trained(seed: int, merges: int = 400, *, skipped: float = 0.0) -> tuple[str, ...]:
    """Merges as training finds them, the commonest pair first.

    The seed draws texts of the pieces to train on. `skipped`: so large a share of the texts does
    not notice a merge: then some pairs can never come about.
    """
    source = random.Random(seed)
    bytes_as = byte_tokens()
    words = [_drawn(source, 6) for _ in range(300)]
    sequences = [
        [bytes_as[byte] for byte in word.encode("utf-8", "replace")] for word in words
    ]
    made = set(bytes_as)
    learned: list[str] = []
    while len(learned) < merges:
        pairs = Counter(pair for sequence in sequences for pair in pairwise(sequence))
        pair = next(
            (pair for pair, _ in pairs.most_common() if "".join(pair) not in made), None
        )
        if pair is None:
            break
        made.add("".join(pair))
        learned.append(" ".join(pair))
        sequences = [
            sequence if source.random() < skipped else _merged(sequence, pair)
            for sequence in sequences
        ]
    return tuple(learned)


def write_vocabulary(
    path: Path,
    pre: str,
    merges: Sequence[str],
    *,
    more: Mapping[str, int] | None = None,
    lacking: Iterable[str] = (),
) -> Path:
    """A file with a vocabulary and no weights.

    `more`: further tokens and their kinds. `lacking`: tokens left out.
    """
    kinds = dict.fromkeys(
        [*byte_tokens(), *(merge.replace(" ", "") for merge in merges)], NORMAL
    ) | dict(more or {})
    for token in lacking:
        del kinds[token]
    tokens = list(kinds)
    random.Random(1).shuffle(tokens)  # ids are not in the order of merges
    changes: dict[str, object] = {
        "tokenizer__ggml__pre": pre,
        "tokenizer__ggml__tokens": tokens,
        "tokenizer__ggml__token_type": [kinds[token] for token in tokens],
        "tokenizer__ggml__merges": list(merges),
    }
    return write_gguf(path, metadata(**changes), {})


class LlamaVocabulary:
    """llama.cpp's own tokens. It holds the file's vocabulary as long as the process lives."""

    def __init__(self, path: Path) -> None:
        self._handle = load(path, vocabulary_only=True)
        self._vocabulary = llama.llama_model_get_vocab(self._handle)

    def tokens(self, text: str) -> list[int]:
        """As the worker asks for them.

        No token is put before, control tokens in the text are text.
        """
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        buffer = (ctypes.c_int32 * room)()
        count = llama.llama_tokenize(
            self._vocabulary, data, len(data), buffer, room, False, False
        )
        assert count >= 0
        return buffer[:count]


def _drawn(source: random.Random, pieces: int) -> str:
    return "".join(source.choice(PIECES) for _ in range(pieces))


def _merged(sequence: list[str], pair: tuple[str, str]) -> list[str]:
    merged: list[str] = []
    for token in sequence:
        if merged and (merged[-1], token) == pair:
            merged[-1] += token
        else:
            merged.append(token)
    return merged
