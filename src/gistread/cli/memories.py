"""Which of a book's memories a command means: by the model that made it, the preset and the task it was made for."""

import argparse
import shlex
from collections.abc import Sequence

from gistread.errors import GistreadError
from gistread.memory.focus import parse_task
from gistread.memory.writer import MemoryHeader
from gistread.presets import AUTO


def task_typed(arguments: argparse.Namespace) -> str:
    """What the command line says to look for; empty: whatever may be asked. Raises UsageError."""
    if getattr(arguments, "for_question", False):
        return parse_task(arguments.question)
    return "" if arguments.task is None else parse_task(arguments.task)


def made_by(fingerprint: str, arguments: argparse.Namespace, headers: Sequence[MemoryHeader]) -> list[MemoryHeader]:
    """The memories of the model with this fingerprint. Raises GistreadError when it has read nothing, others have."""
    own = [header for header in headers if header.fingerprint == fingerprint]
    readers = sorted({header.model_name for header in headers if header.pages})
    if readers and not any(header.pages for header in own):
        raise GistreadError(
            f"{arguments.model} has not read this book; these have: {', '.join(readers)}.",
            "Without --model the memory that got furthest is asked; with --index it is read first.",
        )
    return own


def meant(
    headers: Sequence[MemoryHeader], arguments: argparse.Namespace, model: str | None = None, reader: str = ""
) -> MemoryHeader:
    """The memory that got furthest (`headers` have it first) of those that the command line does not rule out.

    `reader`: fingerprint of the model that reads; its memory comes before others that got as far.
    Raises GistreadError when there is none, with what there is.
    """
    read = [header for header in headers if header.pages]
    book = shlex.quote(arguments.book)
    task = task_typed(arguments)
    if not read:
        first = ", `ask --index` reads it first" if arguments.command == "ask" else ""
        raise GistreadError(
            "Nothing of this book has been read yet.", f"`gistread index {book}` lets the model read it{first}."
        )
    by_model = [one for one in read if model is None or model.casefold() in one.model_name.casefold()]
    if not by_model:
        readers = ", ".join(sorted({header.model_name for header in read}))
        raise GistreadError(f"No model {model!r} has read this book.", f"It was read by: {readers}.")
    preset = arguments.preset if arguments.preset not in (None, AUTO) else ""
    found = [one for one in by_model if preset in ("", one.focus.preset.name) and task in ("", one.focus.task)]
    if found:
        best = found[0]
        furthest = [one for one in found if (one.read_until, one.focus.task) == (best.read_until, best.focus.task)]
        return next((one for one in furthest if one.fingerprint == reader), best)
    wanted = f" with the preset {preset!r}" * bool(preset) + f" to find out: {task}" * bool(task)
    options = f" --preset {shlex.quote(preset)}" * bool(preset) + f" --task {shlex.quote(task)}" * bool(task)
    raise GistreadError(
        f"This book has not been read{wanted}.",
        f"`gistread index {book}{options}` reads it so; `gistread pages {book} --list` shows the memories there are.",
    )
