"""Looks a word up with a configured program or an installed dictionary.

No shell is involved, and the output is limited.
"""

import asyncio
import contextlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gistread.errors import GistreadError, UsageError
from gistread.system import end_group

LIMIT_S = 10.0
LIMIT_BYTES = 256 * 1024
LONGEST_WORD = 80  # In characters

_KNOWN = (
    ("sdcv", "--non-interactive", "--utf8-output", "{word}"),
    ("wn", "{word}", "-over"),
    # Without the host, it asks a server on the network.
    ("dict", "--host", "localhost", "{word}"),
)
_WORD = re.compile(r"\w(?:.*\w)?", re.DOTALL)  # From the first letter to the last one
# Terminal colours, links and overstriking: "\x1b[1m", "\x1b]8;;…\x07", "_\x08"
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|.\x08")
# Output without an entry: from dict, sdcv, `look_up` itself, and without any dictionary
_NO_ENTRY = re.compile(
    r"No definitions found|Nothing similar to|\S+ has no entry|No dictionary found"
)

_ENDED_WITHIN_S = 2.0
HOW_TO_SET = (
    'Set lookup_command in the settings, such as "dict {word}", '
    "or install sdcv, wn or a dict server."
)


class DictionaryError(GistreadError):
    """The lookup failed."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """The command that looks a word up; without `argv`, there is no dictionary."""

    word: str
    argv: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        if not self.argv:
            return ""
        return Path(self.argv[0]).name


def extract_word(text: str) -> str:
    """The word or short phrase in a selected text, on one line.

    Empty if there is none or it is too long.
    """
    match = _WORD.search(" ".join(text.split()))
    if match is None or len(match[0]) > LONGEST_WORD:
        return ""
    return match[0]


def choose_lookup(
    word: str, command: str, which: Callable[[str], str | None] = shutil.which
) -> Lookup:
    """The command that looks up `word`, from `command` or, if that is empty, a known dictionary.

    Without `argv` if none is installed. `which` finds a program. Raises UsageError if `command`
    cannot be run.
    """
    commands: Sequence[Sequence[str]] = _KNOWN
    is_set = bool(command.strip())
    if is_set:
        try:
            commands = [shlex.split(command)]
        except ValueError as error:
            message = f"lookup_command is not a command line: {error}."
            raise UsageError(message, f"It is {command!r}.") from None
    for name, *arguments in commands:
        program = which(str(Path(name).expanduser()))
        if not program:
            continue
        if not any("{word}" in argument for argument in arguments):
            arguments.append("{word}")
        filled = [argument.replace("{word}", word) for argument in arguments]
        return Lookup(word, (program, *filled))
    if is_set:
        name = commands[0][0]
        message = f"lookup_command names {name!r}, which is not installed."
        raise UsageError(message, HOW_TO_SET)
    return Lookup(word)


def contains_entry(output: str) -> bool:
    """Whether the result of `look_up` has an entry."""
    return not _NO_ENTRY.match(output)


async def look_up(lookup: Lookup, *, limit_s: float = LIMIT_S) -> str:
    """Run a lookup and return its output, or a sentence that says that there is no entry.

    Cancelling kills the program. Raises DictionaryError.
    """
    if not lookup.argv:
        message = f"No dictionary found to look up “{lookup.word}”."
        raise DictionaryError(message, HOW_TO_SET)
    process = await _start(lookup)
    assert process.stdout is not None
    try:
        output = await asyncio.wait_for(_read(process.stdout), limit_s)
    except TimeoutError:
        message = f"{lookup.program} did not answer within {limit_s:.0f} seconds."
        raise DictionaryError(message) from None
    finally:
        if process.returncode is None:
            end_group(process.pid)
        # Drain the pipe: `wait` never returns while it is full. A child in its own session may keep
        # it open.
        with contextlib.suppress(ProcessLookupError, TimeoutError):
            await asyncio.wait_for(process.communicate(), _ENDED_WITHIN_S)
    text = _ESCAPE.sub("", output.decode("utf-8", "replace")).strip()
    # The exit status is no help: wn returns the number of senses.
    return text or f"{lookup.program} has no entry for “{lookup.word}”."


async def _start(lookup: Lookup) -> asyncio.subprocess.Process:
    """Start the program, with nothing on its standard input. Raises DictionaryError."""
    try:
        return await asyncio.create_subprocess_exec(
            *lookup.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PAGER": "cat", "TERM": "dumb"},
            start_new_session=True,  # `end_group` then ends its children too.
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"{lookup.program} cannot be run: {reason}."
        raise DictionaryError(message, HOW_TO_SET) from error


async def _read(stream: asyncio.StreamReader) -> bytes:
    """The output up to its end or the limit."""
    output = bytearray()
    while len(output) < LIMIT_BYTES:
        part = await stream.read(LIMIT_BYTES - len(output))
        if not part:
            break
        output += part
    return bytes(output)
