"""The place is written as the user turns: a crash loses at most one screen."""

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gistread.book.open import open_bytes
from gistread.errors import StorageError
from gistread.store.model import ReadingPlace
from gistread.tui.reading.user_data_writer import UserDataWriter

_WAIT_S = 30.0  # For a machine that is busy


class _Places:
    """User data that records the offsets written."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.has_last = threading.Event()

    def set_position(self, _: str, offset: int, *__: object, **___: object) -> None:
        self.offsets.append(offset)
        if offset == _LAST:
            self.has_last.set()


_LAST = 40


def test_each_turn_is_written_though_the_user_never_rests() -> None:
    places = _Places()
    services: Any = SimpleNamespace(user_data=places)
    book = open_bytes(b"It rained. " * 100, "rain.txt")

    async def turn() -> None:
        writer = UserDataWriter(book, Path("rain.txt"), services, lambda _: None)
        for offset in range(_LAST + 1):
            writer.save_place(ReadingPlace(offset))
            await asyncio.sleep(0)
        # The process may be killed from here on: nothing closes the writer.
        assert await asyncio.to_thread(places.has_last.wait, _WAIT_S)

    asyncio.run(turn())
    assert places.offsets == sorted(places.offsets)
    assert len(places.offsets) < _LAST


def test_the_first_turn_is_written_before_any_other() -> None:
    places = _Places()
    services: Any = SimpleNamespace(user_data=places)
    book = open_bytes(b"It rained. " * 100, "rain.txt")

    async def turn() -> None:
        writer = UserDataWriter(book, None, services, lambda _: None)
        writer.save_place(ReadingPlace(_LAST))
        assert await asyncio.to_thread(places.has_last.wait, _WAIT_S)
        assert await writer.flush() == ""

    asyncio.run(turn())
    assert places.offsets == [_LAST]


class _FullDisk(_Places):
    """User data that cannot be written until there is room."""

    has_room = False

    def set_position(self, _: str, offset: int, *__: object, **___: object) -> None:
        if not self.has_room:
            raise StorageError("The disk is full.")
        self.offsets.append(offset)


def test_what_a_full_disk_refused_is_written_once_there_is_room() -> None:
    data = _FullDisk()
    questions: list[str] = []
    warnings: list[str] = []

    def ask(*_: object) -> None:
        if not data.has_room:
            raise StorageError("The disk is full.")
        questions.append("Who?")

    async def read() -> None:
        services: Any = SimpleNamespace(user_data=data)
        book = open_bytes(b"It rained. " * 100, "rain.txt")
        writer = UserDataWriter(book, None, services, warnings.append)
        writer.save(ask)
        writer.save_place(ReadingPlace(10))
        unsaved = await writer.flush()
        assert unsaved == (
            "Your place cannot be saved. 1 change to questions and choices cannot be saved."
        )
        data.has_room = True
        writer.save_place(ReadingPlace(20))
        assert await writer.flush() == ""

    asyncio.run(read())
    assert questions == ["Who?"]
    assert data.offsets == [20]
    assert len(warnings) == 1
    assert "cannot be saved yet" in warnings[0]
