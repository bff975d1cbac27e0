"""How fast models were found to be on this machine, kept so that it is measured once.

One small JSON file in the cache. It is a convenience: what is missing, damaged or of another format is not there,
and where it cannot be written it is measured again next time.
"""

import contextlib
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from gistread.atomic_write import replace_file
from gistread.engine.protocol import Rates

UNDISTURBED_SHARE = 0.9
"""Of its threads' time that a processor has to have worked on a measurement; else other programs were measured."""
_FORMAT = 1
_MOST_ENTRIES = 100
"""The oldest go first."""


@dataclass(frozen=True, slots=True)
class MeasuredSetup:
    """What was measured, and on what."""

    fingerprint: str
    """Of the model's own file, whatever form was measured."""
    form: str
    """Of the weights: empty for the file as it is, else the quantisation of the copy."""
    device: str
    threads: int
    library: str
    """Version of the binding and the kernels it was built with."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What came of it."""

    rates: Rates | None
    """None: it could not be measured there, and a copy of which that is so is not used."""
    parallel: int


class Measurements:
    """The file. Read anew for every question: another process may have measured meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, subject: MeasuredSetup) -> Measurement | None:
        """What is known of exactly this, if anything."""
        return self._read().get(subject)

    def of_model(self, fingerprint: str) -> dict[MeasuredSetup, Measurement]:
        """All that is known of one model, the latest last."""
        return {subject: found for subject, found in self._read().items() if subject.fingerprint == fingerprint}

    def keep(self, subject: MeasuredSetup, measured: Measurement) -> None:
        entries = self._read()
        entries.pop(subject, None)
        self._write({**entries, subject: measured})

    def forget(self, fingerprint: str) -> None:
        """So that this model is measured anew."""
        self._write({subject: found for subject, found in self._read().items() if subject.fingerprint != fingerprint})

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
                subject, measured = _entry(entry)
                found[subject] = measured
        return found

    def _write(self, entries: dict[MeasuredSetup, Measurement]) -> None:
        latest = list(entries.items())[-_MOST_ENTRIES:]
        shapes = [{**asdict(subject), **asdict(measured)} for subject, measured in latest]
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            document = orjson.dumps({"format": _FORMAT, "entries": shapes}, option=orjson.OPT_INDENT_2)
            replace_file(self._path, document)


def _entry(shape: Any) -> tuple[MeasuredSetup, Measurement]:
    """One entry of the file. Raises ValueError, TypeError or KeyError for what is none."""
    texts = [shape[name] for name in ("fingerprint", "form", "device", "library")]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    fingerprint, form, device, library = texts
    rates = shape["rates"]
    if rates is not None:
        rates = Rates(_rate(rates["prefill"]), tuple((_number(n), _rate(rate)) for n, rate in rates["decode"]))
        if not rates.decode:
            raise ValueError
    subject = MeasuredSetup(fingerprint, form, device, _number(shape["threads"]), library)
    return subject, Measurement(rates, _number(shape["parallel"]))


def _rate(value: object) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise ValueError
    return float(value)


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError
    return value
