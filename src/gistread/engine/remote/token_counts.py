"""Counts tokens by asking the server, else by a high estimate that depends on the text alone."""

import hashlib
import math
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from gistread.engine.protocol import Prompt
from gistread.engine.remote.dialects import Tokenizer
from gistread.engine.remote.failures import RequestRefusedError

_CACHED = 20_000  # Cached counts; a few megabytes
_FIRST_MESSAGE_TOKENS = 48  # Assumed overhead of a chat template for one message, with its own system prompt
_MESSAGE_TOKENS = 8  # Overhead of each further message
_PIECE = re.compile(r"[A-Za-z]+|[0-9]|[^\sA-Za-z0-9\u0080-\U0010ffff]|[\u0080-\u02af]|[\u02b0-\U0010ffff]|\n+")


def estimate(text: str) -> int:
    """A high estimate of the tokens of a text in common vocabularies."""
    tokens = 0
    for piece in _PIECE.findall(text):
        if piece.isascii():
            tokens += math.ceil(len(piece) / 5)
        else:
            tokens += 1 if piece <= "\u2e7f" else 2
    return tokens


def estimate_prompt(prompt: Prompt) -> int:
    """A high estimate of the tokens of a prompt, with the overhead of an unknown chat template."""
    overhead = _FIRST_MESSAGE_TOKENS + _MESSAGE_TOKENS * (len(prompt) - 1)
    return sum(estimate(message.content) for message in prompt) + overhead


@dataclass(eq=False, slots=True)
class TokenCounts:
    tokenizer: Tokenizer
    model: str
    ask: Callable[[str, Any], Awaitable[Any]]  # Posts JSON to a path of the server and returns the answer
    root: str  # Base path of the server's own endpoints
    counts: OrderedDict[bytes, int] = field(default_factory=OrderedDict)
    empty_tokens: int = 0
    overhead: int = _FIRST_MESSAGE_TOKENS

    @property
    def exact(self) -> bool:
        return self.tokenizer is not Tokenizer.NONE

    async def check(self) -> None:
        """Find out whether the server counts tokens, and how many an empty text has (such as a BOS token)."""
        try:
            self.empty_tokens = await self._request("")
            if await self._request("one") - self.empty_tokens < 1:
                self.tokenizer = Tokenizer.NONE
        except (RequestRefusedError, LookupError, TypeError, ValueError):
            self.tokenizer = Tokenizer.NONE

    async def calibrate(self, prompt: Prompt, prompt_tokens: int) -> None:
        """Learn the chat template's overhead from the reported length of a prompt."""
        if self.exact and prompt_tokens:
            self.overhead = max(0, prompt_tokens - await self.count(prompt[0].content))

    async def count(self, text: str) -> int:
        if not text:
            return 0
        if not self.exact:
            return estimate(text)
        key = hashlib.blake2b(text.encode(), digest_size=16).digest()
        if key in self.counts:
            self.counts.move_to_end(key)
            return self.counts[key]
        tokens = max(0, await self._request(text) - self.empty_tokens)
        self.counts[key] = tokens
        if len(self.counts) > _CACHED:
            self.counts.popitem(last=False)
        return tokens

    async def measure(self, prompt: Prompt) -> int:
        """Count the tokens of a prompt, with the chat template's overhead."""
        counts = [await self.count(message.content) for message in prompt]
        return sum(counts) + self.overhead + _MESSAGE_TOKENS * (len(prompt) - 1)

    def upper_bound(self, prompt: Prompt) -> int:
        """An upper bound of `measure`, without a request: no text has more tokens than bytes."""
        counts = [len(one.content.encode()) if self.exact else estimate(one.content) for one in prompt]
        return sum(counts) + self.overhead + _MESSAGE_TOKENS * (len(prompt) - 1)

    async def _request(self, text: str) -> int:
        match self.tokenizer:
            case Tokenizer.LLAMA_SERVER:
                body = {"model": self.model, "content": text, "add_special": False, "parse_special": False}
                return len((await self.ask(f"{self.root}/tokenize", body))["tokens"])
            case Tokenizer.LLAMA_CPP_PYTHON:
                return int((await self.ask(f"{self.root}/extras/tokenize/count", {"input": text}))["count"])
            case Tokenizer.VLLM:
                body = {"model": self.model, "prompt": text, "add_special_tokens": False}
                answer = await self.ask(f"{self.root}/tokenize", body)
                return int(answer["count"] if "count" in answer else len(answer["tokens"]))
            case Tokenizer.NONE:
                return estimate(text)
