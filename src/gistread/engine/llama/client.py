"""The local engine: an `Engine` over one GGUF file, run by a worker process."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from gistread.engine.llama import messages
from gistread.engine.llama.fast_copy import FAST
from gistread.engine.llama.fit import DEFAULT_OPTIONS, LoadOptions
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.supervisor import SupervisedWorker
from gistread.engine.llama.token_counter import TokenCounter, read_counter
from gistread.engine.llama.worker_process import LostWhileLoadingError
from gistread.engine.model_files import check_writes_text
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
    EngineInfo,
    Priority,
    Prompt,
    Rates,
    Sampling,
    StreamEvent,
    StreamRestarted,
    TextDelta,
    Usage,
    check_options,
    final_completion,
)
from gistread.paths import MEASUREMENTS, SNAPSHOTS, WEIGHTS
from gistread.prompts import TRAINED
from gistread.store.files import make_folder, replace_file

_THINKING_TOKENS = 2048  # Room for a thought that was cut off


class LlamaEngine(SupervisedWorker):
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
    ) -> None:
        """`name`: for people, if not the file's. `adapter`: LoRA adapter. `log`: file for llama.cpp's messages.
        `cache`: directory of rates and fast copies; None: there are none.
        `snapshots`: directory of prompt cache files; by default a folder in `cache`.
        """
        super().__init__(log)
        self._path = model_path
        self._name = name
        self._adapter = adapter
        self._options = options
        self._cache = cache
        self._snapshots = snapshots or (cache / SNAPSHOTS if cache else None)
        self._setup = ""  # Begins with the fingerprint and names all that the speed depends on
        self._stored_rates: Rates | None = None
        self._counter: asyncio.Task[TokenCounter | None] | None = None  # Being read, or read

    @property
    def info(self) -> EngineInfo:
        # Those of earlier runs stay, so that equal questions show equal text.
        return replace(super().info, rates=self._stored_rates or self._measured_rates())

    async def close(self) -> None:
        await super().close()
        if self._cache is not None and (rates := self._measured_rates()) is not None:
            path = self._cache / MEASUREMENTS
            known = _read_rates(path) | {self._setup: [rates.prefill, rates.decode]}
            with contextlib.suppress(OSError):
                make_folder(path.parent)
                replace_file(path, orjson.dumps(known, option=orjson.OPT_INDENT_2))

    async def _load_model(self) -> EngineInfo:
        header = await asyncio.to_thread(read_header, self._path, self._adapter)
        check_writes_text(header)
        loaded = await self._load()
        weights = f"{FAST} copy of {header.quantization}" if loaded.is_copy else header.quantization
        threads = loaded.placement.threads
        self._setup = f"{header.fingerprint} {weights}, {loaded.device}, {threads} threads, {loaded.library}"
        if self._cache is not None:
            match _read_rates(self._cache / MEASUREMENTS).get(self._setup):
                case [float(prefill), float(decode)] if prefill > 0 and decode > 0:
                    self._stored_rates = Rates(prefill, decode)
        return EngineInfo(
            name=self._name or header.name,
            fingerprint=header.fingerprint,
            context_tokens=loaded.context_tokens,
            device=loaded.device,
            parallel=loaded.parallel,
            weights=weights,
            placement=loaded.placement,
            has_template=bool(header.chat_template),
            wording=TRAINED if self._adapter else "",
        )

    async def _load(self) -> messages.Loaded:
        """Load the model or its fast copy, trying smaller layouts if the process dies."""
        message = messages.Load(
            str(self._path),
            self._options,
            cache_directory=str(self._snapshots or ""),
            adapter=str(self._adapter or ""),
            copies=str(self._cache / WEIGHTS) if self._cache else "",
        )
        while True:
            worker = await self._new_worker()
            try:
                return await worker.load(message)
            except LostWhileLoadingError as error:
                if error.next_layout is None:
                    raise
                message = replace(message, first_layout=error.next_layout)

    async def count(self, text: str) -> int:
        """Count tokens; without the model if it is not loaded and its vocabulary is supported."""
        if self.worker_pid is None:
            if self._counter is None:
                self._counter = asyncio.create_task(asyncio.to_thread(read_counter, self._path), name="token-counter")
            counter = await asyncio.shield(self._counter)
            if counter is not None and (tokens := await asyncio.to_thread(counter.count, text)) is not None:
                return tokens
        return (await self._answer(messages.Count(text), messages.Counted)).tokens

    async def measure(self, prompt: Prompt) -> int:
        return (await self._answer(messages.Count(prompt=prompt), messages.Counted)).tokens

    async def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> AsyncGenerator[StreamEvent]:
        room, spent = 0, NO_USAGE
        while True:
            longer = replace(sampling, max_tokens=sampling.max_tokens + room)
            async with contextlib.aclosing(self._ask(messages.Generate(prompt, longer, priority))) as replies:
                async for reply in replies:
                    match reply:
                        case messages.Delta():
                            yield TextDelta(reply.text, reply.usage)
                        case StreamRestarted():
                            yield reply
                        case messages.Done():
                            done = reply
            spent += done.usage
            may_be_cut = not (room or done.text or done.finish == "end")
            # Without text, a thought took all the tokens: it is repeated once with more.
            if may_be_cut:
                left = self.info.context_tokens - await self.measure(prompt) - sampling.max_tokens
                room = max(0, min(_THINKING_TOKENS, left))
            if not (may_be_cut and room):
                yield Completion(done.text, done.finish, spent)
                return

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        return await final_completion(self.stream(prompt, sampling, priority))

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        check_options(options)
        answer = await self._answer(messages.Choose(prompt, tuple(options), priority), messages.Chosen)
        return Choice(answer.index, answer.probability, answer.usage)

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        request = messages.Generate(prompt, Sampling(max_tokens=1), priority, only_warms=True)
        return (await self._answer(request, messages.Done)).usage


def _read_rates(path: Path) -> dict[str, Any]:
    """How fast each model works on this machine, as its requests showed."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return dict(orjson.loads(path.read_bytes()))
    return {}
