"""One answer of a model, over the protocol that all servers share (`POST …/chat/completions`): its pieces, its end.

What a server refuses to be told (a setting that it does not have) is left out from then on. Nothing is asked again
here for any other reason.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

from gistread import prompts
from gistread.engine.protocol import Message, Prompt, Sampling
from gistread.engine.remote.connection import DONE, Connection, Json
from gistread.engine.remote.dialects import Dialect
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError, is_crowded

_NEEDED = {"model", "messages"}
_LLAMA_SAMPLING = {
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "repeat_last_n": 64,
    "dry_base": 1.75,
    "dry_allowed_length": 3,
    "dry_penalty_last_n": 64,
}
"""So that it samples nearly as our own engine does, which looks back at 256 tokens that it has decoded. This one counts
the prompt's among them, and what is being asked about must not become less likely: so it looks back only as far as the
task at the end of the prompt goes."""
_RUNAWAY = 4
"""Pieces for each token asked for, after which a server that knows no limit is left."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked for."""

    prompt: Prompt
    sampling: Sampling
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What else the server is told: the form of the answer."""
    likely: int = 0
    """How many other tokens to tell for each, where the server does."""

    @property
    def formless(self) -> bool:
        """Whether the answer should have a form that the server cannot be told of."""
        return bool(self.sampling.grammar) and not self.extra


@dataclass(frozen=True, slots=True)
class TokenProbability:
    """A token, and which could have stood in its place, with the logarithms of their probabilities."""

    token: str
    logarithm: float
    others: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """Some more of the text."""

    text: str
    likely: tuple[TokenProbability, ...] = ()
    thought: bool = False
    """The model is thinking, which is no part of the text."""


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The end of the text, and what it cost as far as the server says."""

    finish: Literal["end", "length"]
    prompt_tokens: int = 0
    reused: int = 0
    generated: int = 0


class Chat:
    """Asks one model of one server."""

    def __init__(self, connection: Connection, base: str, model: str, dialect: Dialect) -> None:
        self._connection = connection
        self._path = f"{base}/chat/completions"
        self._model = model
        self._dialect = dialect
        self._left_out: set[str] = set()
        """Fields that this server refuses."""

    async def ask(self, request: Request) -> AsyncGenerator[AnswerPiece | AnswerEnd]:
        """The answer. Raises RequestRefusedError, ServerLostError."""
        while True:
            body = self._body(request)
            begun = False
            try:
                async with aclosing(self._answer(body, request.sampling.max_tokens)) as answer:
                    async for event in answer:
                        begun = True
                        yield event
                return
            except RequestRefusedError as refusal:
                # What was asked for in particular must not be lost in silence.
                refused = _refused_field(refusal, body, {*_NEEDED, *request.extra})
                if begun or not refused:
                    raise
                self._left_out.add(refused)

    async def prompt_tokens(self, prompt: Prompt) -> int:
        """Of a short prompt, chat template included; 0 where the server does not tell. Raises as `ask`."""
        body = {**self._body(Request(prompt, Sampling(max_tokens=1))), "stream": False}
        body.pop("stream_options", None)
        answer = await self._connection.post(self._path, body)
        return _ended("", answer.get("usage") if isinstance(answer, dict) else None, 0).prompt_tokens

    async def _answer(self, body: Json, max_tokens: int) -> AsyncGenerator[AnswerPiece | AnswerEnd]:
        usage: Json = {}
        finish, pieces, whole = "", 0, False
        async with aclosing(self._connection.stream(self._path, body)) as events:
            try:
                async for event in events:
                    if event is DONE:
                        whole = True
                        break
                    said, ended = _read(event)
                    finish, usage = ended or finish, event.get("usage") or usage
                    if said is not None:
                        pieces += 1
                        yield said
                    if pieces > _RUNAWAY * max_tokens + 64:
                        finish = "length"
                        break
            except ServerLostError:
                if not finish:  # All that is missing is what it cost.
                    raise
        if not finish and (not whole or self._dialect.cuts_off):
            raise ServerLostError("broke off in the middle of an answer")
        yield _ended(finish, usage, pieces)

    def _body(self, request: Request) -> dict[str, Any]:
        prompt, sampling, dialect = request.prompt, request.sampling, self._dialect
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": one.role, "content": one.content} for one in self._conversation(prompt)],
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
            **dialect.no_thinking,
            **dialect.unlike_model,
        }
        if prompt[-1].role == "assistant" and dialect.continues:
            body |= dialect.continues
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if dialect.repetition != "frequency_penalty":
            body[dialect.repetition] = sampling.repeat_penalty  # Named always: the usual value differs.
        elif sampling.repeat_penalty != 1.0:
            body["frequency_penalty"] = round(sampling.repeat_penalty - 1.0, 3)
        if dialect.samples_as_llama:
            body |= {**_LLAMA_SAMPLING, "dry_multiplier": sampling.dry_multiplier}
        if request.likely:
            body |= {"logprobs": True, "top_logprobs": request.likely}
        if "max_tokens" in self._left_out:
            body["max_completion_tokens"] = body["max_tokens"]  # OpenAI's newer name
        return {name: value for name, value in body.items() if name not in self._left_out} | dict(request.extra)

    def _conversation(self, prompt: Prompt) -> Sequence[Message]:
        """The messages; where a begun answer cannot be continued, what has been said of it becomes part of the task."""
        if prompt[-1].role != "assistant" or self._dialect.continues is not None or len(prompt) < 2:
            return prompt
        *before, task, begun = prompt
        more = prompts.load("server_continue").fill(said=begun.content.strip())
        return (*before, Message(task.role, f"{task.content}\n\n{more}"))


def _read(event: Json) -> tuple[AnswerPiece | None, str]:
    """What an event adds to the text, if anything, and why the text ends, if it does."""
    match event:
        case {"error": error} if error:
            raise _failed(error)
        case {"choices": [{**choice}, *_]}:
            said = choice.get("delta") or choice.get("message") or {}
            said = said if isinstance(said, dict) else {}
            text = said.get("content")
            thought = bool(said.get("reasoning_content") or said.get("reasoning"))
            likely = _likely(choice.get("logprobs"))
            finish = choice.get("finish_reason")
            piece = (
                AnswerPiece(text if isinstance(text, str) else "", likely, thought)
                if text or likely or thought
                else None
            )
            return piece, finish if isinstance(finish, str) else ""
        case {}:
            return None, ""
    raise ServerLostError("answered with something that is no answer of a model")


def _failed(error: Json) -> Exception:
    """An error that comes in place of the rest of an answer."""
    said = error.get("message", "") if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    code = int(code) if isinstance(code, str) and code.isdecimal() else code  # LiteLLM's are strings.
    if isinstance(code, int) and 400 <= code < 500 and code not in (408, 429):
        return RequestRefusedError(code, str(said))
    reason = f"failed in the middle of an answer ({str(said)[:200]})"
    return ServerLostError(reason, busy=code in (429, 503), crowded=is_crowded(str(said)))


def _likely(logprobs: Json) -> tuple[TokenProbability, ...]:
    match logprobs:
        case {"content": [*tokens]}:
            return tuple(
                TokenProbability(
                    str(one["token"]),
                    float(one["logprob"]),
                    {str(other["token"]): float(other["logprob"]) for other in one.get("top_logprobs") or ()},
                )
                for one in tokens
                if isinstance(one, dict) and isinstance(one.get("logprob"), int | float) and "token" in one
            )
    return ()


def _ended(finish: str, usage: Json, pieces: int) -> AnswerEnd:
    """Where the server does not say what it cost, a piece is taken for a token."""

    def number(value: object) -> int:
        return value if isinstance(value, int) and value > 0 else 0

    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    return AnswerEnd(
        "length" if finish == "length" else "end",
        number(usage.get("prompt_tokens")),
        number(details.get("cached_tokens")) if isinstance(details, dict) else 0,
        number(usage.get("completion_tokens")) or pieces,
    )


def _refused_field(refusal: RequestRefusedError, body: Mapping[str, Any], kept: set[str]) -> str:
    """The field that a server does not take, if its message names one that can be done without."""
    if refusal.status not in (400, 422) or refusal.is_too_long:
        return ""
    named = [name for name in body if name not in kept and name in refusal.said]
    return max(named, key=len, default="")
