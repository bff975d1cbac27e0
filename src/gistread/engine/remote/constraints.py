"""An answer that must be one of a few: how each kind of server is told, and how its reply is read.

Replies are checked whatever was asked for: a server that does not know a field may ignore it in silence.
"""

import json
from collections.abc import Sequence
from typing import Any

from gistread.engine.remote.dialects import ConstraintMethod

_CHOICE = "choice"
_AROUND, _AROUND_JSON = 24, 96
"""Tokens beside those of the option; weak models fill the places where JSON may have white space with it."""
_TRIMMED = " \t\r\n\"'`*_.,:;!()“”‘’«»"
_SPECIAL = frozenset("\\.^$*+?{}[]()|/-")


def choice_fields(means: ConstraintMethod, options: Sequence[str]) -> dict[str, Any]:
    """What to add to a request so that the answer is one of the options."""
    match means:
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


def grammar_fields(means: ConstraintMethod, grammar: str) -> dict[str, Any]:
    """What to add so that the answer has the form of this grammar; nothing where there is no way to say so."""
    match means:
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


def chosen(means: ConstraintMethod | None, reply: str, options: Sequence[str]) -> int | None:
    """Which option the reply is; None where it is none of them, or more than one.

    Without means the model was only asked: what stands around an option (quotes, a full stop) is no part of it.
    """
    if means is ConstraintMethod.JSON_SCHEMA:
        try:
            answer = json.loads(reply)
        except ValueError:
            return None
        return _same(answer.get(_CHOICE) if isinstance(answer, dict) else answer, options)
    if means is not None:
        return _same(reply.strip(), [option.strip() for option in options])
    said = [reply.strip(), reply.strip(_TRIMMED), (reply.strip().splitlines() or [""])[0].strip(_TRIMMED)]
    for key in (str.strip, _trimmed, _letters):
        keys = [key(option) for option in options]
        for one in said:
            if (wanted := key(one)) and keys.count(wanted) == 1:
                return keys.index(wanted)
    return None


def room_for(options: Sequence[str], means: ConstraintMethod | None) -> int:
    """Tokens that any of the options surely fits in the form asked for. No token is less than a byte."""
    around = _AROUND_JSON if means is ConstraintMethod.JSON_SCHEMA else _AROUND
    return max(len(json.dumps(option).encode()) for option in options) + around


def _same(answer: object, options: Sequence[str]) -> int | None:
    return options.index(answer) if isinstance(answer, str) and list(options).count(answer) == 1 else None


def _trimmed(text: str) -> str:
    return text.strip(_TRIMMED).casefold()


def _letters(text: str) -> str:
    """Letters and digits alone: `<12>` and `12` are one label."""
    return "".join(character for character in text.casefold() if character.isalnum())


def _json_format(schema: dict[str, Any]) -> dict[str, Any]:
    """An object with one property: the strict form of the protocol takes nothing simpler."""
    whole = {"type": "object", "properties": {_CHOICE: schema}, "required": [_CHOICE], "additionalProperties": False}
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": _CHOICE, "strict": True, "schema": whole}}
    }


def _in_grammar(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _in_expression(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
