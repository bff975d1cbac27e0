"""The worker process: reads messages from a socket, and writes events to it.

Its argument is the socket's descriptor. Whatever is printed goes to a log file. The reader thread
answers counts at once and passes other requests to the main loop, which it interrupts for urgent
ones. When the connection closes, the process exits at once.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from typing import BinaryIO

from gistread.engine.llama import messages
from gistread.engine.llama.worker.loading import LayoutError, LoadedModel, load
from gistread.engine.llama.worker.prefix_tree import common_prefix
from gistread.engine.llama.worker.requests import ScheduledRequest, TextStream
from gistread.engine.llama.worker.sampling import FreeSampler, OptionSampler, Sampler
from gistread.engine.llama.worker.scheduler import Scheduler
from gistread.engine.llama.worker.system_info import library_build
from gistread.engine.protocol import Message
from gistread.errors import GistreadError, PromptTooLongError, traceback_text
from gistread.system import disable_core_dumps, lower_priority

_NICENESS = 5  # On few cores the user interface has priority over the model


class Worker:
    """The connection, and the scheduler once the model is loaded."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._writing = threading.Lock()
        self._inbox: queue.SimpleQueue[
            tuple[int, messages.Request | messages.Command]
        ] = queue.SimpleQueue()
        # Once the model is loaded; no request comes before
        self._scheduler: Scheduler | None = None

    def run(self) -> None:
        """Load the model that the first message names, then work on requests for good."""
        reader = threading.Thread(target=self._read, name="reader", daemon=True)
        reader.start()
        _, message = self._inbox.get()
        assert isinstance(message, messages.Load)
        self._load(message)
        while self._scheduler is not None:
            self._take_messages(self._scheduler)
            self._scheduler.step()
        reader.join()  # Nothing was loaded: the client closes the connection

    def send(
        self, event: messages.Loaded | messages.Event, request_id: int = 0
    ) -> None:
        with self._writing, contextlib.suppress(ConnectionError):
            self._outgoing.write(messages.encode(event, request_id))
            self._outgoing.flush()

    # In the reader thread.

    def _read(self) -> None:
        """Take messages until the connection closes, then end the process."""
        with contextlib.suppress(ConnectionError):
            for line in self._incoming:
                try:
                    request_id, message = messages.decode(line)
                except ValueError as error:
                    sys.stderr.write(f"From the client: {error}\n")
                    sys.stderr.flush()
                else:
                    self._receive(request_id, message)
        os._exit(0)  # At once: the main loop may be in llama.cpp for seconds.

    def _receive(
        self, request_id: int, message: messages.Request | messages.Command
    ) -> None:
        """Answer a count at once; queue other messages, and interrupt the main loop for them."""
        if isinstance(message, messages.Count):
            self._answer(request_id, message)
            return
        self._inbox.put((request_id, message))
        if self._scheduler is not None:
            match message:
                case messages.Cancel():
                    self._scheduler.interrupt_for(None, request_id=request_id)
                case messages.Generate() | messages.Choose():
                    self._scheduler.interrupt_for(message.priority)

    # In the main loop.

    def _load(self, message: messages.Load) -> None:
        """Load the model, and reply whether that succeeded."""
        try:
            model = load(message, self.send)
        except GistreadError as error:
            next_may_succeed = isinstance(error, LayoutError)
            self.send(messages.Failed(error.message, error.hint, next_may_succeed))
            return
        self._scheduler = Scheduler(model, self.send)
        self.send(messages.Loaded(model.info, library_build()))

    def _take_messages(self, scheduler: Scheduler) -> None:
        """Handle the messages that have come; wait for one while there is no work."""
        while scheduler.idle or not self._inbox.empty():
            request_id, message = self._inbox.get()
            match message:
                case messages.Cancel():
                    scheduler.cancel(request_id)
                case messages.Generate() | messages.Choose():
                    self._answer(request_id, message)

    # In either thread.

    def _answer(self, request_id: int, request: messages.Request) -> None:
        """Answer, or let the scheduler answer later.

        No request may end the process or stay unanswered.
        """
        try:
            assert self._scheduler is not None
            model = self._scheduler.model
            if isinstance(request, messages.Count):
                self.send(messages.Counted(_count(model, request)), request_id)
            else:
                self._scheduler.submit(_scheduled(model, request_id, request))
        except PromptTooLongError as error:
            too_long = messages.TooLong(
                error.prompt_tokens, error.answer_tokens, error.context_tokens
            )
            self.send(too_long, request_id)
        except Exception as error:
            self.send(messages.Failed(str(error) or type(error).__name__), request_id)


def _count(model: LoadedModel, request: messages.Count) -> int:
    """Tokens of a prompt or a text."""
    if request.prompt:
        return len(model.weights.prompt_tokens(request.prompt))
    return len(model.weights.tokens_of(request.text))


def _scheduled(
    model: LoadedModel, request_id: int, message: messages.Generate | messages.Choose
) -> ScheduledRequest:
    """The request for the scheduler.

    Raises PromptTooLongError, and ValueError for an invalid grammar.
    """
    weights = model.weights
    prompt = weights.prompt_tokens(message.prompt)
    cacheable = _cacheable_tokens(model, message.prompt, prompt)
    sampler: Sampler
    stop: tuple[str, ...] = ()
    match message:
        case messages.Choose():
            longest = max(len(weights.tokens_of(option)) for option in message.options)
            max_tokens = longest + 1  # The end of the turn may decide.
            sampler = OptionSampler(weights, message.options)
            prompt += sampler.common_tokens
        case messages.Generate():
            max_tokens = message.sampling.max_tokens
            stop = message.sampling.stop
            sampler = FreeSampler(weights, message.sampling)
            if message.only_warms and cacheable:
                prompt = prompt[:cacheable]
    if len(prompt) + max_tokens > model.info.context_tokens:
        raise PromptTooLongError(len(prompt), max_tokens, model.info.context_tokens)
    return ScheduledRequest(
        id=request_id,
        priority=message.priority,
        prompt=prompt,
        max_tokens=max_tokens,
        sampler=sampler,
        stream=TextStream(stop),
        cacheable=cacheable,
        allow_kv_shift=message.prompt[-1].allow_kv_shift,
    )


def _cacheable_tokens(
    model: LoadedModel, prompt: Sequence[Message], tokens: list[int]
) -> int:
    """How many of a prompt's tokens belong to its cacheable beginning."""
    *before, last = prompt
    if not last.cacheable_prefix:
        return 0
    prefix = last.content[: last.cacheable_prefix]
    beginning = [*before, Message(last.role, prefix)]
    # The template ends the beginning in another way.
    return common_prefix(model.weights.prompt_tokens(beginning), tokens)


def main() -> None:
    # Ctrl+C in the terminal reaches the whole process group; the client decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)  # Prompt cache files contain text of the book
    lower_priority(_NICENESS)
    # A failed assertion of llama.cpp would write a core dump, with the book, into the current
    # folder.
    disable_core_dumps()
    descriptor = int(sys.argv[1])
    incoming = os.fdopen(descriptor, "rb")
    outgoing = os.fdopen(os.dup(descriptor), "wb")
    worker = Worker(incoming, outgoing)
    try:
        worker.run()
    except Exception as error:
        sys.stderr.write(traceback_text(error))  # To the log
        sys.stderr.flush()
        os._exit(1)  # The reader thread would keep the interpreter from exiting.


if __name__ == "__main__":
    main()
