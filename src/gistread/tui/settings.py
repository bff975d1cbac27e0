"""The settings in use. A change takes effect at once and is written to config.toml in the background."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gistread.config import Config, Value, save_setting
from gistread.errors import GistreadError


class Settings:
    """Writes one change after another, so that none can overwrite the one before it."""

    def __init__(self, config: Config, file: Path, warn: Callable[[str], None]) -> None:
        """`config` may differ from the file: only what `set` changes is written."""
        self.config = config
        self._file = file
        self._warn = warn
        self._unwritten: dict[str, Value] = {}
        self._writer: asyncio.Task[None] | None = None

    def set(self, key: str, value: Value) -> None:
        """Change a setting now and in the file. A file that cannot be written is a warning."""
        self.config = replace(self.config, **{key: value})  # type: ignore[arg-type]  # `save_setting` checks it
        self._unwritten[key] = value
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name="save settings")

    async def close(self) -> None:
        if self._writer is not None:
            await asyncio.shield(self._writer)

    async def _write(self) -> None:
        while self._unwritten:
            key = next(iter(self._unwritten))
            value = self._unwritten.pop(key)
            try:
                await asyncio.to_thread(save_setting, self._file, key, value)
            except GistreadError as error:
                self._warn(str(error))
