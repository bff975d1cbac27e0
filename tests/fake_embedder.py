"""An embedding model for tests that need one to be near to a given text: two texts are as near as they share words."""

import re
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from gistread.engine.protocol import (
    Embedded,
    EmbedderInfo,
    EngineState,
    Phase,
    Priority,
    TextKind,
    Usage,
)
from gistread.errors import EngineError


class FakeEmbedder:
    """Each word has a place of its own in the vector, by its hash, whatever stands around it.

    `means`: words to take for others, so that a text can be near to one that shares no word with it.
    """

    def __init__(
        self,
        *,
        dimension: int = 512,
        fingerprint: str = "fake-vectors-1",
        max_words: int = 1000,
        means: dict[str, str] | None = None,
        fails_after: int | None = None,
        tokens_per_s: float | None = None,
    ) -> None:
        self._info = EmbedderInfo("fake vectors", fingerprint, dimension, max_words, "nothing at all")
        self._means = means or {}
        self._fails_after = fails_after
        self._tokens_per_s = tokens_per_s
        self.asked: list[tuple[tuple[str, ...], TextKind, Priority]] = []

    @property
    def info(self) -> EmbedderInfo:
        return self._info

    @property
    def state(self) -> EngineState:
        return EngineState(Phase.IDLE)

    @property
    def tokens_per_s(self) -> float | None:
        return self._tokens_per_s if self.asked else None

    @property
    def documents(self) -> list[str]:
        """Every text that was embedded to be found."""
        return [text for texts, kind, _ in self.asked if kind is TextKind.DOCUMENT for text in texts]

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        return lambda: None

    async def start(self) -> EmbedderInfo:
        return self._info

    async def close(self) -> None:
        pass

    async def embed(
        self, texts: Sequence[str], kind: TextKind = TextKind.DOCUMENT, priority: Priority = Priority.INTERACTIVE
    ) -> Embedded:
        if self._fails_after is not None and len(self.asked) >= self._fails_after:
            raise EngineError("The fake was told to fail.")
        self.asked.append((tuple(texts), kind, priority))
        words = [re.findall(r"\w+", text.casefold()) for text in texts]
        most = self._info.max_tokens
        vectors = np.stack([self._vector(one[:most]) for one in words])
        return Embedded(vectors, sum(len(one) > most for one in words), Usage(prefilled=sum(map(len, words))))

    def _vector(self, words: list[str]) -> np.ndarray:
        vector = np.full(self._info.dimension, 1e-3, np.float32)
        for word in words:
            vector[zlib.crc32(self._means.get(word, word).encode()) % len(vector)] += 1.0
        return vector / np.linalg.norm(vector)
