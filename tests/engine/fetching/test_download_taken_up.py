"""Partial downloads are resumed for the same file only, and other files are left alone."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.engine.fetching.download import DownloadStep, download
from gistread.engine.fetching.partial_file import PartialFile, discard_download
from gistread.errors import FetchError, StorageError
from tests.engine.fetching.downloads import Downloads
from tests.engine.fetching.server import (
    File,
    cut_after,
    sha256,
    throttled,
    without_ranges,
)
from tests.tiny_gguf import write_tiny_gguf


def test_a_killed_download_is_resumed_and_verified(
    downloads: Downloads, gguf: bytes
) -> None:
    downloads.server.always = throttled(400_000)
    asyncio.run(_cancelled_in_the_middle(downloads))
    here = downloads.part.stat().st_size
    assert 0 < here < len(gguf)
    downloads.server.always = None
    assert downloads.run() == gguf
    assert downloads.sent[-1] == (here, len(gguf) - here)
    assert DownloadStep.CHECKING in {progress.step for progress in downloads.progress}


def test_a_download_begun_by_0_2_is_resumed(downloads: Downloads, gguf: bytes) -> None:
    begun_by_0_2(downloads.folder, gguf[:50_000], sha256(gguf))
    assert downloads.run() == gguf
    assert downloads.sent == [(50_000, len(gguf) - 50_000)]
    assert [path.name for path in downloads.folder.iterdir()] == ["tiny.gguf"]


def test_another_file_begun_by_0_2_is_left_until_it_is_discarded(
    downloads: Downloads, gguf: bytes
) -> None:
    begun_by_0_2(downloads.folder, gguf[:50_000], "0" * 64)
    assert downloads.run() == gguf
    assert downloads.sent == [(0, len(gguf))]
    discard_download(downloads.folder, "tiny.gguf")
    assert [path.name for path in downloads.folder.iterdir()] == ["tiny.gguf"]


def begun_by_0_2(folder: Path, data: bytes, checksum: str) -> None:
    folder.mkdir()
    (folder / "tiny.gguf.part").write_bytes(data)
    (folder / "tiny.gguf.part.json").write_text(
        json.dumps({"source": "", "etag": "", "sha256": checksum})
    )


async def _cancelled_in_the_middle(downloads: Downloads) -> None:
    with PartialFile(downloads.part) as part:
        some = asyncio.Event()
        work = asyncio.create_task(
            download(
                downloads.file, part, downloads.network, lambda progress: some.set()
            )
        )
        while part.length < 20_000:
            some.clear()
            await some.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work


def test_a_damaged_partial_file_fails_the_checksum(
    downloads: Downloads, gguf: bytes
) -> None:
    downloads.server.faults = [cut_after(70_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError):
        downloads.run()
    damaged = bytearray(downloads.part.read_bytes())
    damaged[40_000] ^= 1
    downloads.part.write_bytes(damaged)
    downloads.server.faults = []
    with pytest.raises(FetchError, match="wrong SHA-256"):
        downloads.run()
    assert downloads.run() == gguf


def test_a_file_that_has_changed_on_the_hub_starts_over(
    downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    downloads.server.faults = [cut_after(70_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError):
        downloads.run()
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=2).read_bytes()
    downloads.file = replace(
        downloads.file, sha256=sha256(other), size_bytes=len(other)
    )
    downloads.server.faults = []
    downloads.server.files["/tiny.gguf"] = File(other)
    assert downloads.run() == other


def test_a_server_that_cannot_resume_sends_the_whole_file(
    downloads: Downloads, gguf: bytes
) -> None:
    downloads.server.faults = [cut_after(70_000), without_ranges]
    assert downloads.run() == gguf


def test_a_full_disk_stops_the_download_and_keeps_the_partial_file(
    downloads: Downloads, gguf: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from gistread.store import journal

    real, left = journal.write_all, [3]

    def write(file: object, data: bytes) -> None:
        left[0] -= 1
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, data)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "write_all", write)
    with pytest.raises(StorageError, match="resumes"):
        downloads.run()
    here = downloads.part.stat().st_size
    assert here
    assert [
        path for path in downloads.folder.iterdir() if path.stat().st_mode & 0o077
    ] == []
    left[0] = -1
    assert downloads.run() == gguf
    assert downloads.sent[-1][0] == here


def test_disk_space_is_checked_before_the_download(
    downloads: Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "shutil.disk_usage", lambda _: type("Usage", (), {"free": 64_100_000})()
    )
    with pytest.raises(StorageError, match="kB more on disk"):
        downloads.run()
    assert not downloads.part.exists()


def test_a_second_process_does_not_download_the_same_file(downloads: Downloads) -> None:
    with (
        PartialFile(downloads.part),
        pytest.raises(FetchError, match="Another gistread"),
    ):
        downloads.run()
    assert not downloads.server.requests


def test_an_existing_file_is_never_replaced(downloads: Downloads) -> None:
    downloads.folder.mkdir()
    mine = downloads.folder / "tiny.gguf"
    mine.write_bytes(b"mine")
    with pytest.raises(StorageError, match="exists already"):
        downloads.run()
    assert mine.read_bytes() == b"mine"
