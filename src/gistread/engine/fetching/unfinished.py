"""Downloads that were begun and not brought to an end, on this day or another: what goes on with each of them.

Told from what lies beside the incomplete files; nobody is asked, and nothing is changed.
"""

from dataclasses import dataclass
from pathlib import Path

STATE_SUFFIX = ".part.json"
"""Of what is known of an incomplete file, which lies beside it."""


@dataclass(frozen=True, slots=True)
class UnfinishedDownload:
    """A model of which some has come."""

    spec: str
    """What names it: the same again goes on with it."""
    name: str
    done_bytes: int
    size_bytes: int | None
    """Of the whole; None: nobody said."""

    @property
    def share(self) -> float | None:
        return min(1.0, self.done_bytes / self.size_bytes) if self.size_bytes else None


def unfinished_downloads(folder: Path) -> list[UnfinishedDownload]:
    """By name. Those that cannot be gone on with by a name are left out: nothing may be kept of a secret address."""
    states = sorted(folder.glob(f"*{STATE_SUFFIX}"))
    if not states:
        return []
    import orjson  # the list of models is to be there in a moment

    found: dict[str, UnfinishedDownload] = {}
    for state in states:
        try:
            errand = orjson.loads(state.read_bytes())["errand"]
            spec, size = errand["spec"], errand["size_bytes"]
            here = state.with_name(state.name.removesuffix(".json")).stat().st_size
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if not (isinstance(spec, str) and spec and here and isinstance(size, int | None)):
            continue
        one = found.get(spec) or UnfinishedDownload(
            spec, state.name.removesuffix(STATE_SUFFIX).removesuffix(".gguf"), 0, size
        )
        found[spec] = UnfinishedDownload(spec, one.name.partition("-00001-of-")[0], one.done_bytes + here, size)
    return list(found.values())
