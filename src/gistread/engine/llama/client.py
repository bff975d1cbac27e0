"""The local engine as the rest of the program sees it: prompts go to a worker process, text and choices come back.

Finds the form of the weights that is fastest here, and loads it. Knows the messages of requests; knows neither
llama.cpp nor what the requests are for. The life of the process is the affair of `supervisor.py`.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

from gistread.config import FastWeights
from gistread.engine.llama.fit import DEFAULT_OPTIONS, LoadOptions
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.measurements import Measurement
from gistread.engine.llama.requantized_copy import make_copy
from gistread.engine.llama.supervisor import SupervisedWorker, WorkerStats
from gistread.engine.llama.verified_counter import VerifiedCounter
from gistread.engine.llama.weight_variants import Loaded, LoadedVariant, WorkerActions, load_fastest
from gistread.engine.llama.worker_process import LostWhileLoadingError, WorkerProcess, open_log
from gistread.engine.model_kinds import check_writes_text
from gistread.engine.protocol import (
    GREEDY,
    Choice,
    Completion,
    EngineInfo,
    EngineState,
    Likelihood,
    Phase,
    Priority,
    Prompt,
    Restarted,
    Sampling,
    StreamEvent,
    TextDelta,
    Usage,
)
from gistread.engine.remote.address import named_fingerprint
from gistread.errors import EngineError

SNAPSHOTS = "snapshots"
"""Folder of the KV snapshots within the cache."""


class LlamaEngine:
    """An `Engine` (see `engine/protocol.py`) over one GGUF file."""

    def __init__(
        self,
        model_path: Path,
        *,
        options: LoadOptions = DEFAULT_OPTIONS,
        log: Path | None = None,
        cache: Path | None = None,
        snapshots: Path | None = None,
        fast_weights: FastWeights = "ask",
    ) -> None:
        """`options`: how it is to be loaded. `log`: where llama.cpp's messages go, if anywhere.

        `cache`: the directory in which measurements and faster copies of weights are kept; None: nothing is measured
        or converted. `snapshots`: the directory of KV snapshots; None: a folder in `cache`, if there is one.
        `fast_weights`: whether faster copies may be made.
        """
        self._path = model_path
        self._options = options
        self._log_path = log
        self._cache = cache
        self._snapshots = snapshots or (cache / SNAPSHOTS if cache else None)
        self._fast_weights = fast_weights
        self._process = SupervisedWorker(self._load_model, log)
        self._counting = VerifiedCounter(model_path, self._tokenise)

    # State.

    @property
    def info(self) -> EngineInfo:
        return self._process.info

    @property
    def state(self) -> EngineState:
        return self._process.state

    @property
    def worker_pid(self) -> int | None:
        """Of the running worker process."""
        return self._process.pid

    @property
    def work(self) -> WorkerStats:
        """What the worker has said of its own work: of interest to measurements, not to a person."""
        return self._process.work

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        return self._process.watch(callback)

    # Life.

    async def start(self) -> EngineInfo:
        return await self._process.start()

    async def close(self) -> None:
        await self._counting.close()
        await self._process.close()

    async def _load_model(self) -> EngineInfo:
        header = await asyncio.to_thread(read_header, self._path)
        check_writes_text(header)
        chosen = await self._load_fastest(header)
        return EngineInfo(
            name=header.name,
            fingerprint=header.fingerprint,
            aliases=(named_fingerprint(self._path.name),),
            context_tokens=chosen.loaded.context_tokens,
            device=chosen.loaded.device,
            parallel=chosen.measured.parallel,
            rates=chosen.measured.rates,
            weights=chosen.weights,
            placement=chosen.loaded.placement,
            pinnable_tokens=chosen.loaded.pinnable_tokens,
            has_template=bool(header.chat_template),
        )

    async def _load_fastest(self, header: GgufHeader) -> LoadedVariant:
        if self._cache is None:
            _, loaded = await self._load(self._path, header)
            return LoadedVariant(loaded, Measurement(None, loaded.parallel), header.quantization)
        worker: WorkerProcess | None = None

        async def load(path: Path) -> Loaded:
            nonlocal worker
            worker, loaded = await self._load(path, header)
            return loaded

        async def measure() -> Measurement:
            assert worker is not None
            return await worker.measure_rates()

        steps = WorkerActions(load, measure, self._make_copy)
        chosen = await load_fastest(steps, header, self._cache, self._fast_weights)
        self._process.send("configure", parallel=chosen.measured.parallel)
        return chosen

    async def _load(self, path: Path, header: GgufHeader) -> tuple[WorkerProcess, Loaded]:
        """Load this file; where that ends the process, again with less. Of a copy nothing is given up to load it."""
        snapshots = None
        if self._snapshots is not None:
            form = "itself" if path == self._path else "a copy"
            snapshots = {"directory": str(self._snapshots), "model": f"{header.fingerprint} {form}"}
        first = 0
        while True:
            worker = await self._process.new_worker()
            try:
                loaded = await worker.load(
                    path, options=self._options, snapshots=snapshots, first=first, give_up=path == self._path
                )
            except LostWhileLoadingError as error:
                if error.next_layout is None:
                    raise
                first = error.next_layout
            else:
                return worker, loaded

    async def _make_copy(self, header: GgufHeader, folder: Path) -> Path | None:
        await self._process.end_worker()
        notice = f"A faster copy of {header.name} is made, once."

        def progress(share: float) -> None:
            self._process.tell(EngineState(Phase.LOADING, fraction=share, notice=notice))

        progress(0.0)
        with open_log(self._log_path) as log:
            return await make_copy(header, folder, log=log, progress=progress)

    # Requests.

    async def count(self, text: str) -> int:
        """Where the vocabulary is one that is known, without the model being loaded."""
        tokens = await self._counting.count(text, loaded=self._process.pid is not None)
        if tokens is not None:
            return tokens
        return int((await self._process.answer("count", text=text))["tokens"])

    async def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        tokens: list[list[int]] = (await self._process.answer("tokenise", texts=list(texts)))["tokens"]
        return tokens

    async def measure(self, prompt: Prompt) -> int:
        return int((await self._process.answer("measure", prompt=prompt))["tokens"])

    async def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> AsyncGenerator[StreamEvent]:
        async with contextlib.aclosing(
            self._process.ask("generate", prompt=prompt, sampling=sampling, priority=priority)
        ) as messages:
            async for message in messages:
                match message["kind"]:
                    case "delta":
                        yield TextDelta(message["text"], Usage(**message["usage"]))
                    case "restarted":
                        yield Restarted(message["reason"])
                    case "done":
                        yield Completion(message["text"], message["finish"], Usage(**message["usage"]))

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        async with contextlib.aclosing(self.stream(prompt, sampling, priority)) as events:
            async for event in events:
                if isinstance(event, Completion):
                    return event
        raise EngineError("The model ended without an answer.")

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        if not options or len(set(options)) < len(options) or not all(options):
            raise ValueError(f"options must be distinct and not empty: {options!r}")
        answer = await self._process.answer("choose", prompt=prompt, options=list(options), priority=priority)
        return Choice(answer["index"], answer["probability"], Usage(**answer["usage"]))

    async def likelihood(
        self, prompt: Prompt, continuation: str, priority: Priority = Priority.INTERACTIVE
    ) -> Likelihood | None:
        if not continuation:
            raise ValueError("a continuation must not be empty")
        answer = await self._process.answer("score", prompt=prompt, continuation=continuation, priority=priority)
        return Likelihood(answer["mean"], answer["tokens"], Usage(**answer["usage"]))

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        return Usage(**(await self._process.answer("prepare", prompt=prompt, priority=priority))["usage"])

    async def pin(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage | None:
        answer = await self._process.answer("hold", prompt=prompt, priority=priority)
        return Usage(**answer["usage"]) if answer["held"] else None

    async def pinned(self, prompts: Sequence[Prompt]) -> list[bool]:
        held: list[bool] = (await self._process.answer("held", prompts=list(prompts)))["held"]
        return held
