"""Requests to a server's chat endpoint.

Optional fields that the server refuses are left out of later requests.
"""

import math
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from gistread.engine.protocol import NO_USAGE, Finish, Prompt, Sampling, Usage
from gistread.engine.remote.connection import DONE, Connection, Json, member
from gistread.engine.remote.discovery import DiscoveredModel, tokens_of
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError

_PIECE = re.compile(
    r"[A-Za-z]+|[0-9]|[^\sA-Za-z0-9\u0080-\U0010ffff]|[\u0080-\u02af]|[\u02b0-\U0010ffff]|\n+"
)
_REFUSES_FIELD = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
# An answer in more pieces or characters has more tokens than were asked for.
_PIECES_PER_TOKEN = 4
_SPARE_PIECES = 64
_CHARACTERS_PER_PIECE = 16
# Why servers end an answer before the model does; "error" comes with an event of its own.
_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "filter"}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    prompt: Prompt
    sampling: Sampling
    # Additional fields of the body, such as a JSON schema
    extra: Mapping[str, Any] = field(default_factory=dict)
    # Whether only the server's prefix cache matters, not the answer
    only_warms: bool = False


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    text: str
    reasoning: bool = False  # Whether the server reported separate reasoning text


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    finish: Finish
    usage: Usage = NO_USAGE  # If the server reports it


@dataclass(frozen=True, slots=True)
class Chat:
    connection: Connection
    model: DiscoveredModel
    unsupported: set[str] = field(default_factory=set)

    async def ask(
        self, request: ChatRequest, *, is_last: bool = False
    ) -> AsyncGenerator[AnswerPiece | AnswerEnd]:
        """Stream an answer.

        `is_last`: no other attempt follows. Raises RequestRefusedError, ServerLostError.
        """
        while True:
            body = self._body(request)
            started = False
            try:
                async with aclosing(
                    self._answer(body, request.sampling.max_tokens, is_last)
                ) as answer:
                    async for event in answer:
                        started = True
                        yield event
                return
            except RequestRefusedError as refusal:
                # Constraints must not be dropped silently.
                refused = _refused_field(
                    refusal, body, {"model", "messages", *request.extra}
                )
                if started or not refused:
                    raise
                self.unsupported.add(refused)

    async def _answer(
        self, body: Json, max_tokens: int, is_last: bool
    ) -> AsyncGenerator[AnswerPiece | AnswerEnd]:
        usage: Json = {}
        finish = ""
        is_whole = False
        pieces = 0
        characters = 0
        # Some servers ignore the limit.
        most_pieces = _PIECES_PER_TOKEN * max_tokens + _SPARE_PIECES
        most_characters = most_pieces * _CHARACTERS_PER_PIECE
        path = f"{self.model.base}/chat/completions"
        async with aclosing(
            self.connection.stream(path, body, is_last=is_last)
        ) as events:
            try:
                async for event in events:
                    if event is DONE:
                        is_whole = True
                        break
                    piece, ended = _read(event)
                    finish = ended or finish
                    usage = event.get("usage") or usage
                    if piece is not None:
                        piece = replace(
                            piece, text=piece.text[: most_characters - characters]
                        )
                        pieces += 1
                        characters += len(piece.text)
                        yield piece
                    if pieces > most_pieces or characters >= most_characters:
                        finish = "length"
                        break
            except ServerLostError:
                if not finish:  # Only the usage is missing.
                    raise
        if not finish and not is_whole:
            raise ServerLostError("broke off in the middle of an answer")
        yield _end_of(finish, usage, pieces)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        """Without penalties: each server has defaults that suit its models."""
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self.model.model,
            "messages": [
                {"role": message.role, "content": message.content}
                for message in request.prompt
            ],
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self.model.dialect.no_reasoning,
        }
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if "max_tokens" in self.unsupported:
            body["max_completion_tokens"] = body["max_tokens"]  # OpenAI's newer name
        return {
            name: value for name, value in body.items() if name not in self.unsupported
        } | dict(request.extra)


def _read(event: Json) -> tuple[AnswerPiece | None, str]:
    match event:
        case {"choices": [{**choice}, *_]}:
            message = choice.get("delta") or choice.get("message")
            text, thinks = _parts(member(message, "content"))
            separate = member(message, "reasoning_content") or member(
                message, "reasoning"
            )
            reasoning = thinks or bool(separate)
            finish = choice.get("finish_reason")
            piece = AnswerPiece(text, reasoning) if text or reasoning else None
            return piece, finish if isinstance(finish, str) else ""
        case {}:
            return None, ""
    raise ServerLostError("sent an answer of an unknown form")


def _parts(content: Json) -> tuple[str, bool]:
    """The text of a message, a string or a list of parts, and whether a part is reasoning."""
    if isinstance(content, str):
        return content, False
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else member(part, "text") for part in parts]
    kinds = [member(part, "type") for part in parts]
    joined = "".join(text for text in texts if isinstance(text, str))
    return joined, bool({"thinking", "reasoning"} & set(map(str, kinds)))


def _end_of(finish: str, usage: Json, pieces: int) -> AnswerEnd:
    """The end of an answer. Without reported usage, a piece counts as a token."""
    reused = (
        tokens_of(member(member(usage, "prompt_tokens_details"), "cached_tokens")) or 0
    )
    prefilled = max(0, (tokens_of(member(usage, "prompt_tokens")) or 0) - reused)
    generated = tokens_of(member(usage, "completion_tokens")) or pieces
    return AnswerEnd(_FINISHES.get(finish, "end"), Usage(prefilled, reused, generated))


def _refused_field(
    refusal: RequestRefusedError, body: Mapping[str, Any], kept: set[str]
) -> str:
    if refusal.status not in _REFUSES_FIELD or refusal.is_too_long:
        return ""
    named = [name for name in body if name not in kept and name in refusal.message]
    return max(named, key=len, default="")


_TEMPLATE_TOKENS = 48  # Of a template with a system prompt, and of the first message
_MESSAGE_TOKENS = 8  # Of the template around each further one
_CHARACTERS_PER_TOKEN = 5  # Of a piece of ASCII, at most
_LAST_OF_ALPHABETS = "\u2e7f"  # After it come the scripts of East Asia


def estimate(text: str) -> int:
    """Tokens of a text in common vocabularies, at most.

    It depends on the text alone: all servers get equal pages.
    """
    return sum(map(_most_tokens, _PIECE.findall(text)))


def _most_tokens(piece: str) -> int:
    if piece.isascii():
        return math.ceil(len(piece) / _CHARACTERS_PER_TOKEN)
    return 1 if piece <= _LAST_OF_ALPHABETS else 2


def estimate_prompt(prompt: Prompt) -> int:
    """Tokens of a prompt, with those of an unknown chat template and its own system prompt."""
    further = len(prompt) - 1
    template = _TEMPLATE_TOKENS + _MESSAGE_TOKENS * further
    return sum(estimate(message.content) for message in prompt) + template
