"""The rows of the model chooser: in use, on this machine, recommended, others, and no model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import NamedTuple

from gistread.engine.model_files import Availability, availability_of, memory_fit_of
from gistread.engine.model_search import ModelFile
from gistread.engine.model_text import facts, memory_fit_text, other_facts
from gistread.engine.models import STARTER
from gistread.memory.check_results import CheckResult
from gistread.tui.screens.listing import Row

# Most models on this machine, beside the one in use, before the others are asked for
_SHOWN_AT_FIRST = 4


class Role(StrEnum):
    """What a model is for. The value is the setting's name."""

    READING = "model"  # Also answers, unless another model is chosen
    ASKING = "asking_model"


class Fetch(NamedTuple):
    """A model to download."""

    spec: str  # A name in the catalogue, or an address


class Entry(Enum):
    NONE = auto()  # no model for the role
    OTHERS = auto()  # shows all other rows


ModelKey = str | Fetch | Entry  # A path or address, or another row


@dataclass(frozen=True, slots=True)
class ModelRow(Row[ModelKey]):
    detail: str = ""  # Shown below the list while the cursor is on the row
    is_current: bool = False
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Chooser:
    """What the rows are made from."""

    role: Role
    current: str  # Path, name or address in the settings
    free_bytes: int
    starter: Path | None
    checked: Mapping[Path, CheckResult] = field(default_factory=dict)

    def rows(
        self,
        models: Iterable[ModelFile],
        downloads: tuple[list[ModelRow], list[ModelRow]],
        *,
        whole: bool,
    ) -> list[Row[ModelKey]]:
        """The rows under their headings. Unless `whole`, only those that most people want.

        `downloads`: (unfinished and recommended, other) models to download.
        """
        recommended, others = downloads
        by_name = sorted(
            models,
            key=lambda model: (
                model.path != self.starter,
                model.name.casefold(),
                model.path,
            ),
        )
        rated = sorted(map(self._row, by_name), key=lambda pair: pair[0])
        ready = [row for standing, row in rated if standing is Availability.READY]
        others = others + [
            row for standing, row in rated if standing > Availability.READY
        ]
        current = [row for _, row in rated if row.is_current]
        if not current and "://" in self.current:
            current = [_current(ModelRow(self.current, self.current, "on a server"))]
        ready = _without_current(ready)
        others = _without_current(others)
        if not whole:
            others = _fold(ready[_SHOWN_AT_FIRST:] + others)
            ready = ready[:_SHOWN_AT_FIRST]
        without_heading, without = _WITHOUT[self.role]
        if not self.current and self.role is not Role.READING:
            without = _current(without)
        return [
            *_under("In use", current),
            *_under("On this machine", ready),
            *_under("Recommended for this machine", recommended),
            *_under("Other models", others),
            *_under(without_heading, [without]),
        ]

    def _row(self, model: ModelFile) -> tuple[Availability, ModelRow]:
        fit = memory_fit_of(model, self.free_bytes)
        standing = availability_of(model, fit)
        is_starter = model.path == self.starter
        more = " · ".join(other_facts(model))
        name = model.name
        about = [memory_fit_text(fit, model.context_length), *facts(model)]
        detail = [more, str(model.path)]
        refusal = ""
        if is_starter:
            name = f"{name}  (starter)"
            about.insert(0, "small model, for trying out")
        if model.problem:
            about = [f"cannot be used: {model.problem}"]
            detail.insert(0, model.problem)
            refusal = f"{model.name} cannot be used: {model.problem}."
        if result := self.checked.get(model.path):
            about.insert(0, result.line.partition(";")[0])
            detail.insert(0, f"Tried here: {result.line}.")
            if not result.is_usable:
                standing = Availability.UNUSABLE
        row = ModelRow(
            str(model.path),
            name,
            " · ".join(filter(None, about)),
            detail="\n".join(filter(None, detail)),
            also=more,
            refusal=refusal,
        )
        if self._is_current(model):
            row = _current(row)
        return standing, row

    def _is_current(self, model: ModelFile) -> bool:
        if self.current == STARTER and model.path == self.starter:
            return True
        return self.current in (str(model.path), model.name)


def _without_current(rows: list[ModelRow]) -> list[ModelRow]:
    return [row for row in rows if not row.is_current]


def _fold(rows: list[ModelRow]) -> list[ModelRow]:
    """One row that stands for these, and shows them when it is chosen."""
    if not rows:
        return []
    about = "smaller, larger, for other languages, and unusable ones"
    return [ModelRow(Entry.OTHERS, f"{len(rows)} more …", about)]


def _under(heading: str, rows: Sequence[ModelRow]) -> list[Row[ModelKey]]:
    """The rows below their heading; none without rows."""
    if not rows:
        return []
    return [Row(None, heading), *rows]


def _current(row: ModelRow) -> ModelRow:
    return replace(row, text=f"● {row.text}", is_current=True)


_WITHOUT = {
    Role.READING: (
        "Without a model",
        ModelRow(
            Entry.NONE,
            "Read without a model",
            "Nothing is summarised; questions need a model of their own.",
        ),
    ),
    Role.ASKING: (
        "Without another model",
        ModelRow(Entry.NONE, "The model that reads", "It answers questions, too."),
    ),
}
