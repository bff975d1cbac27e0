"""`gistread eval`: readers measured on questions whose answers are known."""

import argparse

from gistread.cli.evaluating import list_tasks
from gistread.errors import ExitStatus


def run(arguments: argparse.Namespace) -> ExitStatus:
    return list_tasks(arguments)
