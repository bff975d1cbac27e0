"""The rows of the model chooser: in use, on this machine, recommended, others, and no model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import NamedTuple

from gistread.engine.model_files import Availability, availability_of, memory_fit_of
from gistread.engine.model_search import ModelFile
from gistread.engine.model_text import facts, memory_fit_text, other_facts
from gistread.engine.models import STARTER, split_adapter
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
    """A row that stands for no model of its own."""

    NONE = auto()  # No model for the role
    OTHERS = auto()  # Shows all other rows


ModelKey = str | Fetch | Entry  # A path or address, or another row


@dataclass(frozen=True, slots=True)
class ModelRow(Row[ModelKey]):
    """A row that stands for a model, or for the choice of none."""

    detail: str = ""  # Shown below the list while the cursor is on the row
    is_current: bool = False
    refusal: str = ""  # Why the model cannot be chosen; empty if it can


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
        recommended, other_downloads = downloads
        rated = [self._row(model) for model in sorted(models, key=self._place_in_list)]
        # Sorting is stable: those of one availability keep their order.
        rated.sort(key=lambda pair: pair[0])
        current = [row for _, row in rated if row.is_current]
        is_on_server = "://" in self.current
        if is_on_server and not current:
            current = [_current(ModelRow(self.current, self.current, "on a server"))]
        further = [pair for pair in rated if not pair[1].is_current]
        ready = [row for rating, row in further if rating is Availability.READY]
        unready = [row for rating, row in further if rating is not Availability.READY]
        others = [*other_downloads, *unready]
        if not whole:
            others = _fold(ready[_SHOWN_AT_FIRST:] + others)
            ready = ready[:_SHOWN_AT_FIRST]
        heading_without, row_without = _WITHOUT[self.role]
        # Without a reading model in the settings, one that was found may read a book.
        if not self.current and self.role is not Role.READING:
            row_without = _current(row_without)
        return [
            *_under("In use", current),
            *_under("On this machine", ready),
            *_under("Recommended for this machine", recommended),
            *_under("Other models", others),
            *_under(heading_without, [row_without]),
        ]

    def _place_in_list(self, model: ModelFile) -> tuple[object, ...]:
        """The starter first, then by name."""
        return model.path != self.starter, model.name.casefold(), model.path

    def _row(self, model: ModelFile) -> tuple[Availability, ModelRow]:
        """The row of a model on this machine, and whether it can be used."""
        fit = memory_fit_of(model, self.free_bytes)
        availability = availability_of(model, fit)
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
            about.insert(0, result.verdict)
            detail.insert(0, f"Tried here: {result.line}.")
            if not result.is_usable:
                availability = Availability.UNUSABLE
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
        return availability, row

    def _is_current(self, model: ModelFile) -> bool:
        if self.current == STARTER and model.path == self.starter:
            return True
        base, _ = split_adapter(self.current)
        return base in (model.name, str(model.path), _with_home(model.path))


def _with_home(path: Path) -> str:
    """A path as a user types it: "~/models/a.gguf"."""
    if not path.is_relative_to(Path.home()):
        return str(path)
    return f"~/{path.relative_to(Path.home())}"


def _fold(rows: list[ModelRow]) -> list[ModelRow]:
    """One row in place of these; choosing it shows them."""
    if not rows:
        return []
    about = "smaller, larger, for other languages, and unusable ones"
    return [ModelRow(Entry.OTHERS, f"{len(rows)} more …", about)]


def _under(heading: str, rows: Sequence[ModelRow]) -> list[Row[ModelKey]]:
    """The rows below their heading; nothing if there are no rows."""
    if not rows:
        return []
    return [Row(None, heading), *rows]


def _current(row: ModelRow) -> ModelRow:
    """The row, marked as the model in use."""
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
