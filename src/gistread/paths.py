"""Where gistread keeps its files, and how its installation is changed. Nothing is created here."""

import contextlib
import os
import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_APP = "gistread"
WEIGHTS = "weights"
SNAPSHOTS = "snapshots"
MEASUREMENTS = "measured.json"
# Bits of a file's mode: the access of the owner, and that of everybody else
_OF_OWNER = 0o700
_OF_OTHERS = 0o077


class PathWithin:
    """A file or folder within one of the directories of `Paths`, as an attribute of `Paths`.

    `paths.config_file` is `paths.config / "config.toml"`.
    """

    def __init__(self, directory: str, name: str) -> None:
        self._directory = directory
        self._name = name

    def __get__(self, paths: "Paths", owner: type["Paths"]) -> Path:
        return Path(getattr(paths, self._directory), self._name)


@dataclass(frozen=True, slots=True)
class Paths:
    """The four directories, which may not exist yet, and the files and folders in them."""

    config: Path  # Settings, themes and presets
    # User data: library, positions, marks, questions, downloaded models. Never deleted by the
    # program.
    data: Path
    # Data that can be rebuilt: memories, texts, requantised models, measurements
    cache: Path
    state: Path  # Logs, and the commands last run from the palette

    config_file = PathWithin("config", "config.toml")
    themes = PathWithin("config", "themes")
    presets = PathWithin("config", "presets")
    models = PathWithin("data", "models")
    books = PathWithin("data", "books")  # Downloaded ones
    store = PathWithin("data", "gistread.db")
    encodings = PathWithin("data", "encodings.json")
    sync_account = PathWithin("data", "sync.json")
    memories = PathWithin("cache", "memories")
    texts = PathWithin("cache", "texts")
    index = PathWithin("cache", "index")
    weights = PathWithin("cache", WEIGHTS)
    snapshots = PathWithin("cache", SNAPSHOTS)
    measurements = PathWithin("cache", MEASUREMENTS)
    log_file = PathWithin("state", "gistread.log")
    worker_log = PathWithin("state", "worker.log")

    def make_private(self) -> None:
        """Remove the access of other users to files of earlier versions."""
        for folder in (self.config, self.data, self.cache, self.state):
            _make_private(folder)


def packaged_themes() -> Path:
    """The packaged themes: inside the package, or beside `src/` in an editable install."""
    package = Path(__file__).resolve().parent
    inside = package / "themes"
    if inside.is_dir():
        return inside
    return package.parent.parent / "themes"


def pip_install(what: str) -> str:
    """The command that installs packages beside gistread.

    Uses pip, pipx or uv, as gistread was installed.
    """
    if _is_by_pipx():
        return f"pipx runpip gistread install {what}"
    if find_spec("pip") is None:  # uv makes environments without pip.
        return f"uv pip install --python {shlex.quote(sys.executable)} {what}"
    return f"{shlex.quote(sys.executable)} -m pip install {what}"


def install_extra(extra: str) -> str:
    """The command that adds what an extra of gistread needs.

    For pipx the packages are named one by one: it would take `gistread[…]` for another source of
    gistread, and look for upgrades there.
    """
    if not _is_by_pipx():
        return pip_install(f"'gistread[{extra}]'")
    from importlib.metadata import requires  # Imported here: it takes long.

    conditions = (f"extra == '{extra}'", f'extra == "{extra}"')
    packages: list[str] = []
    for requirement in requires("gistread") or ():
        # `textual-serve>=1.1; extra == 'serve'`
        package, _, condition = requirement.partition(";")
        if condition.strip() in conditions:
            packages.append(shlex.quote(package.strip()))
    return f"pipx inject gistread {' '.join(packages)}"


def _is_by_pipx() -> bool:
    return Path(sys.prefix, "pipx_metadata.json").exists()


def default_paths() -> Paths:
    """The user's directories; the XDG variables work on every system."""
    import platformdirs

    usual = platformdirs.PlatformDirs(_APP, appauthor=False)
    return Paths(
        config=_directory("XDG_CONFIG_HOME", usual.user_config_dir),
        data=_directory("XDG_DATA_HOME", usual.user_data_dir),
        cache=_directory("XDG_CACHE_HOME", usual.user_cache_dir),
        state=_directory("XDG_STATE_HOME", usual.user_state_dir),
    )


def _directory(variable: str, usual: str) -> Path:
    """The directory that an environment variable names, or else the usual one."""
    value = Path(os.environ.get(variable, ""))
    # The XDG specification says to ignore relative paths.
    if not value.is_absolute():
        return Path(usual)
    return value / _APP


def _make_private(folder: Path) -> None:
    """Remove the access of other users to a folder, if it exists, and to all in it.

    Skips what it cannot change.
    """
    with contextlib.suppress(OSError):
        is_private = not folder.stat().st_mode & _OF_OTHERS
        if is_private:
            return
        for path in (*folder.rglob("*"), folder):
            # Another user may own it, or it may have been deleted.
            with contextlib.suppress(OSError):
                # `chmod` follows a link, perhaps out of the folder. The folder itself may be one.
                if not path.is_symlink() or path is folder:
                    path.chmod(path.stat().st_mode & _OF_OWNER)
