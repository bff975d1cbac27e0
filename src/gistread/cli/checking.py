"""`gistread models check NAME`: whether a model is good for reading, found out by trying it once."""

import contextlib

from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json
from gistread.cli.loading import loaded
from gistread.cli.output import fail, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.config import Config
from gistread.engine.llama.library import installed_version
from gistread.engine.model_source import ModelSource, fingerprint_of
from gistread.engine.protocol import Engine, EngineInfo, Priority
from gistread.errors import EngineError, ExitStatus
from gistread.memory.check_results import CheckResult, CheckResults, Worth
from gistread.memory.estimate import expected_pace
from gistread.memory.model import DEFAULT_READING_MODE
from gistread.memory.model_check import TooSlowError, check_model
from gistread.paths import default_paths
from gistread.units import format_duration

_NOVEL_WORDS = 100_000


def kept_verdicts() -> CheckResults:
    return CheckResults(default_paths().check_results, installed_version())


def check(model: ModelSource, config: Config, *, again: bool, json: bool) -> ExitStatus:
    """Say what is known of a model, trying it where nothing is, or `again`. Raises EngineError where it cannot be."""
    kept = kept_verdicts()
    fingerprint = fingerprint_of(model)
    known = kept.get(fingerprint) if fingerprint and not again else None
    info: EngineInfo | None = None
    if known is None:
        try:
            known, info = run_until_interrupted(_try(model, config))
        except TooSlowError:
            raise
        except EngineError as error:
            known = CheckResult(Worth.NONE, f"cannot be used: {error.message.rstrip('.')}")
            if json:
                write_json(_document(model.name, fingerprint, known))
            fail(str(error))
            return ExitStatus.ENGINE
        fingerprint = info.fingerprint
        kept.save(fingerprint, model.path, known)
    name = info.name if info else model.name
    if json:
        write_json(_document(name, fingerprint, known))
    else:
        write(f"{name}: {known.line}.")
        for label, value in _rows(known, info):
            write(f"  {label:9}{value}")
    return ExitStatus.ENGINE if known.worth is Worth.NONE else ExitStatus.DONE


async def is_reliable(engine: Engine, model: ModelSource, line: ProgressLine) -> bool | None:
    """Whether a loaded model chooses by what it has read: as it was found, or found now where it was not tried yet.

    None for a model on a server, and for one that is too slow to be tried. Raises EngineError.
    """
    kept = kept_verdicts()
    if engine.info.placement is not None and kept.get(engine.info.fingerprint) is None:
        line.show(f"trying {engine.info.name} …")
        with contextlib.suppress(TooSlowError):
            kept.save(engine.info.fingerprint, model.path, await check_model(engine, Priority.INTERACTIVE))
    return kept.is_reliable(engine.info.fingerprint)


async def _try(model: ModelSource, config: Config) -> tuple[CheckResult, EngineInfo]:
    with ProgressLine() as line:
        async with loaded(model, config, line) as engine:
            line.show(f"trying {engine.info.name} …")
            return await check_model(engine, Priority.INTERACTIVE), engine.info


def _rows(verdict: CheckResult, info: EngineInfo | None) -> list[tuple[str, str]]:
    if not verdict.choices:
        return []
    faults = f" ({'; '.join(verdict.faults)})" if verdict.faults else ""
    rows = [
        ("choices", f"{verdict.chosen} of {verdict.choices} right"),
        ("turns", "end by themselves" if verdict.ends_turns else "run on, or leave marks of the chat template"),
        ("gists", f"{verdict.gists} of {verdict.passages} its own{faults}"),
    ]
    if info is not None and (pace := expected_pace(info, DEFAULT_READING_MODE).words_per_s):
        rows.append(("speed", f"reads {_NOVEL_WORDS:,} words in about {format_duration(_NOVEL_WORDS / pace)} here"))
    when = "before; `--again` tries it anew" if info is None else f"in {format_duration(verdict.seconds)}"
    return [*rows, ("tried", when)]


def _document(name: str, fingerprint: str, verdict: CheckResult) -> Json:
    return {"model": name, "fingerprint": fingerprint, **verdict_document(verdict)}


def verdict_document(verdict: CheckResult) -> Json:
    return {
        "worth": verdict.worth.value,
        "verdict": verdict.line,
        "choices": verdict.choices,
        "right": verdict.chosen,
        "by_place": verdict.by_place,
        "ends_turns": verdict.ends_turns,
        "passages": verdict.passages,
        "gists": verdict.gists,
        "faults": list(verdict.faults),
        "seconds": verdict.seconds,
    }
