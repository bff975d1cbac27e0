"""`gistread paths`: where gistread keeps its files."""

import argparse

from gistread.cli.output import write, write_json
from gistread.errors import ExitStatus
from gistread.paths import Paths, PathWithin, default_paths


def run(arguments: argparse.Namespace) -> ExitStatus:
    paths = default_paths()
    places = {name: getattr(paths, name) for name, member in vars(Paths).items() if isinstance(member, PathWithin)}
    if arguments.json:
        write_json({name: str(place) for name, place in places.items()})
        return ExitStatus.DONE
    width = max(map(len, places)) + 2
    for name, place in places.items():
        write(f"{name:{width}}{place}")
    return ExitStatus.DONE
