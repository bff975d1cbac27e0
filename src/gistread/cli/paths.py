"""`gistread paths`: where gistread keeps its files."""

import argparse

from gistread.cli.output import write, write_json
from gistread.errors import ExitStatus
from gistread.paths import default_paths


def run(arguments: argparse.Namespace) -> ExitStatus:
    paths = default_paths()
    places = {
        "config_file": paths.config_file,
        "themes": paths.user_themes,
        "presets": paths.user_presets,
        "own_models": paths.own_models,
        "models": paths.models,
        "books": paths.books,
        "marks": paths.marks,
        "library": paths.library,
        "reading_speed": paths.reading_speed,
        "memories": paths.memories,
        "texts": paths.texts,
        "weights": paths.weights,
        "snapshots": paths.snapshots,
        "measurements": paths.measurements,
        "check_results": paths.check_results,
        "log_file": paths.log_file,
        "worker_log": paths.worker_log,
    }
    if arguments.json:
        write_json({name: str(place) for name, place in places.items()})
        return ExitStatus.DONE
    width = max(map(len, places)) + 2
    for name, place in places.items():
        write(f"{name:{width}}{place}")
    return ExitStatus.DONE
