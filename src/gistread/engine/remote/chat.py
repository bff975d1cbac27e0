"""Requests to a server's chat endpoint. Optional fields that the server refuses are left out of later requests."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

from gistread import prompts
from gistread.engine.protocol import Message, Prompt, Sampling
from gistread.engine.remote.connection import DONE, Connection, Json
from gistread.engine.remote.dialects import Dialect
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError

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
"""Samples like the local engine, except that llama-server's penalties count prompt tokens too: a shorter range keeps
the text in question from being penalized."""
_RUNAWAY = 4  # Stop reading after this many times `max_tokens`, in case the server ignores the limit


@dataclass(frozen=True, slots=True)
class Request:
    prompt: Prompt
    sampling: Sampling
    extra: Mapping[str, Any] = field(default_factory=dict)  # Additional fields of the body, such as constraints
    logprobs: int = 0  # Alternatives to report for each token, if the server can

    @property
    def lacks_grammar(self) -> bool:
        """Whether a grammar is wanted that the server does not support."""
        return bool(self.sampling.grammar) and not self.extra


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """A token and its alternatives, with the logarithms of their probabilities."""

    token: str
    logprob: float
    others: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    text: str
    logprobs: tuple[TokenLogprobs, ...] = ()
    reasoning: bool = False  # Whether the server reported separate reasoning text


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The end of an answer, and its cost if the server reports it."""

    finish: Literal["end", "length"]
    prompt_tokens: int = 0
    reused: int = 0
    generated: int = 0


@dataclass(frozen=True, slots=True)
class Chat:
    connection: Connection
    path: str
    model: str
    dialect: Dialect
    unsupported: set[str] = field(default_factory=set)

    async def ask(self, request: Request) -> AsyncGenerator[AnswerPiece | AnswerEnd]:
        """Stream an answer. Raises RequestRefusedError, ServerLostError."""
        while True:
            body = self._body(request)
            started = False
            try:
                async with aclosing(self._answer(body, request.sampling.max_tokens)) as answer:
                    async for event in answer:
                        started = True
                        yield event
                return
            except RequestRefusedError as refusal:
                # Constraints must not be dropped silently.
                refused = _refused_field(refusal, body, {*_NEEDED, *request.extra})
                if started or not refused:
                    raise
                self.unsupported.add(refused)

    async def prompt_tokens(self, prompt: Prompt) -> int:
        """Tokens of a short prompt as the server reports them, template included; 0 if unknown. Raises as `ask`."""
        body = {**self._body(Request(prompt, Sampling(max_tokens=1))), "stream": False}
        body.pop("stream_options", None)
        answer = await self.connection.post(self.path, body)
        return _end_of("", answer.get("usage") if isinstance(answer, dict) else None, 0).prompt_tokens

    async def _answer(self, body: Json, max_tokens: int) -> AsyncGenerator[AnswerPiece | AnswerEnd]:
        usage: Json = {}
        finish, pieces, whole = "", 0, False
        async with aclosing(self.connection.stream(self.path, body)) as events:
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
                if not finish:  # Only the usage is missing.
                    raise
        if not finish and (not whole or self.dialect.aborts_answers):
            raise ServerLostError("broke off in the middle of an answer")
        yield _end_of(finish, usage, pieces)

    def _body(self, request: Request) -> dict[str, Any]:
        prompt, sampling, dialect = request.prompt, request.sampling, self.dialect
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": one.role, "content": one.content} for one in self._conversation(prompt)],
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
            **dialect.no_reasoning,
            **dialect.sampling_overrides,
        }
        if prompt[-1].role == "assistant" and dialect.continuation:
            body |= dialect.continuation
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if dialect.repetition != "frequency_penalty":
            body[dialect.repetition] = sampling.repeat_penalty  # Always sent, since defaults differ.
        elif sampling.repeat_penalty != 1.0:
            body["frequency_penalty"] = round(sampling.repeat_penalty - 1.0, 3)
        if dialect.has_llama_sampling:
            body |= {**_LLAMA_SAMPLING, "dry_multiplier": sampling.dry_multiplier}
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        if "max_tokens" in self.unsupported:
            body["max_completion_tokens"] = body["max_tokens"]  # OpenAI's newer name
        return {name: value for name, value in body.items() if name not in self.unsupported} | dict(request.extra)

    def _conversation(self, prompt: Prompt) -> Sequence[Message]:
        if prompt[-1].role != "assistant" or self.dialect.continuation is not None or len(prompt) < 2:
            return prompt
        *before, task, started = prompt
        more = prompts.load("server_continue").fill(said=started.content.strip())
        return (*before, Message(task.role, f"{task.content}\n\n{more}"))


def _read(event: Json) -> tuple[AnswerPiece | None, str]:
    match event:
        case {"error": error} if error:
            raise _failed(error)
        case {"choices": [{**choice}, *_]}:
            said = choice.get("delta") or choice.get("message") or {}
            said = said if isinstance(said, dict) else {}
            text = said.get("content")
            reasoning = bool(said.get("reasoning_content") or said.get("reasoning"))
            logprobs = _logprobs(choice.get("logprobs"))
            finish = choice.get("finish_reason")
            text = text if isinstance(text, str) else ""
            piece = AnswerPiece(text, logprobs, reasoning) if text or logprobs or reasoning else None
            return piece, finish if isinstance(finish, str) else ""
        case {}:
            return None, ""
    raise ServerLostError("sent an answer of an unknown form")


def _failed(error: Json) -> Exception:
    said = error.get("message", "") if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    code = int(code) if isinstance(code, str) and code.isdecimal() else code  # LiteLLM's are strings.
    if isinstance(code, int) and 400 <= code < 500 and code not in (408, 429):
        return RequestRefusedError(code, str(said))
    reason = f"failed in the middle of an answer ({str(said)[:200]})"
    return ServerLostError(reason, busy=code in (429, 503), said=str(said))


def _logprobs(logprobs: Json) -> tuple[TokenLogprobs, ...]:
    match logprobs:
        case {"content": [*tokens]}:
            return tuple(
                TokenLogprobs(
                    str(one["token"]),
                    float(one["logprob"]),
                    {str(other["token"]): float(other["logprob"]) for other in one.get("top_logprobs") or ()},
                )
                for one in tokens
                if isinstance(one, dict) and isinstance(one.get("logprob"), int | float) and "token" in one
            )
    return ()


def _end_of(finish: str, usage: Json, pieces: int) -> AnswerEnd:
    """The end of an answer. Without reported usage, a piece counts as a token."""

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
    if refusal.status not in (400, 422) or refusal.is_too_long:
        return ""
    named = [name for name in body if name not in kept and name in refusal.said]
    return max(named, key=len, default="")
