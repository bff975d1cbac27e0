"""The catalogue of models that can be fetched by name."""

import datetime
import difflib
import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model file on the hub. Unknown fields are empty or 0."""

    name: str  # For `models get`
    repository: str  # `owner/repository` on the hub
    file: str  # Path in the repository; the first of a model in several files
    good_for: str = ""
    revision: str = "main"  # Commit or branch of the repository
    licence: str = ""
    size_bytes: int = 0
    sha256: str = ""  # Hexadecimal digest of the file; empty: the hub's is used
    parameters: int = 0
    active_parameters: int = 0  # Parameters used per token in a mixture of experts; 0: all
    quantization: str = ""
    context_tokens: int = 0  # Context length the model was trained for
    kv_bytes_per_token: int = 0  # For an F16 KV cache
    machine_gb: int = 0  # Memory of the smallest common machine it suits: 4, 8, 16 or 24


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Models that can be fetched by name."""

    dated: datetime.date
    entries: tuple[CatalogueEntry, ...]
    starter: CatalogueEntry  # Found by name only; not listed

    def find(self, name: str) -> CatalogueEntry | None:
        wanted = name.casefold()
        return next((entry for entry in (*self.entries, self.starter) if entry.name.casefold() == wanted), None)

    def similar(self, name: str) -> tuple[str, ...]:
        """Suggestions: names that begin with this one, else those that contain it, else the most similar."""
        names = {entry.name.casefold(): entry.name for entry in self.entries}
        wanted = name.casefold()
        similar = [one for one in names if one.startswith(wanted)] or [one for one in names if wanted in one]
        return tuple(names[one] for one in similar or difflib.get_close_matches(wanted, names, n=1))


def read_catalogue() -> Catalogue:
    document = tomllib.loads((resources.files("gistread.engine") / "catalogue.toml").read_text("utf-8"))
    entries = tuple(CatalogueEntry(**table) for table in document["model"])
    return Catalogue(document["dated"], entries, CatalogueEntry(**document["starter"]))
