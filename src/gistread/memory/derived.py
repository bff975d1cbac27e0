"""What is made of a memory beside its gists (summaries of a tree, facts, vectors), kept by what it was made of.

A record is known by its kind and by a hash of the text and the prompts that it came from. So it is right for as long
as it is there: a memory that grows, or one that ends at the spoiler bound, finds what still holds and makes the rest.
One journal beside the memory's own file, that several processes may add to; what the disk refuses is kept for this
session only.
"""

import contextlib
import hashlib
from dataclasses import dataclass
from pathlib import Path

from gistread.engine.protocol import Usage
from gistread.errors import StorageError
from gistread.journal import Record, append_independent, read_records

SUFFIX = ".derived"


@dataclass(frozen=True, slots=True)
class ArtifactProgress:
    """So many of the things that are made of a memory are there."""

    done: int
    total: int
    usage: Usage


def key_of(*parts: str) -> str:
    """The name of what is made of these texts, in this order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


class DerivedRecords:
    """Records by kind and key. Read when first asked for; `path` None keeps them in this process alone."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[tuple[str, str], Record] | None = None

    def at(self, offset: int) -> "DerivedRecords":
        """Where that is kept which is made of the book's text from `offset` on: for a series, with its volume."""
        return self

    def get(self, kind: str, key: str) -> Record | None:
        """What was put there, by this process or another one before."""
        return self._records().get((kind, key))

    def put(self, kind: str, key: str, record: Record) -> None:
        """Keep a record, on disk where that is possible."""
        self._records()[kind, key] = record
        if self._path is not None:
            with contextlib.suppress(StorageError):
                append_independent(self._path, {"kind": kind, "key": key, "record": record}, wait_s=1.0)

    def _records(self) -> dict[tuple[str, str], Record]:
        if self._known is None:
            self._known = {}
            if self._path is not None:
                with contextlib.suppress(StorageError):
                    for line in read_records(self._path, independent=True)[0]:
                        match line:
                            case {"kind": str(kind), "key": str(key), "record": dict(record)}:
                                self._known[kind, key] = record
        return self._known
