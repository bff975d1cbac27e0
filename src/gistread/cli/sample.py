"""`gistread sample`: the screen, on the story that comes with gistread, with the model that comes with it."""

import argparse

from gistread.cli.opening import settings
from gistread.cli.read import open_screen
from gistread.engine.model_search import starter_path
from gistread.engine.models import STARTER
from gistread.errors import ExitStatus
from gistread.sample import story_path


def run(arguments: argparse.Namespace) -> ExitStatus:
    config = settings(arguments)
    if not arguments.model and not config.model and starter_path() is not None:
        arguments.model, arguments.asking_model = STARTER, config.asking_model
    return open_screen(story_path(), arguments)
