"""What readers need beside the gists is made ahead of questions, with progress on standard error: `index --for`."""

import asyncio
import shlex
import time
from collections.abc import Sequence

from gistread.cli.interrupt import InterruptError
from gistread.cli.json_output import Json, need_line
from gistread.cli.output import write_json
from gistread.cli.progress import ProgressLine, at_work, making_line
from gistread.engine.protocol import EngineInfo
from gistread.memory.artifacts import ARTIFACTS, VECTORS, Artifact, ArtifactModels, build_artifacts
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory
from gistread.readers.registry import METHODS
from gistread.units import format_duration


def needs_of(readers: Sequence[str], *, vectors: bool = False) -> list[Artifact]:
    """What these readers need together, each thing once; `vectors`: those as well, since a model for them was named."""
    names = dict.fromkeys(name for reader in readers for name in METHODS[reader].artifacts)
    if vectors:
        names.setdefault(VECTORS)
    return [ARTIFACTS[name] for name in names]


async def estimate_needs(
    memory: GistMemory, models: ArtifactModels, needs: Sequence[Artifact], line: ProgressLine
) -> None:
    """Say how long each will take, before any has begun."""
    for need in needs:
        left = await need.remaining(memory, models)
        if not left.needless:
            line.say(f"{need.name.capitalize()}: {_estimate(left, models.engine.info)}.")


async def make_needs(
    memory: GistMemory,
    models: ArtifactModels,
    needs: Sequence[Artifact],
    line: ProgressLine,
    book: str,
    *,
    events: bool,
) -> Json:
    """Make what is missing; what there is of each in the end, by its name.

    `book` is as it was typed. Raises EngineError; InterruptError on cancellation: what was made is kept.
    """
    document: Json = {}
    for need in needs:
        left = await need.remaining(memory, models)
        if left.needless:
            continue
        done, begun = left.done, time.monotonic()
        if left.complete:
            line.say(f"{need.name.capitalize()}: {_estimate(left, models.engine.info)}.")
            document[need.name] = {"total": left.total, "made": 0, "seconds": 0.0}
            continue
        try:
            async for _, grown in build_artifacts([need.name], memory, models):
                done = max(done, grown.done)
                pace = (time.monotonic() - begun) / max(1, done - left.done)
                line.show(making_line(need.name, done, grown.total, pace * max(0, grown.total - done)))
                if events:
                    write_json(need_line(need.name, done, grown.total))
        except asyncio.CancelledError:
            raise InterruptError(
                f"Stopped after {done} of {left.total} {need.name}; what was made is kept.",
                f"`gistread index {shlex.quote(book)}` with the same --for goes on from there.",
            ) from None
        finally:
            line.clear()
        seconds = time.monotonic() - begun
        made = left.total - left.done
        line.say(f"{need.name.capitalize()}: made {made} in {format_duration(seconds)}.")
        document[need.name] = {"total": left.total, "made": made, "seconds": round(seconds, 3)}
    return document


def _estimate(left: RemainingWork, info: EngineInfo) -> str:
    if left.needless:
        return "none are needed, all gists fit the model's window"
    if left.complete:
        return f"all {left.total} are there"
    seconds = left.seconds(info)
    known = f", {left.done} are there" if left.done else ""
    if seconds is None:
        return f"{left.total - left.done} to make{known}"
    where = at_work(info) if left.by_engine else "the embedding model"
    return f"about {left.total - left.done} to make, {format_duration(seconds)} with {where}{known}"
