"""An engine for tests that need the model to say a given thing.

Answers are scripted (a sequence, used up in order) or computed (a function of the prompt's text).
It counts tokens in its own simple way, holds to its window as a real engine does, and keeps account
of the prefix that each prompt shares with the ones before it.
"""

import asyncio
import functools
import json
import os
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace

from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
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
    first_of,
)
from gistread.errors import PromptTooLongError

_TOKEN = re.compile(r"[a-zA-Z0-9]+|[^a-zA-Z0-9\s]")
_TEMPLATE_TOKENS = 4
_SOURCE = "Which of the sentences above tells this answer?"
_ABSENCE = "Does the reply say that the book does not tell this"

Say = str | Completion | Exception
"""What the model is to say.

A text that ends by itself, a whole completion, or an error to raise.
"""


@functools.lru_cache(maxsize=1 << 12)
def tokens_in(text: str) -> int:
    """Runs of ASCII letters and digits, and other characters that are not white space."""
    return len(_TOKEN.findall(text))


@dataclass(frozen=True)
class Call:
    """What the engine was asked."""

    kind: str
    """`complete`, `choose` or `hold`."""
    text: str
    prompt: Prompt
    options: tuple[str, ...] = ()
    sampling: Sampling = GREEDY
    priority: Priority = Priority.INTERACTIVE


class FakeEngine:
    """See the module. Without a script it chooses the first option and says one plain sentence."""

    def __init__(
        self,
        *,
        says: Sequence[Say] | Callable[[str], Say] = lambda _: (
            "Somebody did something somewhere."
        ),
        chooses: Sequence[int | str]
        | Callable[[str, Sequence[str]], int | str] = lambda _, __: 0,
        context_tokens: int = 8192,
        name: str = "fake",
        fingerprint: str = "fake-1",
        count: Callable[[str], int] = tokens_in,
        parallel: int = 1,
    ) -> None:
        self._says = says if callable(says) else list(says)
        self._chooses = chooses if callable(chooses) else list(chooses)
        self._info = EngineInfo(
            name, fingerprint, context_tokens, "nothing at all", parallel
        )
        self._count = count
        self._seen: list[str] = []
        self.calls: list[Call] = []
        self.prepared: list[str] = []
        """The beginnings of prompts that were evaluated in advance."""
        self.source = 0
        """The sentence that it names as the source of an answer."""
        self.absent: frozenset[str] = frozenset()
        """The statements that it takes for "the book does not tell"."""
        self.restarts = 0
        """How many of the next streams are lost once after their first word."""
        self.counted = 0
        """How often `count` and `measure` were asked."""

    @property
    def info(self) -> EngineInfo:
        return self._info

    def pace(self, rates: Rates) -> None:
        """From now on it is known to be this fast."""
        self._info = replace(self._info, rates=rates)

    @property
    def state(self) -> EngineState:
        return EngineState(Phase.IDLE)

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        return lambda: None

    async def start(self) -> EngineInfo:
        return self._info

    async def close(self) -> None:
        pass

    async def count(self, text: str) -> int:
        self.counted += 1
        return self._count(text)

    async def measure(self, prompt: Prompt) -> int:
        self.counted += 1
        return sum(
            _TEMPLATE_TOKENS + self._count(message.content) for message in prompt
        )

    async def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent]:
        form, _, listed = sampling.grammar.partition("\noption ::= ")
        options = re.findall(r'"([^"\n]+)"', listed)
        if form.startswith("root ::= (option"):
            most = int(form.partition("{0,")[2].partition("}")[0])
            reply_text = ", ".join(
                await self._choose_several(prompt, options, most, sampling, priority)
            )
            yield Completion(
                reply_text, "end", Usage(1, 0, self._count(reply_text), 0.01)
            )
            return
        if options:
            choice = await self._chosen("choose", prompt, options, priority)
            reason = self._says(_text(prompt)) if callable(self._says) else ""
            reply_text = json.dumps(
                {"choice": options[choice.index], "told": str(reason)[:160]}
            )
            yield Completion(reply_text, "end", choice.usage)
            return
        usage = await self._take("complete", prompt, (), sampling, priority)
        reply = self._says(_text(prompt)) if callable(self._says) else self._says.pop(0)
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else reply.text
        words = re.findall(r"\s*\S+|\s+$", text)
        if self.restarts and words:
            self.restarts -= 1
            yield TextDelta(words[0])
            yield StreamRestarted("the fake was told to fail")
        for number, word in enumerate(words, start=1):
            await asyncio.sleep(0)
            yield TextDelta(word, Usage(generated=number))
        usage = Usage(usage.prefilled, usage.reused, self._count(text), 0.01)
        yield Completion(text, "end" if isinstance(reply, str) else reply.finish, usage)

    async def prepare(
        self, prompt: Prompt, priority: Priority = Priority.BACKGROUND
    ) -> Usage:
        beginning = prompt[-1].content[: prompt[-1].cacheable_prefix]
        self._seen.append(beginning)
        self.prepared.append(beginning)
        return NO_USAGE

    async def complete(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> Completion:
        return await first_of(self.stream(prompt, sampling, priority), Completion)

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        return await self._chosen("choose", prompt, options, priority)

    async def _chosen(
        self, kind: str, prompt: Prompt, options: Sequence[str], priority: Priority
    ) -> Choice:
        assert options, "nothing to choose from"
        assert len(set(options)) == len(options), "options are not distinct"
        # Asked after any answer without sources; no test scripts it
        if _SOURCE in _text(prompt):
            return Choice(range(len(options))[self.source], None, NO_USAGE)
        if _ABSENCE in _text(prompt):
            is_absent = any(
                f"Reply: {statement}\n" in _text(prompt) for statement in self.absent
            )
            return Choice(0 if is_absent else 1, None, NO_USAGE)
        longest = max(map(self._count, options))
        usage = await self._take(
            kind, prompt, tuple(options), Sampling(max_tokens=longest), priority
        )
        if callable(self._chooses):
            chosen = self._chooses(_text(prompt), options)
        else:
            chosen = self._chooses.pop(0)
        if isinstance(chosen, str):
            index = options.index(chosen)
        else:
            index = range(len(options))[chosen]
        return Choice(index, None, Usage(usage.prefilled, usage.reused, 1, 0.01))

    async def _choose_several(
        self,
        prompt: Prompt,
        options: list[str],
        most: int,
        sampling: Sampling,
        priority: Priority,
    ) -> list[str]:
        """As decided one by one, in one call."""
        await self._take("choose", prompt, (*options, "STOP"), sampling, priority)
        named: list[str] = []
        while len(named) < min(most, len(options)):
            left = [*(option for option in options if option not in named), "STOP"]
            whole_prompt = prompt
            if named:
                whole_prompt = (*prompt, Message("assistant", ", ".join([*named, ""])))
            text = _text(whole_prompt)
            if callable(self._chooses):
                chosen = self._chooses(text, left)
            else:
                chosen = self._chooses.pop(0)
            named.append(chosen if isinstance(chosen, str) else left[chosen])
            if named[-1] == "STOP":
                return named
        return [*named, "STOP"]

    async def _take(
        self,
        kind: str,
        prompt: Prompt,
        options: tuple[str, ...],
        sampling: Sampling,
        priority: Priority,
    ) -> Usage:
        await asyncio.sleep(0)
        text = _text(prompt)
        needed = await self.measure(prompt)
        if needed + sampling.max_tokens > self._info.context_tokens:
            raise PromptTooLongError(
                needed, sampling.max_tokens, self._info.context_tokens
            )
        beginnings = [
            os.path.commonprefix((text, seen))  # noqa: RUF071
            for seen in self._seen
        ]
        reused = self._count(max(beginnings, key=len, default=""))
        self._seen.append(text)
        self.calls.append(Call(kind, text, prompt, options, sampling, priority))
        return Usage(max(0, needed - reused), reused)


def _text(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt)
