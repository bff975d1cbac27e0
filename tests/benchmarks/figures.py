"""How figures are printed: a line each, as they come, and all of them as JSON in the end."""

import json
import statistics
from collections.abc import Sequence


class Figures:
    """Collects what was measured."""

    def __init__(self) -> None:
        self._all: dict[str, float] = {}

    def add(self, name: str, value: float, unit: str = "") -> None:
        self._all[name] = round(value, 3)
        print(f"{name:64} {value:10.3f} {unit}", flush=True)

    def add_median(self, name: str, values: Sequence[float], unit: str = "") -> None:
        self._all[name] = round(statistics.median(values), 3)
        print(
            f"{name:64} {statistics.median(values):10.3f} {unit}   ({min(values):.3f} to {max(values):.3f})", flush=True
        )

    def json(self) -> str:
        return json.dumps(self._all, indent=1)
