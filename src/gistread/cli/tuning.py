"""`gistread doctor --tune` and `--untune`: finds the fastest engine settings for this machine."""

from collections.abc import Mapping

import psutil

from gistread.cli.json_output import Json
from gistread.cli.loading import open_engine
from gistread.cli.output import write
from gistread.cli.progress import ProgressLine
from gistread.config import Config, save_setting
from gistread.engine.llama.machine import physical_cores
from gistread.engine.llama.tuning import TUNED, Trial, Work, tune
from gistread.engine.model_source import find_source
from gistread.engine.protocol import Placement
from gistread.errors import EngineError
from gistread.paths import default_paths
from gistread.sample import story_path


async def tune_settings(model: str, config: Config, *, quiet: bool) -> Json:
    """Try engine settings for a model, save the faster ones and print the trials. Raises EngineError."""
    source = find_source(model or config.model)
    if source.path is None:
        raise EngineError("A model on a server cannot be tuned here.", "Tune the server.")
    work = Work(story_path().read_text(encoding="utf-8"))
    trials: list[Trial] = []
    with ProgressLine() as line:

        async def attempt(settings: Config) -> tuple[Placement, float]:
            async with open_engine(source, settings, line) as engine:
                line.show(f"Trial {len(trials) + 1}")
                placement = engine.info.placement
                assert placement is not None
                return placement, await work.seconds(engine)

        cores = physical_cores(), psutil.cpu_count() or 1
        async for trial in tune(attempt, config, cores):
            trials.append(trial)
            if not quiet:
                line.clear()
                kept = "  kept" if trial.change and trial.kept else ""
                write(f"{_named(trial.change) or 'as it is':24}{trial.seconds:8.2f} s{kept}")
    saved = {key: value for trial in trials if trial.kept for key, value in trial.change.items()}
    for key, value in saved.items():
        save_setting(default_paths().config_file, key, value)
    if not quiet:
        write(f"\nSaved: {_named(saved)}. Undo: gistread doctor --untune" if saved else "\nNothing is clearly faster.")
    return {
        "trials": [{"change": dict(trial.change), "seconds": trial.seconds, "kept": trial.kept} for trial in trials],
        "saved": saved,
    }


def forget_tuning() -> None:
    """Reset tuned settings to their defaults. Raises UsageError, StorageError."""
    for key in TUNED:
        save_setting(default_paths().config_file, key, None)


def _named(change: Mapping[str, int | str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in change.items())
