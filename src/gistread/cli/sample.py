"""`gistread sample`: the screen, on the story that comes with gistread."""

import argparse

from gistread.cli.read import open_screen
from gistread.errors import ExitStatus
from gistread.sample import story_path


def run(arguments: argparse.Namespace) -> ExitStatus:
    return open_screen(story_path(), arguments)
