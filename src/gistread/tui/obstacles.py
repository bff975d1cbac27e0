"""Why a question cannot be asked now, in words, with the key that helps."""

from collections.abc import Callable

from gistread.session.events import Obstacle


def obstacle_message(obstacle: Obstacle, key_hint: Callable[[str], str]) -> str:
    match obstacle:
        case Obstacle.NO_MODEL:
            return f"No model is loaded. Press {key_hint('choose-model')} to choose one."
        case Obstacle.NO_READING_MODEL:
            return f"No page has been read yet. Press {key_hint('choose-model')} to choose a reading model."
        case Obstacle.NOTHING_READ:
            return f"No page has been read yet. Press {key_hint('resume')} to start reading."
        case Obstacle.LOADING:
            return "The model is still loading."
        case Obstacle.BUSY:
            return f"One question at a time. Press {key_hint('cancel')} to cancel the current one."
