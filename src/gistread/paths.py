"""Where gistread keeps things: the directories of the person, the machine and the logs, on every system.

XDG variables are honoured on every system, macOS and Windows included, since people who live in terminals set
them there too. Nothing is created here: whoever writes creates what it writes into.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

_APP = "gistread"
WEIGHTS = "weights"
MEASUREMENTS = "measured.json"
VERDICTS = "tried.json"


@dataclass(frozen=True, slots=True)
class Paths:
    """The four places, each a directory that may not exist yet."""

    config: Path
    """Settings, user themes: written by the person."""
    data: Path
    """The person's own: positions, marks, questions. Never deleted by the program."""
    cache: Path
    """The machine's work: memories, faster copies of models, rates. Deleting it loses time, nothing else."""
    state: Path
    """Logs."""

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def user_themes(self) -> Path:
        return self.config / "themes"

    @property
    def user_presets(self) -> Path:
        return self.config / "presets"

    @property
    def memories(self) -> Path:
        return self.cache / "memories"

    @property
    def texts(self) -> Path:
        """What was extracted from books, so that they open at once the second time."""
        return self.cache / "texts"

    @property
    def weights(self) -> Path:
        """Faster copies of models, made here; within a size limit."""
        return self.cache / WEIGHTS

    @property
    def measurements(self) -> Path:
        """How fast models are on this machine."""
        return self.cache / MEASUREMENTS

    @property
    def verdicts(self) -> Path:
        """What models were found to be good for."""
        return self.cache / VERDICTS

    @property
    def books(self) -> Path:
        """What is known of each book the person opened: one file a book."""
        return self.data / "books"

    @property
    def marks(self) -> Path:
        """The marks in each book: one file a book."""
        return self.data / "marks"

    @property
    def library(self) -> Path:
        """Which files hold books, which folders were added: one file."""
        return self.data / "library.jsonl"

    @property
    def pace(self) -> Path:
        """How fast the person reads, by language."""
        return self.data / "pace.jsonl"

    @property
    def models(self) -> Path:
        """Models that were fetched."""
        return self.data / "models"

    @property
    def own_models(self) -> Path:
        """What the person adds to the catalogue of models that can be fetched."""
        return self.config / "models.toml"

    @property
    def log_file(self) -> Path:
        return self.state / "gistread.log"

    @property
    def worker_log(self) -> Path:
        """What llama.cpp says while it loads and runs."""
        return self.state / "worker.log"


def default_paths() -> Paths:
    """The directories of this person on this machine."""

    def place(variable: str, otherwise: str) -> Path:
        named = os.environ.get(variable, "")
        # The XDG specification: a relative path is invalid and is to be ignored.
        return Path(named) / _APP if Path(named).is_absolute() else Path(otherwise)

    return Paths(
        config=place("XDG_CONFIG_HOME", platformdirs.user_config_dir(_APP, appauthor=False)),
        data=place("XDG_DATA_HOME", platformdirs.user_data_dir(_APP, appauthor=False)),
        cache=place("XDG_CACHE_HOME", platformdirs.user_cache_dir(_APP, appauthor=False)),
        state=place("XDG_STATE_HOME", platformdirs.user_state_dir(_APP, appauthor=False)),
    )
