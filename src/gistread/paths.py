"""Where gistread keeps its files. XDG variables work on every system; nothing is created here."""

import os
from dataclasses import dataclass
from pathlib import Path

from gistread.atomic_write import make_private

_APP = "gistread"
WEIGHTS = "weights"
SNAPSHOTS = "snapshots"
MEASUREMENTS = "measured.json"
CHECK_RESULTS = "tried.json"


@dataclass(frozen=True, slots=True)
class Paths:
    """The four directories, which may not exist yet, and what is in them."""

    config: Path  # Settings, themes and presets
    data: Path  # User data: library, positions, marks, questions, downloaded models. Never deleted by the program.
    cache: Path  # Data that can be rebuilt: memories, texts, requantised models, measurements
    state: Path  # Logs

    def make_private(self) -> None:
        """Take the rights of others from what earlier versions have left readable."""
        for folder in (self.config, self.data, self.cache, self.state):
            make_private(folder)

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def themes(self) -> Path:
        return self.config / "themes"

    @property
    def presets(self) -> Path:
        return self.config / "presets"

    @property
    def own_models(self) -> Path:
        return self.config / "models.toml"

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def books(self) -> Path:
        return self.data / "books"

    @property
    def marks(self) -> Path:
        return self.data / "marks"

    @property
    def library(self) -> Path:
        return self.data / "library.jsonl"

    @property
    def reading_speed(self) -> Path:
        return self.data / "pace.jsonl"

    @property
    def memories(self) -> Path:
        return self.cache / "memories"

    @property
    def texts(self) -> Path:
        return self.cache / "texts"

    @property
    def covers(self) -> Path:
        return self.cache / "covers"

    @property
    def weights(self) -> Path:
        return self.cache / WEIGHTS

    @property
    def snapshots(self) -> Path:
        return self.cache / SNAPSHOTS

    @property
    def measurements(self) -> Path:
        return self.cache / MEASUREMENTS

    @property
    def check_results(self) -> Path:
        return self.cache / CHECK_RESULTS

    @property
    def log_file(self) -> Path:
        return self.state / "gistread.log"

    @property
    def worker_log(self) -> Path:
        return self.state / "worker.log"


def default_paths() -> Paths:
    import platformdirs

    def directory(variable: str, fallback: str) -> Path:
        value = os.environ.get(variable, "")
        # The XDG specification says to ignore relative paths.
        return Path(value) / _APP if Path(value).is_absolute() else Path(fallback)

    return Paths(
        config=directory("XDG_CONFIG_HOME", platformdirs.user_config_dir(_APP, appauthor=False)),
        data=directory("XDG_DATA_HOME", platformdirs.user_data_dir(_APP, appauthor=False)),
        cache=directory("XDG_CACHE_HOME", platformdirs.user_cache_dir(_APP, appauthor=False)),
        state=directory("XDG_STATE_HOME", platformdirs.user_state_dir(_APP, appauthor=False)),
    )
