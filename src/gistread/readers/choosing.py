"""A choice with a few words, or several choices, in one reply whose form the sampler of a local model enforces.

Servers may ignore the form. A reply without a legal choice is followed by a constrained one (design D3).
"""

import re
from collections.abc import Sequence

from gistread.engine.protocol import Prompt, Sampling
from gistread.readers.answering import Asking

STOP = "STOP"  # The model's choice when it wants no more
SAID_TOKENS = 64  # Longest reply: the JSON, the option and some forty tokens of words

_OPTION_TOKENS = 8  # Longest option with its separator
_CHOICE = re.compile(r'"choice"\s*:\s*"([^"]*)"')
_SAID = re.compile(r'"(?!choice)\w+"\s*:\s*"((?:[^"\\]|\\.)*)("?)')


async def choose_and_say(
    asking: Asking, prompt: Prompt, options: Sequence[str], otherwise: Prompt, key: str = "reason"
) -> tuple[int, str]:
    """The index of an option, and the words under `key`. `prompt` asks for JSON, `otherwise` for the option alone."""
    listed, line = " | ".join(f'"{option}"' for option in options), r'[^"\\\n]{1,160}'
    grammar = f'root ::= "{{\\"choice\\": \\"" option "\\", \\"{key}\\": \\"" {line} "\\"}}"\noption ::= {listed}\n'
    said = await asking.complete(prompt, Sampling(SAID_TOKENS, repeat_penalty=1.1, grammar=grammar))
    named = _CHOICE.search(said)
    if named is None or named[1].strip() not in options:
        return await asking.choose(otherwise, options, len(options) - 1), ""
    found = _SAID.search(said)
    words, is_whole = (found[1], bool(found[2])) if found else ("", True)
    words = " ".join(words.replace('\\"', "”").replace("\\n", " ").replace("\\", "").split()).strip(" .,;")
    return options.index(named[1].strip()), words if is_whole or not words else f"{words}…"


async def choose_several(asking: Asking, prompt: Prompt, options: Sequence[str], most: int) -> list[int]:
    """The indices of up to `most` options, the best first. `prompt` asks for them in a list that ends with STOP."""
    listed = " | ".join(f'"{option}"' for option in options)
    grammar = f'root ::= (option ", "){{0,{most}}} "{STOP}"\noption ::= {listed}\n'
    said = await asking.complete(prompt, Sampling(_OPTION_TOKENS * (most + 1), grammar=grammar))
    named = [piece.strip(" .\"'`*") for piece in re.split(r"[,;\n]", said)]
    ended = named.index(STOP) if STOP in named else None
    chosen = [options.index(one) for one in dict.fromkeys(named[:ended]) if one in options][:most]
    if chosen or ended is not None:
        return chosen
    index = await asking.choose(prompt, [*options, STOP], len(options))
    return [index] if index < len(options) else []
