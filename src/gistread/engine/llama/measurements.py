"""Stored speed measurements of models on this machine: one small JSON file in the cache."""

import contextlib
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from gistread.atomic_write import make_folder, replace_file
from gistread.engine.protocol import Rates

UNDISTURBED_SHARE = 0.9  # Least share of the threads' time that must be processor time for a measurement to count
_FORMAT = 1
_MOST_ENTRIES = 100  # The oldest are dropped


@dataclass(frozen=True, slots=True)
class MeasuredSetup:
    fingerprint: str  # Of the original file, even if a copy was measured
    variant: str  # Empty for the original file, else the quantization of the copy
    device: str
    threads: int
    library: str  # Version and instruction sets of llama.cpp


@dataclass(frozen=True, slots=True)
class Measurement:
    rates: Rates | None  # None: it could not be measured; such a copy is not used
    parallel: int


class Measurements:
    """The measurements file. Read on every access, since another process may have written it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, setup: MeasuredSetup) -> Measurement | None:
        return self._read().get(setup)

    def of_model(self, fingerprint: str) -> dict[MeasuredSetup, Measurement]:
        return {setup: found for setup, found in self._read().items() if setup.fingerprint == fingerprint}

    def store(self, setup: MeasuredSetup, measured: Measurement) -> None:
        entries = self._read()
        entries.pop(setup, None)
        self._write({**entries, setup: measured})

    def forget(self, fingerprint: str) -> None:
        """Remove the measurements of a model, so that it is measured again."""
        self._write({setup: found for setup, found in self._read().items() if setup.fingerprint != fingerprint})

    def _read(self) -> dict[MeasuredSetup, Measurement]:
        try:
            document = orjson.loads(self._path.read_bytes())
            if document["format"] != _FORMAT:
                return {}
            entries = list(document["entries"])
        except (OSError, ValueError, TypeError, KeyError):
            return {}
        found: dict[MeasuredSetup, Measurement] = {}
        for entry in entries:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                setup, measured = _entry(entry)
                found[setup] = measured
        return found

    def _write(self, entries: dict[MeasuredSetup, Measurement]) -> None:
        latest = list(entries.items())[-_MOST_ENTRIES:]
        shapes = [{**asdict(setup), **asdict(measured), "form": setup.variant} for setup, measured in latest]
        with contextlib.suppress(OSError):
            make_folder(self._path.parent)
            document = orjson.dumps({"format": _FORMAT, "entries": shapes}, option=orjson.OPT_INDENT_2)
            replace_file(self._path, document)


def _entry(shape: Any) -> tuple[MeasuredSetup, Measurement]:
    """Parse one entry. Raises ValueError, TypeError or KeyError."""
    rates = shape["rates"]
    if rates is not None:
        rates = Rates(float(rates["prefill"]), tuple((int(n), float(rate)) for n, rate in rates["decode"]))
        if not rates.decode or not all(0 < rate < math.inf for rate in (rates.prefill, *dict(rates.decode).values())):
            raise ValueError
    if shape["parallel"] < 1:
        raise ValueError
    setup = MeasuredSetup(shape["fingerprint"], shape["form"], shape["device"], shape["threads"], shape["library"])
    return setup, Measurement(rates, shape["parallel"])
