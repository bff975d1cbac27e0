"""Downloads of one file from a failing server, with the progress they report."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from gistread.engine.fetching.download import Progress, RemoteFile, download
from gistread.engine.fetching.network import Network
from gistread.engine.fetching.partial_file import PartialFile, partial_path
from tests.engine.fetching.server import FaultyServer, sha256


class Downloads:
    """Runs downloads into one folder, and records their progress."""

    def __init__(self, server: FaultyServer, folder: Path, data: bytes) -> None:
        """`data`: the file as published."""
        self.server = server
        self.folder = folder
        self.progress: list[Progress] = []
        self.network = Network(server.url, stall_s=0.3, pause_s=0.01, attempts=4)
        self.file = RemoteFile(
            f"{server.url}/tiny.gguf",
            "tiny.gguf",
            len(data),
            sha256(data),
            "owner/tiny",
        )

    def run(self, **changes: Any) -> bytes:
        """The downloaded file. Raises as `download`."""
        file = replace(self.file, **changes)

        async def work() -> None:
            with PartialFile(self.part) as part:
                await download(file, part, self.network, self.progress.append)
                part.rename(self.folder / file.name)

        asyncio.run(work())
        placed = self.folder / file.name
        assert not self.part.exists()
        return placed.read_bytes()

    @property
    def part(self) -> Path:
        return partial_path(self.folder, self.file.name, self.file.sha256)

    @property
    def notices(self) -> str:
        return " ".join(progress.notice for progress in self.progress)

    @property
    def sent(self) -> list[tuple[int, int]]:
        """First byte and number of bytes of every answer that had any."""
        return [
            (request.first, request.sent)
            for request in self.server.gets()
            if request.sent
        ]
