"""Stores artifacts derived from a memory.

The key of each is a hash of its texts and prompts, so that no record becomes stale.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from gistread.engine.protocol import Usage
from gistread.errors import StorageError
from gistread.store.journal import Journal, Record, read_records

T = TypeVar("T")

SUFFIX = ".derived"
_KEY_CHARACTERS = 32  # Of a digest
# For another process that writes to the same file
_LOCK_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class ArtifactProgress:
    done: int
    total: int
    usage: Usage


async def as_finished(tasks: Collection[asyncio.Task[T]]) -> AsyncGenerator[T, None]:
    """Yield the results of tasks as they finish.

    Closing the stream, or an error, cancels the other tasks.
    """
    try:
        for ready in asyncio.as_completed(tasks):
            yield await ready
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def key_of(*parts: str) -> str:
    """A key for a result derived from these texts, in this order."""
    digest = hashlib.sha256()
    for text in parts:
        # With its length, so that the texts "ab", "c" and "a", "bc" have different keys.
        with_length = f"{len(text)}:{text}"
        digest.update(with_length.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:_KEY_CHARACTERS]


class DerivedRecords:
    """Records by kind and key, read on first use. Without a `path` they are not saved.

    `notice`: one line about the file, or empty.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.notice = ""
        self._path = path

    def get(self, kind: str, key: str) -> Record | None:
        return self._records.get((kind, key))

    def put(self, kind: str, key: str, record: Record) -> None:
        self._records[kind, key] = record
        if self._path is None:
            return
        try:
            with Journal(self._path, wait_s=_LOCK_WAIT_S) as journal:
                journal.append({"kind": kind, "key": key, "record": record})
        except StorageError as error:
            self.notice = f"{error.message} New summaries and facts are not saved."

    @cached_property
    def _records(self) -> dict[tuple[str, str], Record]:
        known: dict[tuple[str, str], Record] = {}
        if self._path is None:
            return known
        # What cannot be read is made again.
        with contextlib.suppress(StorageError):
            lines, _ = read_records(self._path)
            for line in lines:
                match line:
                    case {"kind": str(kind), "key": str(key), "record": dict(record)}:
                        known[kind, key] = record
        return known
