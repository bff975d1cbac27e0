"""`gistread models check NAME`: whether a model is good enough for reading."""

import contextlib

from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json
from gistread.cli.loading import open_engine
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


def check_results() -> CheckResults:
    return CheckResults(default_paths().check_results, installed_version())


def check(model: ModelSource, config: Config, *, again: bool, json: bool) -> ExitStatus:
    """Print the result of a model's check; run it if needed or `again`. Raises TooSlowError."""
    results = check_results()
    fingerprint = fingerprint_of(model)
    result = results.get(fingerprint) if fingerprint and not again else None
    info: EngineInfo | None = None
    if result is None:
        try:
            result, info = run_until_interrupted(_check(model, config))
        except TooSlowError:
            raise
        except EngineError as error:
            result = CheckResult(Worth.NONE, f"cannot be used: {error.message.rstrip('.')}")
            if json:
                write_json(_document(model.name, fingerprint, result))
            fail(str(error))
            return ExitStatus.ENGINE
        fingerprint = info.fingerprint
        results.save(fingerprint, model.path, result)
    name = info.name if info else model.name
    if json:
        write_json(_document(name, fingerprint, result))
    else:
        write(f"{name}: {result.line}.")
        for label, value in _rows(result, info):
            write(f"  {label:9}{value}")
    return ExitStatus.ENGINE if result.worth is Worth.NONE else ExitStatus.DONE


async def ensure_checked(engine: Engine, model: ModelSource, line: ProgressLine) -> CheckResult | None:
    """The result of a loaded model's check, run if needed; None on a server or if too slow. Raises EngineError."""
    results = check_results()
    if engine.info.placement is not None and results.get(engine.info.fingerprint) is None:
        line.show(f"checking {engine.info.name} …")
        with contextlib.suppress(TooSlowError):
            results.save(engine.info.fingerprint, model.path, await check_model(engine, Priority.INTERACTIVE))
    return results.get(engine.info.fingerprint)


async def _check(model: ModelSource, config: Config) -> tuple[CheckResult, EngineInfo]:
    with ProgressLine() as line:
        async with open_engine(model, config, line) as engine:
            line.show(f"checking {engine.info.name} …")
            return await check_model(engine, Priority.INTERACTIVE), engine.info


def _rows(result: CheckResult, info: EngineInfo | None) -> list[tuple[str, str]]:
    if not result.choices:
        return []
    faults = f" ({'; '.join(result.faults)})" if result.faults else ""
    by_words = f" by letter, {result.by_words} by the words of the options" if result.by_words else ""
    rows = [
        ("choices", f"{result.chosen} of {result.choices} right{by_words}"),
        ("answers", f"{result.answered} of {result.questions} where the text has one, and only there"),
        ("turns", "end by themselves" if result.ends_turns else "run on, or contain marks of the chat template"),
        ("gists", f"{result.gists} of {result.passages} in its own words{faults}"),
    ]
    if info is not None and (pace := expected_pace(info, DEFAULT_READING_MODE).words_per_s):
        rows.append(("speed", f"{_NOVEL_WORDS:,} words in about {format_duration(_NOVEL_WORDS / pace)}"))
    when = "before; use --again to check it again" if info is None else f"in {format_duration(result.seconds)}"
    return [*rows, ("checked", when)]


def _document(name: str, fingerprint: str, result: CheckResult) -> Json:
    return {"model": {"name": name, "fingerprint": fingerprint or None}, **result_document(result)}


def result_document(result: CheckResult) -> Json:
    return {
        "worth": result.worth.value,
        "verdict": result.line,
        "choices": result.choices,
        "right": result.chosen,
        "by_place": result.by_place,
        "right_by_words": result.by_words,
        "questions": result.questions,
        "answered_rightly": result.answered,
        "ends_turns": result.ends_turns,
        "passages": result.passages,
        "gists": result.gists,
        "faults": list(result.faults),
        "seconds": result.seconds,
    }
