"""The settings with which a book is asked: its own choices come before the settings file."""

from dataclasses import replace

from gistread.config import Config
from gistread.readers.registry import METHODS
from gistread.store.model import AskingChoice


def settings_of_book(config: Config, choice: AskingChoice) -> Config:
    """The settings with what was chosen for a book in place of theirs.

    A method that no longer exists counts as not chosen.

    >>> settings_of_book(Config(reader="auto"), AskingChoice(reader="notes")).reader
    'notes'
    """
    if choice.reader in METHODS:
        config = replace(config, reader=choice.reader)
    if choice.steps:
        config = replace(config, steps=choice.steps)
    if choice.max_pages is not None:
        config = replace(config, max_pages=choice.max_pages)
    return config
