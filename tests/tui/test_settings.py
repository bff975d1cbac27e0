"""Settings changed on the screen apply at once and are saved in order."""

import asyncio
import threading
from pathlib import Path

import pytest

from gistread.config import Config, Value, load_config, save_setting
from gistread.tui import services as module
from gistread.tui.services import Settings


async def test_no_change_is_lost_however_slow_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    writing = threading.Lock()
    save = save_setting

    def save_alone(path: Path, key: str, value: Value) -> None:
        assert writing.acquire(blocking=False), "two writers at a time"
        try:
            save(path, key, value)
        finally:
            writing.release()

    monkeypatch.setattr(module, "save_setting", save_alone)
    settings = Settings(Config(), file, pytest.fail)
    settings.set("theme", "paper")
    settings.set("text_width", 60)
    await asyncio.sleep(0)  # the first write is on its way
    settings.set("pictures", False)
    settings.set("text_width", 64)
    assert settings.config.text_width == 64
    await settings.close()
    saved = load_config(file)
    assert (saved.theme, saved.text_width, saved.pictures) == ("paper", 64, False)


async def test_an_unwritable_file_is_a_warning_and_the_change_is_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "folder").write_text("a file where the folder should be")
    warnings: list[str] = []
    settings = Settings(Config(), tmp_path / "folder" / "config.toml", warnings.append)
    settings.set("theme", "paper")
    await settings.close()
    assert settings.config.theme == "paper"
    assert len(warnings) == 1
