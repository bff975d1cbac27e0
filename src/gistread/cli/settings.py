"""Warns of settings that a command can do without."""

from pathlib import Path

from gistread.cli.output import one_line, say
from gistread.config import Config, load_config
from gistread.errors import GistreadError
from gistread.paths import default_paths, packaged_themes


def warn_of_settings() -> None:
    """Say on one line of standard error what is wrong in the settings, if anything is."""
    try:
        config = load_config(default_paths().config_file)
    except GistreadError as error:
        say(error.message)
        return
    warn_of_theme(config)


def warn_of_theme(config: Config) -> None:
    """Say that the theme of the settings does not exist, if so."""
    paths = default_paths()
    folders = packaged_themes(), paths.themes
    name = config.theme
    if not name or any(Path(folder, f"{name}.toml").is_file() for folder in folders):
        return
    from gistread.tui.themes import read_themes  # Imports Textual: slow.

    # The file of a theme may have another name than the theme.
    palettes, _ = read_themes(*folders)
    if name not in palettes:
        known = ", ".join(palettes)
        say(
            f"{one_line(paths.config_file)}: unknown theme {name!r}. "
            f"Themes are: {known}."
        )
