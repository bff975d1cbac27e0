"""`gistread models check NAME`: whether a model is good enough for reading."""

import argparse

from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json
from gistread.cli.loading import open_engine
from gistread.cli.output import fail, report
from gistread.cli.progress import ProgressLine
from gistread.config import Config, load_config
from gistread.engine.llama.library import installed_version
from gistread.engine.models import ModelSource, find_chosen, fingerprint_of
from gistread.engine.protocol import EngineInfo, Priority, Trust
from gistread.errors import EngineError, ExitStatus
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.memory.estimate import expected_pace
from gistread.memory.model import DEFAULT_READING_MODE
from gistread.memory.model_check import TooSlowError, check_model
from gistread.paths import default_paths
from gistread.units import format_duration

_NOVEL_WORDS = 100_000


def check_results() -> CheckResults:
    return CheckResults(default_paths(), installed_version())


def check(arguments: argparse.Namespace) -> ExitStatus:
    """Print the result of a model's check; run it if needed or with `--again`. Raises EngineError."""
    config = load_config(default_paths().config_file)
    model, results = find_chosen(arguments.model, config), check_results()
    name, fingerprint = model.name, fingerprint_of(model)
    result = results.get(fingerprint) if fingerprint and not arguments.again else None
    info: EngineInfo | None = None
    if result is None:
        try:
            result, info = run_until_interrupted(_check(model, config))
        except TooSlowError:
            raise
        except EngineError as error:
            if not arguments.json:
                raise
            fail(str(error))
            result = CheckResult(Trust.FAILED, f"cannot be used: {error.message.rstrip('.')}", is_usable=False)
        else:
            name, fingerprint = info.name, info.fingerprint
            results.save(fingerprint, model.path, result)
    document = {"model": {"name": name, "fingerprint": fingerprint or None}, **result_document(result)}
    rows = (f"  {label:9}{value}" for label, value in _rows(result, info))
    report(arguments, document, [f"{name}: {result.line}.", *rows])
    return ExitStatus.DONE if result.is_usable else ExitStatus.ENGINE


async def _check(model: ModelSource, config: Config) -> tuple[CheckResult, EngineInfo]:
    with ProgressLine() as line:
        async with open_engine(model, config, line) as engine:
            line.show(f"checking {engine.info.name} …")
            return await check_model(engine, Priority.INTERACTIVE), engine.info


def _rows(result: CheckResult, info: EngineInfo | None) -> list[tuple[str, str]]:
    if not result.asked:
        return []
    faults = f" ({'; '.join(result.faults)})" if result.faults else ""
    rows = [
        ("answers", f"{result.right} of {result.asked} right about a text"),
        ("limits", f"{result.answered} of {result.questions} answered if the text has an answer, and only then"),
        ("turns", "end by themselves" if result.ends_turns else "run on, or contain marks of the chat template"),
        ("gists", f"{result.gists} of {result.passages} in its own words{faults}"),
    ]
    if info is not None and (pace := expected_pace(info, DEFAULT_READING_MODE).words_per_s):
        rows.append(("speed", f"{_NOVEL_WORDS:,} words in about {format_duration(_NOVEL_WORDS / pace)}"))
    when = "before; use --again to check it again" if info is None else f"in {format_duration(result.seconds)}"
    return [*rows, ("checked", when)]


def result_document(result: CheckResult) -> Json:
    return {
        "trust": result.trust.value,
        "verdict": result.line,
        "usable": result.is_usable,
        "asked": result.asked,
        "right": result.right,
        "questions": result.questions,
        "answered_rightly": result.answered,
        "ends_turns": result.ends_turns,
        "passages": result.passages,
        "gists": result.gists,
        "faults": list(result.faults),
        "seconds": result.seconds,
    }
