"""Lets a model on a server choose an option, or answer in a given form.

By a JSON schema, else by asking in plain words.
"""

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from gistread import prompts
from gistread.engine.protocol import (
    NO_USAGE,
    Choice,
    Completion,
    Message,
    Priority,
    Prompt,
    Sampling,
    StreamEvent,
)
from gistread.engine.remote.chat import ChatRequest
from gistread.engine.remote.failures import RequestRefusedError
from gistread.engine.remote.requester import Requester
from gistread.errors import NoChoiceError

_MOST_MISSES = 2  # Replies outside the schema after which it is no longer sent
# Of servers that take no schema
_REFUSES_SCHEMA = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.NOT_IMPLEMENTED,
)
_ATTEMPTS_IN_WORDS = 2  # The second says what the model replied
_PADDING_TOKENS = 96  # Room for white space around an option
_QUOTED_CHARACTERS = 400  # Of a reply, when it is asked for again
_CHOICE = "choice"
_TRIMMED = " \t\r\n\"'`*_.,:;!()“”‘’«»"
# What may separate an option from a reason: `yes, because he …`, `yes – he …`
_AFTER_OPTION = re.compile(r"[.,:;)\n]|\s[-–—]")
_JSON_OBJECT = re.compile(r"\{.*?\}", re.DOTALL)


async def choose(
    requester: Requester, prompt: Prompt, options: Sequence[str], priority: Priority
) -> Choice:
    """Choose one of the options (distinct, not empty).

    Raises NoChoiceError, and as `Requester.ask`.
    """
    if len(options) == 1:
        return Choice(0, 1.0, NO_USAGE)
    # Enough tokens for any option: no token is shorter than a byte. Weak models pad JSON with white
    # space.
    most_bytes = max(len(json.dumps(option).encode()) for option in options)
    sampling = Sampling(max_tokens=most_bytes + _PADDING_TOKENS)
    usage = NO_USAGE
    request = ChatRequest(prompt, sampling, _schema(options))
    reply = await _ask_in_schema(requester, request, priority)
    if reply is not None:
        usage += reply.usage
        index = match_option(reply.text, options)
        if index is not None:
            return Choice(index, None, usage)
        requester.schema_misses += 1
    choice = await _choose_in_words(requester, prompt, options, sampling, priority)
    return replace(choice, usage=usage + choice.usage)


async def _choose_in_words(
    requester: Requester,
    prompt: Prompt,
    options: Sequence[str],
    sampling: Sampling,
    priority: Priority,
) -> Choice:
    """As `choose`, by a prompt that lists the options."""
    listed = _listed(options)
    task = prompts.load("server_choice").fill(options=listed)
    usage = NO_USAGE
    *before, last = prompt
    for _ in range(_ATTEMPTS_IN_WORDS):
        with_task = (*before, Message(last.role, f"{last.content}\n\n{task}"))
        reply = await requester.ask(ChatRequest(with_task, sampling), priority)
        usage += reply.usage
        index = match_option(reply.text, options)
        if index is not None:
            return Choice(index, None, usage)
        quoted = " ".join(reply.text.split())[:_QUOTED_CHARACTERS] or "…"
        task = prompts.load("server_choice_again").fill(said=quoted, options=listed)
    raise NoChoiceError(
        "The model on the server chose none of the options offered.",
        "Use a server that takes a JSON schema, or another model; `gistread docs models` names "
        "servers.",
    )


async def _ask_in_schema(
    requester: Requester, request: ChatRequest, priority: Priority
) -> Completion | None:
    """The reply to a request with a schema; None if the server takes none, now or before.

    Raises as `Requester.ask`.
    """
    if requester.schema_misses >= _MOST_MISSES:
        return None
    try:
        return await requester.ask(request, priority)
    except RequestRefusedError as refusal:
        if not _may_refuse_schema(refusal):
            raise
        requester.schema_misses = _MOST_MISSES
        return None


def _listed(options: Sequence[str]) -> str:
    """The options as a prompt lists them: in one line if each is one word."""
    if any(" " in option for option in options):
        return "\n" + "\n".join(options)
    return " ".join(options)


async def stream_in_form(
    requester: Requester, prompt: Prompt, sampling: Sampling, priority: Priority
) -> AsyncGenerator[StreamEvent]:
    """Stream an answer, held to the schema of `sampling` if the server takes one.

    Raises as `Requester.stream`.
    """
    if sampling.schema and requester.schema_misses < _MOST_MISSES:
        form = _response_format(json.loads(sampling.schema))
        request = ChatRequest(prompt, sampling, form)
        try:
            async with aclosing(requester.stream(request, priority)) as events:
                async for event in events:
                    yield event
            return
        except RequestRefusedError as refusal:
            if not _may_refuse_schema(refusal):
                raise
            requester.schema_misses = _MOST_MISSES
    free_request = ChatRequest(prompt, sampling)
    async with aclosing(requester.stream(free_request, priority)) as events:
        async for event in events:
            yield event


def _may_refuse_schema(refusal: RequestRefusedError) -> bool:
    """Whether the schema may be the reason for a refusal."""
    return refusal.status in _REFUSES_SCHEMA and not refusal.is_too_long


def match_option(reply: str, options: Sequence[str]) -> int | None:
    """Index of the option that a reply names, as JSON or in words.

    None if it names none, or several.

    >>> match_option("Yes, because he says so.", ["yes", "no"])
    0
    """
    in_json = _from_json(reply)
    candidates = _beginnings(reply) if in_json is None else [in_json]
    # From the exact spelling to letters and digits alone
    for normalize in (str.strip, _trimmed, _letters):
        normal_options = [normalize(option) for option in options]
        for candidate in map(normalize, candidates):
            if candidate and normal_options.count(candidate) == 1:
                return normal_options.index(candidate)
    return None


def _beginnings(reply: str) -> list[str]:
    """A reply, its first line, and its first words: a reason may follow the option."""
    lines = reply.strip().splitlines()
    line = lines[0] if lines else ""
    words = _AFTER_OPTION.split(line, maxsplit=1)[0]
    return [reply, line, words]


def _trimmed(text: str) -> str:
    return text.strip(_TRIMMED).casefold()


def _letters(text: str) -> str:
    """Letters and digits: `<12>` and `12` are the same label."""
    return "".join(filter(str.isalnum, text.casefold()))


def _from_json(reply: str) -> str | None:
    """The choice in a reply that is JSON, or contains an object; None if there is none."""
    for text in (reply, *_JSON_OBJECT.findall(reply)):
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(answer, dict):
            answer = answer.get(_CHOICE)
        if isinstance(answer, str | int):
            return str(answer)
    return None


def _schema(options: Sequence[str]) -> dict[str, Any]:
    """An object with one property: strict schemas allow nothing simpler."""
    properties = {_CHOICE: {"type": "string", "enum": list(options)}}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [_CHOICE],
        "additionalProperties": False,
    }
    return _response_format(schema)


def _response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """The field of a request's body that holds the answer to a schema."""
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": _CHOICE, "strict": True, "schema": schema},
        }
    }
