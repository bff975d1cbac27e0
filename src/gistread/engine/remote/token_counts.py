"""How many tokens a text has, as far as that can be told from here: by asking the server, else by a cautious estimate.

What was counted is remembered: memory and readers count the same texts again and again, and each question is a way
there and back. An estimate depends on the text alone, so that a reading that goes on has the same prompts.
"""

import hashlib
import math
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from gistread.engine.protocol import Prompt
from gistread.engine.remote.dialects import Tokenizer
from gistread.engine.remote.failures import RequestRefusedError

_REMEMBERED = 20_000
"""Counts; a few megabytes."""
_FIRST_MESSAGE_TOKENS = 48
"""What a chat template puts around one message, system prompts of its own included, where it is not known."""
_MESSAGE_TOKENS = 8
"""What it puts around each further one."""
_PIECE = re.compile(r"[A-Za-z]+|[0-9]|[^\sA-Za-z0-9\u0080-\U0010ffff]|[\u0080-\u02af]|[\u02b0-\U0010ffff]|\n+")

Ask = Callable[[str, Any], Awaitable[Any]]
"""Posts JSON to a path of the server and returns its answer."""


def estimate(text: str) -> int:
    """Rather more tokens than this text has in the vocabularies in use: for what has to fit somewhere."""
    tokens = 0
    for piece in _PIECE.findall(text):
        if piece.isascii():
            tokens += math.ceil(len(piece) / 5)
        else:
            tokens += 1 if piece <= "\u2e7f" else 2
    return tokens


def estimate_prompt(prompt: Prompt) -> int:
    """Rather more tokens than the prompt has, with what an unknown chat template puts around its messages."""
    around = _FIRST_MESSAGE_TOKENS + _MESSAGE_TOKENS * (len(prompt) - 1)
    return sum(estimate(message.content) for message in prompt) + around


def surely(text: str) -> int:
    """No text has more tokens than bytes."""
    return len(text.encode())


class TokenCounts:
    """Counts for one model on one server."""

    def __init__(self, tokenizer: Tokenizer, model: str, ask: Ask, root: str = "") -> None:
        """`root`: the path below which the server's own endpoints lie."""
        self._tokenizer = tokenizer
        self._model = model
        self._ask = ask
        self._root = root
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._of_nothing = 0
        self._around = _FIRST_MESSAGE_TOKENS

    @property
    def exact(self) -> bool:
        """Whether the server counts."""
        return self._tokenizer is not Tokenizer.NONE

    async def check(self) -> None:
        """Find out whether the server counts, and what it counts of nothing (a token that begins every text)."""
        try:
            self._of_nothing = await self._asked("")
            if await self._asked("one") - self._of_nothing < 1:
                self._tokenizer = Tokenizer.NONE
        except (RequestRefusedError, LookupError, TypeError, ValueError):
            self._tokenizer = Tokenizer.NONE

    async def calibrate(self, prompt: Prompt, prompt_tokens: int) -> None:
        """Learn what the chat template puts around a message from what the server says of a whole prompt."""
        if self.exact and prompt_tokens:
            self._around = max(0, prompt_tokens - await self.count(prompt[0].content))

    async def count(self, text: str) -> int:
        """Tokens of this text alone."""
        if not text:
            return 0
        if not self.exact:
            return estimate(text)
        key = hashlib.blake2b(text.encode(), digest_size=16).digest()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        tokens = max(0, await self._asked(text) - self._of_nothing)
        self._known[key] = tokens
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return tokens

    async def measure(self, prompt: Prompt) -> int:
        """Tokens of the prompt with what the chat template puts around its messages."""
        counts = [await self.count(message.content) for message in prompt]
        return sum(counts) + self._around + _MESSAGE_TOKENS * (len(prompt) - 1)

    def at_most(self, prompt: Prompt) -> int:
        """What `measure` would say or more, without asking."""
        count = surely if self.exact else estimate
        return sum(count(message.content) for message in prompt) + self._around + _MESSAGE_TOKENS * (len(prompt) - 1)

    async def _asked(self, text: str) -> int:
        match self._tokenizer:
            case Tokenizer.LLAMA_SERVER:
                body = {"model": self._model, "content": text, "add_special": False, "parse_special": False}
                return len((await self._ask(f"{self._root}/tokenize", body))["tokens"])
            case Tokenizer.LLAMA_CPP_PYTHON:
                return int((await self._ask(f"{self._root}/extras/tokenize/count", {"input": text}))["count"])
            case Tokenizer.VLLM:
                body = {"model": self._model, "prompt": text, "add_special_tokens": False}
                answer = await self._ask(f"{self._root}/tokenize", body)
                return int(answer["count"] if "count" in answer else len(answer["tokens"]))
            case Tokenizer.NONE:
                return estimate(text)
