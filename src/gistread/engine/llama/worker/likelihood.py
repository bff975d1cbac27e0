"""How likely a given text is after a prompt, taken from the logits as they come.

A passage is judged by how likely the question is once it has been read (query likelihood; Sachan et al. 2022,
"Improving Passage Retrieval with Zero-Shot Question Generation", section 2.2). Knows logits, positions and tokens.
"""

from collections.abc import Sequence

import llama_cpp as llama
import numpy as np

from gistread.engine.llama.worker.context import Context


class Scorer:
    """Of one text after one prompt. What it took stays taken when the request is interrupted and goes on."""

    def __init__(self, prompt_tokens: int, continuation: Sequence[int]) -> None:
        """The prompt's length, and the tokens that follow it. Raises ValueError when there are none."""
        if not prompt_tokens or not continuation:
            raise ValueError("there is nothing to be likely")
        self._prompt_tokens = prompt_tokens
        self._continuation = list(continuation)
        self._logarithms: list[float] = []

    @property
    def evaluated(self) -> list[int]:
        """The tokens of the text that are evaluated after the prompt: all but the last, since nothing follows it."""
        return self._continuation[:-1]

    @property
    def length(self) -> int:
        """Tokens of the text."""
        return len(self._continuation)

    @property
    def next_position(self) -> int:
        """Position of the next token whose logits are wanted."""
        return self._prompt_tokens - 1 + len(self._logarithms)

    @property
    def mean(self) -> float:
        """Of the natural logarithms of the tokens' probabilities, once all have been taken."""
        return float(np.mean(self._logarithms))

    def take(self, context: Context, output: int, position: int) -> None:
        """Read how likely the token behind `position` is from the `output`-th token of the context's last batch."""
        assert position == self.next_position
        pointer = llama.llama_get_logits_ith(context.handle, output)
        logits = np.ctypeslib.as_array(pointer, shape=(context.weights.vocabulary,))
        highest = float(logits.max())
        total = highest + float(np.log(np.exp(logits - highest, dtype=np.float64).sum()))
        self._logarithms.append(float(logits[self._continuation[len(self._logarithms)]]) - total)
