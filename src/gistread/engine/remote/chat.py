"""Requests to a server's chat endpoint.

Optional fields that the server refuses are left out of later requests.
"""

import math
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from gistread.engine.protocol import NO_USAGE, Finish, Prompt, Sampling, Usage
from gistread.engine.remote.connection import DONE, Connection, Json, member
from gistread.engine.remote.discovery import DiscoveredModel, tokens_of
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError

# A piece of text for the estimate: a word, a digit, another sign of ASCII, a letter of the Latin
# supplements, any other character, line breaks. `Gist 12!` has four.
_PIECE = re.compile(
    r"[A-Za-z]+|[0-9]|[^\sA-Za-z0-9\u0080-\U0010ffff]|[\u0080-\u02af]|[\u02b0-\U0010ffff]|\n+"
)
_REFUSES_FIELD = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
# An answer in more pieces or characters than this is cut off: the server ignores `max_tokens`.
_PIECES_PER_TOKEN = 4
_SPARE_PIECES = 64
_CHARACTERS_PER_PIECE = 16
# Why servers end an answer before the model does; "error" comes with an event of its own.
_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "filter"}
# Types of the parts of a message that hold reasoning
_THOUGHT_PARTS = ("thinking", "reasoning")


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
        # Constraints must not be dropped silently.
        required = {"model", "messages", *request.extra}
        while True:
            body = self._body(request)
            has_started = False
            try:
                answering = self._answer(body, request.sampling.max_tokens, is_last)
                async with aclosing(answering) as answer:
                    async for event in answer:
                        has_started = True
                        yield event
                return
            except RequestRefusedError as refusal:
                optional = [name for name in body if name not in required]
                refused = _refused_field(refusal, optional)
                if has_started or not refused:
                    raise
                self.unsupported.add(refused)  # The next body is without it.

    async def _answer(
        self, body: Json, max_tokens: int, is_last: bool
    ) -> AsyncGenerator[AnswerPiece | AnswerEnd]:
        """Send one request; yield the pieces of the answer, then its end.

        Raises RequestRefusedError, ServerLostError.
        """
        usage: Json = {}
        finish = ""
        is_whole = False
        pieces = 0
        characters = 0
        # Some servers ignore the limit.
        most_pieces = _PIECES_PER_TOKEN * max_tokens + _SPARE_PIECES
        most_characters = most_pieces * _CHARACTERS_PER_PIECE
        path = f"{self.model.base}/chat/completions"
        streaming = self.connection.stream(path, body, is_last=is_last)
        async with aclosing(streaming) as events:
            try:
                async for event in events:
                    if event is DONE:
                        is_whole = True
                        break
                    piece, event_finish = _read(event)
                    finish = event_finish or finish
                    usage = event.get("usage") or usage
                    if piece is not None:
                        text = piece.text[: most_characters - characters]
                        pieces += 1
                        characters += len(text)
                        yield replace(piece, text=text)
                    if pieces > most_pieces or characters >= most_characters:
                        finish = "length"
                        break
            except ServerLostError:
                # After the finish, only the usage is missing.
                if not finish:
                    raise
        if not finish and not is_whole:
            raise ServerLostError("broke off in the middle of an answer")
        yield _end_of(finish, usage, pieces)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        """The body of a request, without fields that the server has refused.

        It has no penalties: each server has defaults that suit its models.
        """
        sampling = request.sampling
        messages = [
            {"role": message.role, "content": message.content}
            for message in request.prompt
        ]
        body: dict[str, Any] = {
            "model": self.model.model,
            "messages": messages,
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
        for name in self.unsupported:
            body.pop(name, None)
        return {**body, **request.extra}


def _read(event: Json) -> tuple[AnswerPiece | None, str]:
    """The piece of an answer in an event, if any, and why the answer ends, if it does.

    Raises ServerLostError for an event of an unknown form.
    """
    match event:
        case {"choices": [{**choice}, *_]}:
            message = choice.get("delta") or choice.get("message")
            text, is_thought = _parts(member(message, "content"))
            if member(message, "reasoning_content") or member(message, "reasoning"):
                is_thought = True
            piece = AnswerPiece(text, is_thought) if text or is_thought else None
            finish = choice.get("finish_reason")
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
    joined = "".join(text for text in texts if isinstance(text, str))
    has_thought = any(member(part, "type") in _THOUGHT_PARTS for part in parts)
    return joined, has_thought


def _end_of(finish: str, usage: Json, pieces: int) -> AnswerEnd:
    """The end of an answer. Without reported usage, a piece counts as a token."""
    prompt_tokens = tokens_of(member(usage, "prompt_tokens")) or 0
    details = member(usage, "prompt_tokens_details")
    reused = tokens_of(member(details, "cached_tokens")) or 0
    prefilled = max(0, prompt_tokens - reused)
    generated = tokens_of(member(usage, "completion_tokens")) or pieces
    return AnswerEnd(_FINISHES.get(finish, "end"), Usage(prefilled, reused, generated))


def _refused_field(refusal: RequestRefusedError, fields: Sequence[str]) -> str:
    """The one of these fields that the server refuses, going by its message; empty if none."""
    if refusal.status not in _REFUSES_FIELD or refusal.is_too_long:
        return ""
    mentioned = [name for name in fields if name in refusal.message]
    # A message about `stream_options` contains `stream` too.
    return max(mentioned, key=len, default="")


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
    """Most tokens that a vocabulary splits a piece into."""
    if piece.isascii():
        return math.ceil(len(piece) / _CHARACTERS_PER_TOKEN)
    return 1 if piece <= _LAST_OF_ALPHABETS else 2


def estimate_prompt(prompt: Prompt) -> int:
    """Tokens of a prompt, with those of an unknown chat template and its own system prompt."""
    further_messages = len(prompt) - 1
    template_tokens = _TEMPLATE_TOKENS + _MESSAGE_TOKENS * further_messages
    return template_tokens + sum(estimate(message.content) for message in prompt)
