"""What screens use of the application, so that none of them imports it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gistread.config import Config
from gistread.errors import GistreadError
from gistread.paths import Paths
from gistread.tui.commands import key_hint, with_keys
from gistread.tui.settings import Settings
from gistread.user_data import UserData

if TYPE_CHECKING:
    from gistread.engine.protocol import Embedder, Engine


@dataclass(frozen=True, slots=True)
class AppServices:
    paths: Paths
    settings: Settings
    user_data: UserData
    keymap: Mapping[str, str]
    """Keys the person has changed, by command id."""
    make_engine: "Callable[[str], Engine]"
    """Called in a thread: finding a model by its name reads headers. Raises EngineError."""
    make_embedder: "Callable[[], Embedder]"
    download_note: Callable[[], str]
    """Progress of a model download in a few words; empty without one."""
    cannot_open: Callable[[GistreadError], None]

    @property
    def config(self) -> Config:
        return self.settings.config

    def key_hint(self, command: str) -> str:
        """The key bound to a command, as messages show it."""
        return key_hint(command, self.keymap)

    def with_keys(self, text: str) -> str:
        """The text with each `{command-id}` replaced by that command's key."""
        return with_keys(text, self.keymap)
