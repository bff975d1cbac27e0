"""The settings of a run, in `run.json`: a run can only be resumed with the same settings."""

import hashlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import orjson

from gistread import __version__
from gistread.errors import StorageError, UsageError
from gistread.store.files import replace_file

FILE_NAME = "run.json"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Everything that affects what a run measures, in JSON types."""

    task: str
    data: str  # SHA-256 of the task's file or folder
    model: str
    fingerprint: str  # Hash of the model's weights
    context_tokens: int
    # The model that answers, if another; empty or 0 otherwise, also in the next two
    asking_model: str = ""
    asking_fingerprint: str = ""
    asking_context_tokens: int = 0
    embedding: str = ""  # Fingerprint of the embedding model; empty without one
    seed: int = 0
    limit: int = 0  # Questions; 0: all
    documents: int = 0  # 0: all
    budget_tokens: int = 0  # See `ReaderOptions`
    max_pages: int = 5
    model_class: str = "large"  # See `readers/model_class.py`
    knows_absence: bool = False  # Whether it is offered "The book does not say."
    reading: str = "single-pass"
    # Bounds in words, as `280-600`; empty: by the length of each text
    page_size: str = ""
    preset: str = ""  # Empty: by the kind of each text
    gist_task: str = ""  # See `RunConfig.task`
    prompts: str = ""  # Hash of all prompts
    version: str = __version__


def save_or_compare(folder: Path, settings: RunSettings) -> None:
    """Write the settings of a new run or compare those of an existing one.

    Raises UsageError, StorageError.
    """
    path = folder / FILE_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            _refuse_others(folder, read_settings(folder), settings)
            return
        layout = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        document = orjson.dumps(asdict(settings), option=layout)
        replace_file(path, document, mode=0o644)
    except OSError as error:
        raise StorageError(
            f"{error.filename or path}: {error.strerror or error}.",
            "Choose another --out.",
        ) from error


def read_settings(folder: Path) -> RunSettings:
    """The settings of the run in this folder.

    Raises UsageError without a run, StorageError if unreadable.
    """
    path = folder / FILE_NAME
    try:
        stored: dict[str, Any] = orjson.loads(path.read_bytes())
        names = [field.name for field in fields(RunSettings)]
        known = {name: stored[name] for name in names if name in stored}
        return RunSettings(**known)
    except FileNotFoundError:
        raise UsageError(
            f"{folder} has no run: {FILE_NAME} is missing.",
            "`python -m research.evaluation TASK --out DIR` makes one.",
        ) from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.") from error
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise StorageError(
            f"{path} was not written by this version.", "Choose another --out."
        ) from None


def _refuse_others(folder: Path, stored: RunSettings, current: RunSettings) -> None:
    """Raises UsageError if the settings differ."""
    differences: list[str] = []
    for field in fields(RunSettings):
        there = getattr(stored, field.name)
        here = getattr(current, field.name)
        if there != here:
            differences.append(f"{field.name} ({there!r} there, {here!r} here)")
    if differences:
        raise UsageError(
            f"{folder} holds a run with other settings: {', '.join(differences)}.",
            "Choose another --out, or resume with the settings of that run.",
        )


def data_hash(path: Path) -> str:
    """SHA-256 of a file, or of all names and files in a folder. Raises UsageError if unreadable."""
    digest = hashlib.sha256()
    is_folder = path.is_dir()
    files = [path]
    if is_folder:
        files = sorted(file for file in path.rglob("*") if file.is_file())
    try:
        for file in files:
            if is_folder:
                name = file.relative_to(path).as_posix()
                digest.update(f"{name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as opened:
                while block := opened.read(1 << 20):
                    digest.update(block)
    except OSError as error:
        raise UsageError(
            f"{error.filename or path}: {error.strerror or error}.",
            "`python -m research.evaluation list` says where to get the file.",
        ) from error
    return digest.hexdigest()
