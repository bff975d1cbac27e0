"""The local engine: an `Engine` over one GGUF file, run by a worker process."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

from gistread.config import FastWeights
from gistread.engine.llama import messages
from gistread.engine.llama.fit import DEFAULT_OPTIONS, LoadOptions
from gistread.engine.llama.gguf import GgufHeader, read_adapted_header
from gistread.engine.llama.measurements import MeasuredSetup, Measurement, Measurements
from gistread.engine.llama.requantized_copy import make_copy
from gistread.engine.llama.supervisor import WorkerClient
from gistread.engine.llama.token_counter import VerifiedCounter
from gistread.engine.llama.weight_variants import LoadedVariant, WorkerActions, load_fastest
from gistread.engine.llama.worker_process import LostWhileLoadingError, open_log
from gistread.engine.model_kinds import check_writes_text
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
    EngineInfo,
    EngineState,
    Phase,
    Priority,
    Prompt,
    Restarted,
    Sampling,
    StreamEvent,
    TextDelta,
    Usage,
    check_options,
    final_completion,
)
from gistread.engine.remote.address import named_fingerprint
from gistread.paths import MEASUREMENTS, SNAPSHOTS

_MOST_MEASUREMENTS = 3  # A measurement counts only if nothing else uses the processor or the model


class LlamaEngine(WorkerClient[EngineInfo]):
    """An `Engine` (see `engine/protocol.py`) over one GGUF file."""

    def __init__(
        self,
        model_path: Path,
        *,
        name: str = "",
        adapter: Path | None = None,
        options: LoadOptions = DEFAULT_OPTIONS,
        log: Path | None = None,
        cache: Path | None = None,
        snapshots: Path | None = None,
        fast_weights: FastWeights = "ask",
        measure: bool = False,
    ) -> None:
        """`name`: for people, if not the file's. `adapter`: LoRA adapter. `log`: file for llama.cpp's messages.
        `cache`: directory of measurements and requantized copies; None: nothing is measured or requantized.
        `snapshots`: directory of prompt cache files; by default a folder in `cache`. `measure`: measure the model
        while loading, not later when it is idle.
        """
        super().__init__(self._load_model, log)
        self._path = model_path
        self._name = name
        self._adapter = adapter
        self._options = options
        self._log_path = log
        self._cache = cache
        self._snapshots = snapshots or (cache / SNAPSHOTS if cache else None)
        self._fast_weights = fast_weights
        self._measure = measure
        self._measuring: asyncio.Task[None] | None = None
        self._counter = VerifiedCounter(model_path, self._tokenize)

    @property
    def stats(self) -> messages.WorkerStats:
        return self._worker.stats

    async def close(self) -> None:
        if self._measuring is not None:
            self._measuring.cancel()
            await asyncio.gather(self._measuring, return_exceptions=True)
        await self._counter.close()
        await super().close()

    async def _load_model(self) -> EngineInfo:
        header = await asyncio.to_thread(read_adapted_header, self._path, self._adapter)
        check_writes_text(header)
        chosen = await self._load_fastest(header)
        return EngineInfo(
            name=self._name or header.name,
            fingerprint=header.fingerprint,
            aliases=() if self._adapter else (named_fingerprint(self._path.name),),
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
            loaded = await self._load(self._path, header)
            return LoadedVariant(loaded, Measurement(None, loaded.parallel), header.quantization)
        actions = WorkerActions(lambda path: self._load(path, header), self._worker.measure_rates, self._make_copy)
        chosen = await load_fastest(actions, header, self._cache, self._fast_weights, measure=self._measure)
        self._worker.send(messages.Configure(chosen.measured.parallel))
        if chosen.setup and self._measuring is None:
            measuring = self._measure_when_idle(Measurements(self._cache / MEASUREMENTS), chosen.setup)
            self._measuring = asyncio.create_task(measuring, name="measure-rates")
        return chosen

    async def _measure_when_idle(self, measurements: Measurements, setup: MeasuredSetup) -> None:
        for _ in range(_MOST_MEASUREMENTS):
            measured = await self._worker.measure_when_idle()
            if measured is None:
                measurements.store(setup, Measurement(None, 1))
                return
            if measured.rates is not None:
                measurements.store(setup, measured)
                self._worker.send(messages.Configure(measured.parallel))
                self._worker.info = replace(self._worker.info, rates=measured.rates, parallel=measured.parallel)
                return

    async def _load(self, path: Path, header: GgufHeader) -> messages.Loaded:
        """Load a file, trying smaller layouts if the process dies; a requantized copy only without reductions."""
        original = path == self._path
        message = messages.Load(
            str(path),
            self._options,
            cache_directory=str(self._snapshots) if self._snapshots is not None else "",
            cache_key=f"{header.fingerprint} {'itself' if original else 'a copy'}",
            adapter=str(header.adapter or "") if original else "",  # merged into the copy
            may_reduce=original,
        )
        while True:
            worker = await self._worker.new_worker()
            try:
                return await worker.load(message)
            except LostWhileLoadingError as error:
                if error.next_layout is None:
                    raise
                message = replace(message, first_layout=error.next_layout)

    async def _make_copy(self, header: GgufHeader, folder: Path) -> Path | None:
        await self._worker.end_worker()
        notice = "Making a faster copy of the model (once)"

        def progress(share: float) -> None:
            self._worker.publish(EngineState(Phase.LOADING, fraction=share, notice=notice))

        progress(0.0)
        with open_log(self._log_path) as log:
            return await make_copy(header, folder, log=log, progress=progress)

    async def count(self, text: str) -> int:
        """Count tokens, without the loaded model if its vocabulary is supported."""
        tokens = await self._counter.count(text, loaded=self._worker.pid is not None)
        if tokens is not None:
            return tokens
        return (await self._worker.answer(messages.CountText(text), messages.Counted)).tokens

    async def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return (await self._worker.answer(messages.Tokenize(tuple(texts)), messages.Tokenized)).tokens

    async def measure(self, prompt: Prompt) -> int:
        return (await self._worker.answer(messages.CountPrompt(prompt), messages.Counted)).tokens

    async def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> AsyncGenerator[StreamEvent]:
        async with contextlib.aclosing(self._worker.ask(messages.Generate(prompt, sampling, priority))) as replies:
            async for reply in replies:
                match reply:
                    case messages.Delta():
                        yield TextDelta(reply.text, reply.usage)
                    case Restarted():
                        yield reply
                    case messages.Done():
                        yield Completion(reply.text, reply.finish, reply.usage)

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        return await final_completion(self.stream(prompt, sampling, priority))

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        check_options(options)
        answer = await self._worker.answer(messages.Choose(prompt, tuple(options), priority), messages.Chosen)
        return Choice(answer.index, answer.probability, answer.usage)

    async def choose_likeliest(
        self, prompt: Prompt, options: Sequence[str], without: Prompt, priority: Priority = Priority.INTERACTIVE
    ) -> Choice:
        scored, prior = [await self._score(asked, options, priority) for asked in (prompt, without)]
        best = max(range(len(options)), key=lambda index: scored[index].mean - prior[index].mean / 2)
        return Choice(best, None, sum((one.usage for one in (*scored, *prior)), NO_USAGE))

    async def _score(self, prompt: Prompt, options: Sequence[str], priority: Priority) -> list[messages.Scored]:
        asked = (self._worker.answer(messages.Score(prompt, option, priority), messages.Scored) for option in options)
        # The first request evaluates the prompt; the others reuse it.
        return [await next(asked), *await asyncio.gather(*asked)]

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        return (await self._worker.answer(messages.Prepare(prompt, priority), messages.Prepared)).usage

    async def pin(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage | None:
        answer = await self._worker.answer(messages.Prepare(prompt, priority, pin=True), messages.Prepared)
        return answer.usage if answer.pinned else None

    async def pinned(self, prompts: Sequence[Prompt]) -> list[bool]:
        return list((await self._worker.answer(messages.FindPinned(tuple(prompts)), messages.PinnedFound)).pinned)
