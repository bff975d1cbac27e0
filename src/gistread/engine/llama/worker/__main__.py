"""The worker process: reads requests from standard input, writes events to what was standard output.

llama.cpp and its binding write to the file descriptors 1 and 2 and redirect them. So the first thing is to
move the pipe to a descriptor of its own and to point 1 at 2, which is a log file.

Two threads. The reader takes lines from the pipe: counts are answered there at once, all else is handed to the
loop, and what cannot wait for the loop (a cancel, a person's request) interrupts it. The loop loads the model,
then steps the scheduler. The end of the pipe is the end of the process, at once, whatever the loop is doing:
nobody is left to answer to.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from gistread.engine.llama.fit import LoadOptions
from gistread.engine.llama.messages import LOAD_ID, Message, decode, encode
from gistread.engine.llama.worker.context import DecodeError
from gistread.engine.llama.worker.embedding import Embedding, embedding_request
from gistread.engine.llama.worker.likelihood import Scorer
from gistread.engine.llama.worker.loading import LoadCancelled, LoadedModel, load, load_embedder
from gistread.engine.llama.worker.prefix_tree import common_prefix
from gistread.engine.llama.worker.rates import DisturbedError, measure_rates, parallel_of
from gistread.engine.llama.worker.requests import Request
from gistread.engine.llama.worker.sampling import FreeSampler, OptionSampler
from gistread.engine.llama.worker.scheduler import Scheduler
from gistread.engine.llama.worker.streaming import TextStream
from gistread.engine.llama.worker.system_info import library
from gistread.engine.protocol import Message as ChatMessage
from gistread.engine.protocol import Priority, Rates, Sampling
from gistread.errors import GistreadError, PromptTooLongError

_NICENESS = 5
"""The screen and its keys go before the model on a machine with few cores."""


_SETTLE_S = 1.5
"""A snapshot that is being written when nobody needs the process any more may be finished."""


class Worker:
    """The process's state: the pipe, the model once loaded, and what works with it once there is a model."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._writing = threading.Lock()
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._load_cancelled = threading.Event()
        self._model: LoadedModel | None = None
        self._scheduler: Scheduler | Embedding | None = None
        """Of a model that writes, or of one that makes vectors."""

    def run(self) -> None:
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        message = self._inbox.get()
        self._load(message)
        while True:
            self._take_messages()
            if self._scheduler is not None:
                self._scheduler.step()

    def send(self, line: bytes) -> None:
        with self._writing, contextlib.suppress(BrokenPipeError):
            self._outgoing.write(line)
            self._outgoing.flush()

    # In the reader thread.

    def _read(self) -> None:
        for line in self._incoming:
            self._receive(decode(line))
        if self._scheduler is not None and not self._scheduler.requested:
            self._scheduler.settled.wait(_SETTLE_S)
        os._exit(0)

    def _receive(self, message: Message) -> None:
        match message["kind"]:
            case "count" | "measure" | "tokenise":
                self._count(message)
            case "cancel":
                if message["id"] == LOAD_ID:
                    self._load_cancelled.set()
                self._inbox.put(message)
                if self._scheduler is not None:
                    self._scheduler.interrupt_for(None, message["id"])
            case "measure_rates" | "configure" | "held":
                self._inbox.put(message)
            case _:
                self._inbox.put(message)
                if self._scheduler is not None:
                    self._scheduler.interrupt_for(Priority(message["priority"]))

    def _count(self, message: Message) -> None:
        def answer(model: LoadedModel) -> bytes:
            if message["kind"] == "tokenise":
                tokenised = [model.weights.tokens_of(text) for text in message["texts"]]
                return encode("tokenised", id=message["id"], tokens=tokenised)
            if message["kind"] == "count":
                tokens = len(model.weights.tokens_of(message["text"]))
            else:
                tokens = len(model.weights.prompt_tokens(_chat(message["prompt"])))
            return encode("counted", id=message["id"], tokens=tokens)

        self.send(self._guarded(message["id"], answer))

    # In the loop.

    def _load(self, message: Message) -> None:
        last = -1

        def progress(share: float) -> None:
            nonlocal last
            if int(share * 100) > last:
                last = int(share * 100)
                self.send(encode("loading", fraction=share))

        path, cancelled = Path(message["path"]), self._load_cancelled.is_set
        try:
            if message["kind"] == "load_embedder":
                model = load_embedder(path, message["pooling"], progress=progress, cancelled=cancelled)
            else:
                model = load(
                    path,
                    LoadOptions(**message["options"]),
                    snapshots=message["snapshots"],
                    progress=progress,
                    cancelled=cancelled,
                    trying=lambda trial: self.send(encode("trying", **asdict(trial))),
                    first=message["first"],
                    give_up=message["give_up"],
                )
        except LoadCancelled:
            self.send(encode("cancelled", id=LOAD_ID))
            return
        except GistreadError as error:
            self.send(encode("failed", message=error.message, hint=error.hint))
            return
        embeds = message["kind"] == "load_embedder"
        self._scheduler = Embedding(model, self.send) if embeds else Scheduler(model, self.send)
        self._model = model
        pinnable_tokens = 0 if isinstance(self._scheduler, Embedding) else self._scheduler.pinnable_tokens
        self.send(
            encode(
                "ready",
                context_tokens=model.context_tokens,
                device=model.device,
                on_gpu=model.on_gpu,
                threads=model.threads,
                library=library(),
                parallel=model.parallel,
                dimension=model.context.dimension,
                placement=model.placement,
                pinnable_tokens=pinnable_tokens,
            )
        )

    def _measure_rates(self, least_share: float) -> None:
        """Before the first request: nothing else runs meanwhile."""
        rates: Rates | None = None
        if self._model is not None:
            with contextlib.suppress(DisturbedError, MemoryError, DecodeError, LoadCancelled):
                rates = measure_rates(self._model, least_share=least_share, cancelled=self._load_cancelled.is_set)
        self.send(encode("measured", rates=rates, parallel=parallel_of(rates) if rates else None))

    def _take_messages(self) -> None:
        """Everything that has arrived; wait for something when there is nothing to do."""
        wait = self._scheduler is None or self._scheduler.idle
        while True:
            try:
                message = self._inbox.get(block=wait)
            except queue.Empty:
                return
            wait = False
            match message["kind"]:
                case "cancel":
                    if self._scheduler is not None:
                        self._scheduler.cancel(message["id"])
                case "measure_rates":
                    self._measure_rates(message["least_share"])
                case "held":
                    self._tell_held(message)
                case "configure":
                    if self._model is not None:
                        self._model.parallel = message["parallel"]
                case _:
                    self._submit(message)

    def _submit(self, message: Message) -> None:
        def answer(model: LoadedModel) -> bytes:
            match self._scheduler:
                case Scheduler() as scheduler:
                    scheduler.submit(_request(model, message))
                case Embedding() as embedding:
                    priority = Priority(message["priority"])
                    embedding.submit(embedding_request(model, message["id"], message["texts"], priority))
            return b""

        if refusal := self._guarded(message["id"], answer):
            self.send(refusal)

    def _tell_held(self, message: Message) -> None:
        """Of each prompt whether its stable beginning lies in the cache or in memory."""

        def answer(model: LoadedModel) -> bytes:
            scheduler = self._scheduler
            assert isinstance(scheduler, Scheduler)
            held = [scheduler.holds(_stable_beginning(model, prompt)) for prompt in message["prompts"]]
            return encode("held", id=message["id"], held=held)

        self.send(self._guarded(message["id"], answer))

    def _guarded(self, request_id: int, answer: Callable[[LoadedModel], bytes]) -> bytes:
        """What `answer` says, or that it failed: no request may end the process or stay without an end."""
        if self._model is None:
            return encode("error", id=request_id, message="no model is loaded")
        try:
            return answer(self._model)
        except PromptTooLongError as error:
            return encode(
                "refused",
                id=request_id,
                prompt_tokens=error.prompt_tokens,
                answer_tokens=error.answer_tokens,
                context_tokens=error.context_tokens,
            )
        except Exception as error:
            return encode("error", id=request_id, message=str(error) or type(error).__name__)


def _chat(messages: list[Message]) -> list[ChatMessage]:
    return [ChatMessage(item["role"], item["content"]) for item in messages]


def _request(model: LoadedModel, message: Message) -> Request:
    """The request of a message. Raises PromptTooLongError, and ValueError for a grammar that is none."""
    prompt = model.weights.prompt_tokens(_chat(message["prompt"]))
    options = message.get("options")
    sampling = Sampling(**message.get("sampling", {}))
    # One token more than an option has: the end of the turn may be what decides.
    max_tokens = max(len(model.weights.tokens_of(o)) for o in options) + 1 if options else sampling.max_tokens
    sampler: FreeSampler | OptionSampler | None
    scorer: Scorer | None = None
    stable = _stable_tokens(model, message["prompt"], prompt)
    holds = message["kind"] == "hold"
    if message["kind"] in ("prepare", "hold"):
        prompt, max_tokens, sampler = prompt[:stable], 0, None
    elif message["kind"] == "score":
        scorer = Scorer(len(prompt), model.weights.tokens_of(message["continuation"]))
        prompt, max_tokens, sampler = prompt + scorer.evaluated, 0, None
    elif options:
        sampler = OptionSampler(model.weights, options)
        prompt += sampler.begun
    else:
        sampler = FreeSampler(model.weights, sampling)
    if len(prompt) + max_tokens > model.context_tokens:
        raise PromptTooLongError(len(prompt), max_tokens, model.context_tokens)
    return Request(
        id=message["id"],
        priority=Priority(message["priority"]),
        prompt=prompt,
        max_tokens=max_tokens,
        sampler=sampler,
        stream=TextStream(sampling.stop),
        scorer=scorer,
        stable=0 if holds else stable,  # What is held is not written to disk.
        holds=holds,
    )


def _stable_beginning(model: LoadedModel, messages: list[Message]) -> list[int]:
    """The tokens of a prompt that others will begin with too."""
    prompt = model.weights.prompt_tokens(_chat(messages))
    return prompt[: _stable_tokens(model, messages, prompt)]


def _stable_tokens(model: LoadedModel, messages: list[Message], prompt: list[int]) -> int:
    """How many tokens of this prompt others will begin with too: those of the text said to be stable."""
    *before, last = messages
    if not last["stable"]:
        return 0
    beginning = [*before, {**last, "content": last["content"][: last["stable"]]}]
    return common_prefix(model.weights.prompt_tokens(_chat(beginning)), prompt)


def _leave_no_dump() -> None:
    """A failed assertion of llama.cpp would write all of the memory, the book in it, beside the person's files."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # there is none on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def main() -> None:
    # Ctrl+C in the terminal reaches every process of the group; what it means is the client's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_NICENESS)
    _leave_no_dump()
    pipe = os.dup(1)
    os.dup2(2, 1)
    worker = Worker(sys.stdin.buffer, os.fdopen(pipe, "wb"))
    try:
        worker.run()
    except Exception:
        traceback.print_exc()  # To the log. The reader thread would keep the interpreter from ending in order.
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
