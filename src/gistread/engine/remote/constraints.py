"""Constrains an answer to a set of options: the request fields of each method, and reading the reply.

Replies are always checked, since a server may silently ignore unknown fields.
"""

import json
from collections.abc import Sequence
from typing import Any

from gistread.engine.remote.dialects import ConstraintMethod

_CHOICE = "choice"
_EXTRA_TOKENS, _EXTRA_TOKENS_JSON = 24, 96
"""Tokens added to those of the option; weak models pad JSON with white space."""
_TRIMMED = " \t\r\n\"'`*_.,:;!()“”‘’«»"
_SPECIAL = frozenset("\\.^$*+?{}[]()|/-")


def choice_fields(method: ConstraintMethod, options: Sequence[str]) -> dict[str, Any]:
    """Fields that constrain the answer to one of the options."""
    match method:
        case ConstraintMethod.GRAMMAR:
            return {"grammar": "root ::= " + " | ".join(map(_in_grammar, options))}
        case ConstraintMethod.STRUCTURED:
            return {"structured_outputs": {"choice": list(options)}}
        case ConstraintMethod.GUIDED:
            return {"guided_choice": list(options)}
        case ConstraintMethod.REGEX:
            return {"regex": f"({'|'.join(map(_in_expression, options))})"}
        case ConstraintMethod.JSON_SCHEMA:
            return _json_format({"type": "string", "enum": list(options)})


def grammar_fields(method: ConstraintMethod, grammar: str) -> dict[str, Any]:
    """Fields that constrain the answer to a grammar; empty if the method cannot."""
    match method:
        case ConstraintMethod.GRAMMAR:
            return {"grammar": grammar}
        case ConstraintMethod.STRUCTURED:
            return {"structured_outputs": {"grammar": grammar}}
        case ConstraintMethod.GUIDED:
            return {"guided_grammar": grammar}
        case ConstraintMethod.REGEX:
            return {"ebnf": grammar}
        case ConstraintMethod.JSON_SCHEMA:
            return {}


def chosen(method: ConstraintMethod | None, reply: str, options: Sequence[str]) -> int | None:
    """Index of the option that a reply is; None if it is none of them, or ambiguous.

    Without a method, quotes and punctuation around the option are ignored.
    """
    if method is ConstraintMethod.JSON_SCHEMA:
        try:
            answer = json.loads(reply)
        except ValueError:
            return None
        return _same(answer.get(_CHOICE) if isinstance(answer, dict) else answer, options)
    if method is not None:
        return _same(reply.strip(), [option.strip() for option in options])
    said = [reply.strip(), reply.strip(_TRIMMED), (reply.strip().splitlines() or [""])[0].strip(_TRIMMED)]
    for key in (str.strip, _trimmed, _letters):
        keys = [key(option) for option in options]
        for one in said:
            if (wanted := key(one)) and keys.count(wanted) == 1:
                return keys.index(wanted)
    return None


def max_tokens_for(options: Sequence[str], method: ConstraintMethod | None) -> int:
    """Upper bound of the tokens of any option: no token is shorter than a byte."""
    extra = _EXTRA_TOKENS_JSON if method is ConstraintMethod.JSON_SCHEMA else _EXTRA_TOKENS
    return max(len(json.dumps(option).encode()) for option in options) + extra


def _same(answer: object, options: Sequence[str]) -> int | None:
    return options.index(answer) if isinstance(answer, str) and list(options).count(answer) == 1 else None


def _trimmed(text: str) -> str:
    return text.strip(_TRIMMED).casefold()


def _letters(text: str) -> str:
    """Only letters and digits: `<12>` and `12` are the same label."""
    return "".join(character for character in text.casefold() if character.isalnum())


def _json_format(schema: dict[str, Any]) -> dict[str, Any]:
    """An object with one property: strict schemas allow nothing simpler."""
    whole = {"type": "object", "properties": {_CHOICE: schema}, "required": [_CHOICE], "additionalProperties": False}
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": _CHOICE, "strict": True, "schema": whole}}
    }


def _in_grammar(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _in_expression(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
