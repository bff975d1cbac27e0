"""How fast each model works on this machine, as its requests showed: one small JSON file in the cache.

A setup is a text that begins with the model's fingerprint and names all that its speed depends on.
"""

import contextlib
from pathlib import Path
from typing import Any

import orjson

from gistread.engine.protocol import Rates
from gistread.store.files import make_folder, replace_file

_FORMAT = 3
_MOST_ENTRIES = 100  # The oldest are dropped


def stored_rates(path: Path, setup: str) -> Rates | None:
    match _read(path).get(setup):
        case [float(prefill), float(decode)] if prefill > 0 and decode > 0:
            return Rates(prefill, decode)
    return None


def store_rates(path: Path, setup: str, rates: Rates) -> None:
    entries = _read(path)
    entries.pop(setup, None)
    _write(path, {**entries, setup: [rates.prefill, rates.decode]})


def forget_rates(path: Path, fingerprint: str) -> None:
    """Let the next run of a model tell its speed."""
    _write(path, {setup: rates for setup, rates in _read(path).items() if not setup.startswith(fingerprint)})


def _write(path: Path, entries: dict[str, Any]) -> None:
    document = {"format": _FORMAT, "entries": dict(list(entries.items())[-_MOST_ENTRIES:])}
    with contextlib.suppress(OSError):
        make_folder(path.parent)
        replace_file(path, orjson.dumps(document, option=orjson.OPT_INDENT_2))


def _read(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        document = orjson.loads(path.read_bytes())
        if document["format"] == _FORMAT:
            return dict(document["entries"])
    return {}
