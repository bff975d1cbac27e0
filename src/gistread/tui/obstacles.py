"""Why a question cannot be asked now, in words, with the key that helps as it is bound."""

from collections.abc import Mapping

from gistread.session.events import Obstacle
from gistread.tui.commands import BY_ID, keys_of


def obstacle_message(obstacle: Obstacle, keymap: Mapping[str, str]) -> str:
    """What is missing, and the key to press."""

    def key(command: str) -> str:
        return keys_of(BY_ID[command], keymap)[0]

    match obstacle:
        case Obstacle.NO_MODEL:
            return f"There is no model yet: press {key('choose-model')} to choose one."
        case Obstacle.NO_READING_MODEL:
            return f"No page has been read yet: press {key('choose-model')} to choose a model that reads."
        case Obstacle.NOTHING_READ:
            return f"No page has been read yet: press {key('resume')} to let the model read."
        case Obstacle.LOADING:
            return "The model is still loading."
        case Obstacle.BUSY:
            return f"One question at a time: press {key('cancel')} to cancel the one that is running."
