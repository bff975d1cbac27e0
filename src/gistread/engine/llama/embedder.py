"""The local embedder: an `Embedder` over one GGUF file, run by a separate worker process."""

import asyncio
import base64
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.messages import Embed, LoadEmbedder, TextsEmbedded
from gistread.engine.llama.supervisor import WorkerClient
from gistread.engine.model_kinds import Prefixes, check_makes_vectors, pooling_of, prefixes_of
from gistread.engine.protocol import NO_USAGE, Embedded, EmbedderInfo, EngineState, Phase, Priority, TextKind

_TEXTS_IN_A_MESSAGE = 256  # More texts are split: the worker reads a whole message before it starts


class LlamaEmbedder(WorkerClient[EmbedderInfo]):
    """An `Embedder` (see `engine/protocol.py`) over one GGUF file."""

    def __init__(self, model: Path | Callable[[], Path], *, log: Path | None = None) -> None:
        """`model`: the file, or a function that finds it, called by `start`. `log`: file for llama.cpp's messages."""
        super().__init__(self._load_model, log)
        self._model = model
        self._prefixes = Prefixes()
        self._truncation_reported = False
        self._tokens_per_s: float | None = None

    @property
    def tokens_per_s(self) -> float | None:
        return self._tokens_per_s

    async def embed(
        self, texts: Sequence[str], kind: TextKind = TextKind.DOCUMENT, priority: Priority = Priority.INTERACTIVE
    ) -> Embedded:
        info = await self.start()
        prefix = self._prefixes.of(kind)
        rows, truncated, usage = [np.empty((0, info.dimension), np.float32)], 0, NO_USAGE
        for at in range(0, len(texts), _TEXTS_IN_A_MESSAGE):
            prefixed = tuple(prefix + text for text in texts[at : at + _TEXTS_IN_A_MESSAGE])
            answer = await self._worker.answer(Embed(prefixed, priority), TextsEmbedded)
            numbers = np.frombuffer(base64.b64decode(answer.vectors), "<f4").astype(np.float32)
            rows.append(numbers.reshape(len(prefixed), info.dimension))
            truncated += answer.truncated
            if answer.truncated and not self._truncation_reported:
                self._truncation_reported = True
                notice = f"{self.info.name} embeds at most {self.info.max_tokens} tokens of a text and skips the rest."
                self._worker.publish(EngineState(Phase.IDLE, notice=notice))
            usage += answer.usage
        if usage.prefilled and usage.seconds > 0:
            self._tokens_per_s = usage.prefilled / usage.seconds
        return Embedded(np.concatenate(rows), truncated, usage)

    async def _load_model(self) -> EmbedderInfo:
        path = self._model if isinstance(self._model, Path) else await asyncio.to_thread(self._model)
        header = await asyncio.to_thread(read_header, path)
        check_makes_vectors(header)
        pooling = pooling_of(header)
        self._prefixes = prefixes_of(header)
        worker = await self._worker.new_worker()
        loaded = await worker.load(LoadEmbedder(str(path), pooling))
        used = f"{header.fingerprint} {pooling.name} {self._prefixes} {loaded.context_tokens}"
        return EmbedderInfo(
            name=header.name,
            fingerprint=hashlib.sha256(used.encode()).hexdigest()[:32],
            dimension=loaded.dimension,
            max_tokens=loaded.context_tokens,
            device=loaded.device,
        )
