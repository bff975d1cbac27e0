"""The local embedding model as the rest of the program sees it: texts go to a worker process, vectors come back.

The same worker program as for a model that writes, in a process of its own. What a model's family wants a text to begin
with is put before it here (`engine/embedding_models.py`).
"""

import asyncio
import base64
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gistread.engine.embedding_models import Prefixes, check_makes_vectors, pooling_of, prefixes_of
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.supervisor import SupervisedWorker
from gistread.engine.protocol import NO_USAGE, Embedded, EmbedderInfo, EngineState, Phase, Priority, TextKind, Usage

_TEXTS_IN_A_MESSAGE = 256
"""More are asked for one after the other: a message is read whole before anything is done."""


class LlamaEmbedder:
    """An `Embedder` (see `engine/protocol.py`) over one GGUF file."""

    def __init__(self, model: Path | Callable[[], Path], *, log: Path | None = None) -> None:
        """`model`: the file, or how to find it once it is needed, in a thread; what that raises, loading raises.

        `log`: where llama.cpp's messages go, if anywhere.
        """
        self._model = model
        self._prefixes = Prefixes()
        self._told_of_cut = False
        self._tokens_per_s: float | None = None
        self._process = SupervisedWorker(self._load_model, log)

    @property
    def info(self) -> EmbedderInfo:
        return self._process.info

    @property
    def state(self) -> EngineState:
        return self._process.state

    @property
    def tokens_per_s(self) -> float | None:
        return self._tokens_per_s

    @property
    def worker_pid(self) -> int | None:
        """Of the running worker process."""
        return self._process.pid

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        return self._process.watch(callback)

    async def start(self) -> EmbedderInfo:
        return await self._process.start()

    async def close(self) -> None:
        await self._process.close()

    async def embed(
        self, texts: Sequence[str], kind: TextKind = TextKind.DOCUMENT, priority: Priority = Priority.INTERACTIVE
    ) -> Embedded:
        info = await self.start()
        prefix = self._prefixes.of(kind)
        rows, cut, usage = [np.empty((0, info.dimension), np.float32)], 0, NO_USAGE
        for at in range(0, len(texts), _TEXTS_IN_A_MESSAGE):
            said = [prefix + text for text in texts[at : at + _TEXTS_IN_A_MESSAGE]]
            answer = await self._process.answer("embed", texts=said, priority=priority)
            numbers = np.frombuffer(base64.b64decode(answer["vectors"]), "<f4").astype(np.float32)
            rows.append(numbers.reshape(len(said), info.dimension))
            cut += answer["cut"]
            self._tell_of_cut(answer["cut"])
            usage += Usage(**answer["usage"])
        if usage.prefilled and usage.seconds > 0:
            self._tokens_per_s = usage.prefilled / usage.seconds
        return Embedded(np.concatenate(rows), cut, usage)

    def _tell_of_cut(self, texts: int) -> None:
        """Once: those who search should know that there is more in a text than was looked at."""
        if texts and not self._told_of_cut:
            self._told_of_cut = True
            most = self.info.max_tokens
            notice = f"{self.info.name} takes {most} tokens of a text: longer ones are searched up to there."
            self._process.tell(EngineState(Phase.IDLE, notice=notice))

    async def _load_model(self) -> EmbedderInfo:
        path = self._model if isinstance(self._model, Path) else await asyncio.to_thread(self._model)
        header = await asyncio.to_thread(read_header, path)
        check_makes_vectors(header)
        pooling = pooling_of(header)
        self._prefixes = prefixes_of(header)
        worker = await self._process.new_worker()
        loaded = await worker.load_embedder(path, pooling)
        used = f"{header.fingerprint} {pooling.name} {self._prefixes} {loaded.context_tokens}"
        return EmbedderInfo(
            name=header.name,
            fingerprint=hashlib.sha256(used.encode()).hexdigest()[:32],
            dimension=loaded.dimension,
            max_tokens=loaded.context_tokens,
            device=loaded.device,
        )
