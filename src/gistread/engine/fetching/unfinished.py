"""Lists unfinished downloads, from the state files beside them."""

from dataclasses import dataclass
from pathlib import Path

STATE_SUFFIX = ".part.json"
"""Suffix of the state file beside an incomplete file."""


@dataclass(frozen=True, slots=True)
class UnfinishedDownload:
    """A model fetched in part."""

    spec: str
    """Fetching it again resumes the download."""
    name: str
    done_bytes: int
    size_bytes: int | None
    """Total; None if unknown."""

    @property
    def share(self) -> float | None:
        return min(1.0, self.done_bytes / self.size_bytes) if self.size_bytes else None


def unfinished_downloads(folder: Path) -> list[UnfinishedDownload]:
    """Unfinished downloads, by name, except from addresses that may contain a secret and so are not stored."""
    states = sorted(folder.glob(f"*{STATE_SUFFIX}"))
    if not states:
        return []
    import orjson  # slow to import

    found: dict[str, UnfinishedDownload] = {}
    for state in states:
        try:
            resume = orjson.loads(state.read_bytes())["errand"]
            spec, size = resume["spec"], resume["size_bytes"]
            present = state.with_name(state.name.removesuffix(".json")).stat().st_size
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if not (isinstance(spec, str) and spec and present and isinstance(size, int | None)):
            continue
        one = found.get(spec) or UnfinishedDownload(
            spec, state.name.removesuffix(STATE_SUFFIX).removesuffix(".gguf"), 0, size
        )
        found[spec] = UnfinishedDownload(spec, one.name.partition("-00001-of-")[0], one.done_bytes + present, size)
    return list(found.values())
