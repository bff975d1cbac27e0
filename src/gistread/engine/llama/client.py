"""The local engine: an `Engine` over one GGUF file.

A worker process runs the model. If it dies, it is started again for its open requests, or for the
next one.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from gistread import prompts
from gistread.engine.concurrency import Observable, SingleFlight
from gistread.engine.llama import messages
from gistread.engine.llama.fit import DEFAULT_OPTIONS, LoadOptions
from gistread.engine.llama.token_counter import TokenCounter, read_counter
from gistread.engine.llama.worker_process import LoadError, WorkerProcess
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
    Engine,
    EngineInfo,
    EngineState,
    Message,
    Phase,
    Priority,
    Prompt,
    Rates,
    Sampling,
    StreamEvent,
    StreamRestarted,
    TextDelta,
    Usage,
    check_options,
    first_of,
)
from gistread.errors import EngineError, GistreadError, PromptTooLongError
from gistread.paths import MEASUREMENTS, SNAPSHOTS, WEIGHTS
from gistread.prompts import TRAINED
from gistread.store.files import make_folder, replace_file

_MAX_ATTEMPTS = 2
_SEE_LOG = "Choose another model, or see the log (`gistread paths`)."
_THINKING_TOKENS = 2048  # Room for a thought that was cut off
_SLOWEST = 0.8  # Share of a stored rate: one session lowers it no further
_PACE_SAMPLING = Sampling(max_tokens=4)  # Enough to show how fast a model decodes


@dataclass(eq=False, slots=True)
class _Pending:
    id: int
    request: messages.Request
    replies: asyncio.Queue[messages.Reply | StreamRestarted | GistreadError] = field(
        default_factory=asyncio.Queue
    )
    attempts: int = 0


@dataclass(eq=False)
class LlamaEngine(Observable, Engine):
    """A model in one GGUF file. `start` or the first request loads it; await `close`."""

    path: Path
    _: KW_ONLY
    name: str = ""  # For people, if not the file's
    adapter: Path | None = None  # LoRA adapter
    options: LoadOptions = DEFAULT_OPTIONS
    log: Path | None = None  # File for llama.cpp's messages
    # Directory of rates and fast copies; None: there are none
    cache: Path | None = None
    # Directory of prompt cache files; by default a folder in `cache`
    snapshots: Path | None = None
    # Runs a short request if the pace of this machine is unknown
    measures_pace: bool = True

    def __post_init__(self) -> None:
        super().__init__()
        # Begins with the fingerprint and names all that the speed depends on
        self._setup = ""
        self._stored_rates: Rates | None = None
        # Being read, or read
        self._counter: asyncio.Task[TokenCounter | None] | None = None
        self._info: EngineInfo | None = None
        self._rates: dict[Phase, float] = {}  # Tokens a second
        self._worker: WorkerProcess | None = None
        self._lost = ""  # Why the last worker ended unexpectedly
        self._start = SingleFlight(self._start_worker, "engine-start")
        self._pace = SingleFlight(self._measure_pace, "engine-pace")
        self._pending: dict[int, _Pending] = {}
        self._ids = itertools.count(1)

    @property
    def info(self) -> EngineInfo:
        """Raises EngineError before the model is loaded."""
        if self._info is None:
            raise EngineError("The model is not loaded yet.")
        # Those of earlier runs stay, so that equal questions show equal text.
        return replace(self._info, rates=self._stored_rates or self._measured_rates())

    @property
    def worker_pid(self) -> int | None:
        if not self._worker:
            return None
        return self._worker.pid

    async def start(self) -> EngineInfo:
        """Load the model, and measure its pace if that is unknown. Idempotent.

        Raises EngineError.
        """
        await self._loaded()
        if self.measures_pace and self.info.rates is None:
            await self._pace.wait()
        return self.info

    async def _loaded(self) -> None:
        """Load the model unless it is loaded, or wait for a load. Raises EngineError."""
        if self._info is None or self._worker is None or self._start.under_way:
            await self._start.wait()

    async def close(self) -> None:
        """End the process and fail running requests. Idempotent."""
        if not self._start.closed:
            await self._start.close()
            await self._pace.close()
            await self._end_worker()
            self._fail(EngineError("The engine has been closed."))
            self.publish(EngineState(Phase.STOPPED))
        self._store_rates()

    def _store_rates(self) -> None:
        """Keep the pace for the next start."""
        rates = self._measured_rates()
        if self.cache is None or rates is None:
            return
        if self._stored_rates is not None:
            rates = _after_busy_times(self._stored_rates, rates)
        path = self.cache / MEASUREMENTS
        known = _read_rates(path) | {self._setup: [rates.prefill, rates.decode]}
        with contextlib.suppress(OSError):
            make_folder(path.parent)
            replace_file(path, orjson.dumps(known, option=orjson.OPT_INDENT_2))

    async def count(self, text: str) -> int:
        """Count tokens; without the model if it is not loaded and its vocabulary is supported."""
        if self.worker_pid is None:
            tokens = await self._count_without_model(text)
            if tokens is not None:
                return tokens
        return await self._ask_count(messages.Count(text))

    async def measure(self, prompt: Prompt) -> int:
        return await self._ask_count(messages.Count(prompt=prompt))

    async def _count_without_model(self, text: str) -> int | None:
        """Count with the vocabulary in the file; None if only llama.cpp can."""
        if self._counter is None:
            reading = asyncio.to_thread(read_counter, self.path)
            self._counter = asyncio.create_task(reading, name="token-counter")
        counter = await asyncio.shield(self._counter)
        if counter is None:
            return None
        return await asyncio.to_thread(counter.count, text)

    async def _ask_count(self, request: messages.Count) -> int:
        counted = await first_of(self._ask(request), messages.Counted)
        return counted.tokens

    async def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent]:
        room = 0  # Tokens for a thought
        spent = NO_USAGE  # By both attempts
        while True:
            with_room = replace(sampling, max_tokens=sampling.max_tokens + room)
            request = messages.Generate(prompt, with_room, priority)
            async with contextlib.aclosing(self._ask(request)) as replies:
                async for reply in replies:
                    match reply:
                        case TextDelta() | StreamRestarted():
                            yield reply
                        case Completion():
                            completion = reply
            spent += completion.usage
            # Without text, a thought took all the tokens: it is repeated once with more.
            is_cut_thought = not completion.text and completion.finish != "end"
            if is_cut_thought and not room:
                room = await self._thinking_room(prompt, sampling)
                if room:
                    continue
            yield replace(completion, usage=spent)
            return

    async def _thinking_room(self, prompt: Prompt, sampling: Sampling) -> int:
        """Tokens that the window has left for a thought; 0 if there are none."""
        prompt_tokens = await self.measure(prompt)
        free_tokens = self.info.context_tokens - prompt_tokens - sampling.max_tokens
        return max(0, min(_THINKING_TOKENS, free_tokens))

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        check_options(options)
        request = messages.Choose(prompt, tuple(options), priority)
        return await first_of(self._ask(request), Choice)

    async def prepare(
        self, prompt: Prompt, priority: Priority = Priority.BACKGROUND
    ) -> Usage:
        one_token = Sampling(max_tokens=1)
        request = messages.Generate(prompt, one_token, priority, only_warms=True)
        completion = await first_of(self._ask(request), Completion)
        return completion.usage

    async def _measure_pace(self) -> None:
        """Run a short request: the pace decides how much text a question shows the model."""
        prompt = (Message("user", prompts.load("pace").text),)
        request = messages.Generate(prompt, _PACE_SAMPLING, Priority.BACKGROUND)
        with contextlib.suppress(EngineError, PromptTooLongError):
            await first_of(self._ask(request), Completion)

    def _measured_rates(self) -> Rates | None:
        """How fast the latest requests were worked on; None if there were none."""
        prefill = self._rates.get(Phase.PREFILL)
        decode = self._rates.get(Phase.DECODE)
        if not prefill or not decode:
            return None
        return Rates(prefill, decode)

    async def _load_model(self) -> EngineInfo:
        """Load the model, and find its rates of earlier runs. Raises EngineError."""
        loaded = await self._load()
        info = loaded.info
        threads = info.placement.threads if info.placement else 0
        self._setup = (
            f"{info.fingerprint} {info.weights}, {info.device}, {threads} "
            f"threads, {loaded.library}"
        )
        if self.cache is not None:
            known = _read_rates(self.cache / MEASUREMENTS)
            match known.get(self._setup):
                case [float(prefill), float(decode)] if prefill > 0 and decode > 0:
                    self._stored_rates = Rates(prefill, decode)
        name = self.name or info.name
        # gistread's adapter is trained on a wording of its own.
        return replace(info, name=name, wording=TRAINED if self.adapter else "")

    async def _load(self) -> messages.Loaded:
        """Load the model or its fast copy, trying smaller layouts, each in a process of its own."""
        snapshots = self.snapshots
        copies: Path | None = None
        if self.cache is not None:
            snapshots = snapshots or self.cache / SNAPSHOTS
            copies = self.cache / WEIGHTS
        message = messages.Load(
            str(self.path),
            self.options,
            cache_directory=str(snapshots or ""),
            adapter=str(self.adapter or ""),
            copies=str(copies or ""),
        )
        while True:
            await self._end_worker()
            worker = WorkerProcess(self._on_event, self._on_lost)
            await worker.start(self.log)
            self._worker = worker
            try:
                return await worker.load(message)
            except LoadError as error:
                if error.next_layout is None:
                    raise
                message = replace(message, layout=error.next_layout)

    async def _end_worker(self) -> None:
        """End the process, which frees its memory."""
        worker = self._worker
        self._worker = None
        if worker is not None:
            await worker.end()

    async def _start_worker(self) -> None:
        """Load the model in a new process, and send it the open requests."""
        notice = ""
        if self._lost:
            notice = f"The model's process ended ({self._lost}) and is being restarted."
        is_fault = bool(self._lost)
        self._lost = ""
        for pending in self._pending.values():
            pending.replies.put_nowait(StreamRestarted(notice))
        self.publish(
            EngineState(Phase.LOADING, fraction=0.0, notice=notice, is_fault=is_fault)
        )
        try:
            self._info = await self._load_model()
            if self.worker_pid is None:  # `_on_lost` leaves it to this start.
                raise EngineError(
                    "The model's process ended as soon as the model was loaded.",
                    _SEE_LOG,
                )
        except asyncio.CancelledError:
            await self._end_worker()
            self.publish(EngineState(Phase.STOPPED))
            raise
        except GistreadError as error:
            await self._end_worker()
            self._fail(error)
            self.publish(EngineState(Phase.FAILED, notice=error.message))
            raise
        self.publish(EngineState(Phase.IDLE, notice=notice, is_fault=is_fault))
        for pending in self._pending.values():
            self._submit(pending)

    def _on_event(self, request_id: int, event: messages.Event) -> None:
        """Publish a state, or pass a reply on to its request."""
        match event:
            case EngineState(phase=Phase.LOADING, fraction=fraction):
                self.publish(
                    replace(self.state, phase=Phase.LOADING, fraction=fraction)
                )
            case EngineState():
                # The worker is idle before the load has finished here.
                if self.state.phase is not Phase.LOADING:
                    if event.tokens_per_s:
                        self._rates[event.phase] = event.tokens_per_s
                    self.publish(event)
            case messages.LoadAttempt():
                notice = event.notice or self.state.notice
                self.publish(EngineState(Phase.LOADING, fraction=0.0, notice=notice))
            case reply:
                if pending := self._pending.get(request_id):
                    pending.replies.put_nowait(reply)

    def _on_lost(self, worker: WorkerProcess, reason: str) -> None:
        """Restart a worker that ended, if requests are open."""
        # A start under way reports it.
        if worker is not self._worker or self._start.under_way:
            return
        self._worker = None
        self._lost = reason
        error = EngineError(
            f"The model's process ended twice on the same request ({reason}).", _SEE_LOG
        )
        self._fail(error, least_attempts=_MAX_ATTEMPTS)
        if self._pending:
            self._start.begin()
        else:
            notice = f"The model's process ended ({reason}). The next request starts it again."
            self.publish(EngineState(Phase.STOPPED, notice=notice, is_fault=True))

    def _fail(self, error: GistreadError, least_attempts: int = 0) -> None:
        """Fail the open requests that have been sent at least this many times."""
        for pending in tuple(self._pending.values()):
            if pending.attempts >= least_attempts:
                del self._pending[pending.id]
                pending.replies.put_nowait(error)

    async def _ask(
        self, request: messages.Request
    ) -> AsyncGenerator[TextDelta | messages.Answer | StreamRestarted]:
        """Send a request and yield its replies. Raises PromptTooLongError, EngineError."""
        await self._loaded()
        pending = _Pending(next(self._ids), request)
        self._pending[pending.id] = pending
        self._submit(pending)
        has_ended = False
        try:
            while not has_ended:
                reply = await pending.replies.get()
                has_ended = not isinstance(reply, TextDelta | StreamRestarted)
                yield _checked(reply)
        finally:
            self._pending.pop(pending.id, None)
            if not has_ended and self._worker is not None:
                self._worker.send(messages.Cancel(), pending.id)

    def _submit(self, pending: _Pending) -> None:
        pending.attempts += 1
        if self._worker is not None:
            self._worker.send(pending.request, pending.id)


def _checked(
    reply: messages.Reply | StreamRestarted | GistreadError,
) -> TextDelta | messages.Answer | StreamRestarted:
    """The reply. Raises the error that it reports, if it does."""
    match reply:
        case GistreadError():
            raise reply
        case messages.TooLong():
            raise PromptTooLongError(
                reply.prompt_tokens, reply.answer_tokens, reply.context_tokens
            )
        case messages.Failed():
            raise EngineError(f"The model failed: {reply.message}.")
        case _:
            return reply


def _after_busy_times(stored: Rates, measured: Rates) -> Rates:
    """The measured rates, but at most a fifth below the stored ones.

    Otherwise a busy machine would halve the text that answers are read from in the next session.
    """
    return Rates(
        max(measured.prefill, _SLOWEST * stored.prefill),
        max(measured.decode, _SLOWEST * stored.decode),
    )


def _read_rates(path: Path) -> dict[str, Any]:
    """How fast each model works on this machine, as its requests showed."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return dict(orjson.loads(path.read_bytes()))
    return {}
