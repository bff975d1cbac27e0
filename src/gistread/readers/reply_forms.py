"""Fixed forms of replies: a grammar for local models, and the same as a JSON schema for servers.

The functions that read a reply take any text: a server may ignore the form.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# "choice": "part"
_CHOICE = re.compile(r'"choice"\s*:\s*"([^"]*)"')
# "told": "Ann hides the letter": the words, and the quotation mark unless they are cut off
_WORDS = re.compile(r'"(?!choice)\w+"\s*:\s*"((?:[^"\\]|\\.)*)("?)')
_STRING = re.compile(r'"([^"]*)"')
_LINE = r'[^"\\\n]{1,160}'  # In a grammar: text without quotation marks


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """A form as a grammar and as a JSON schema."""

    grammar: str
    schema: str


def choice_with_words(options: Sequence[str], key: str) -> ReplyForm:
    """An option, and words under `key`: `{"choice": "part", "told": "Ann hides the letter"}`."""
    grammar = (
        f'root ::= "{{\\"choice\\": \\"" option "\\", \\"{key}\\": \\"" {_LINE} "\\"}}"\n'
        f"option ::= {_alternatives(options)}\n"
    )
    choice = {"type": "string", "enum": list(options)}
    words = {"type": "string"}
    return ReplyForm(grammar, _object({"choice": choice, key: words}))


def read_choice(reply: str) -> str:
    """The option that a reply names; empty if none."""
    match = _CHOICE.search(reply)
    if match is None:
        return ""
    return match[1].strip()


def read_words(reply: str) -> str:
    """The words beside the option on one line; with an ellipsis if they are cut off."""
    match = _WORDS.search(reply)
    if match is None:
        return ""
    # A string of JSON has quotation marks and line breaks after a backslash.
    plain = match[1].replace('\\"', "”").replace("\\n", " ").replace("\\", "")
    words = " ".join(plain.split()).strip(" .,;")
    is_cut_off = not match[2]
    if words and is_cut_off:
        return f"{words}…"
    return words


def several_choices(options: Sequence[str], most: int, stop: str) -> ReplyForm:
    """Up to `most` options, then `stop`: `Page 4, Page 2, STOP`; an array in the schema."""
    grammar = (
        f'root ::= (option ", "){{0,{most}}} "{stop}"\n'
        f"option ::= {_alternatives(options)}\n"
    )
    choice = {"type": "string", "enum": [*options, stop]}
    choices = {"type": "array", "items": choice}
    return ReplyForm(grammar, _object({"choices": choices}))


def read_several(reply: str, stop: str) -> list[str]:
    """The options that a reply names, up to and including `stop`."""
    if reply.lstrip().startswith("{"):
        # The first string is the key, "choices".
        named = _STRING.findall(reply)[1:]
        is_complete = reply.rstrip().endswith("}")
        if is_complete:
            named.append(stop)
    else:
        named = [piece.strip(" .\"'`*") for piece in re.split(r"[,;\n]", reply)]
    if stop in named:
        del named[named.index(stop) + 1 :]
    return named


def _alternatives(options: Sequence[str]) -> str:
    return " | ".join(f'"{option}"' for option in options)


def _object(properties: Mapping[str, Any]) -> str:
    """The schema of an object with these properties. Strict schemas require all of them."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return json.dumps(schema)
