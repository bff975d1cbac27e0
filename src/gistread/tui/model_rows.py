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

_SHOWN_AT_FIRST = (
    4  # Most models on this machine, beside the one in use, before the others are asked for
)


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
            key=lambda model: (model.path != self.starter, model.name.casefold(), model.path),
        )
        rows = sorted(map(self._row, by_name), key=lambda numbered: numbered[0])
        current = [row for _, row in rows if row.is_current]
        if self.current and not current and "://" in self.current:
            current = [_current(ModelRow(self.current, self.current, "on a server"))]
        ready = [
            row for standing, row in rows if standing is Availability.READY and not row.is_current
        ]
        others = [
            *others,
            *(
                row
                for standing, row in rows
                if standing > Availability.READY and not row.is_current
            ),
        ]
        if not whole:
            others, ready = ready[_SHOWN_AT_FIRST:] + others, ready[:_SHOWN_AT_FIRST]
            if others:
                about = "smaller, larger, for other languages, and unusable ones"
                others = [ModelRow(Entry.OTHERS, f"{len(others)} more …", about)]
        heading, without = _WITHOUT[self.role]
        found: dict[str, Sequence[ModelRow]] = {
            "In use": current,
            "On this machine": ready,
            "Recommended for this machine": recommended,
            "Other models": others,
            heading: [
                _current(without) if not self.current and self.role is not Role.READING else without
            ],
        }
        return [row for title, some in found.items() if some for row in (Row(None, title), *some)]

    def _row(self, model: ModelFile) -> tuple[Availability, ModelRow]:
        fit = memory_fit_of(model, self.free_bytes)
        standing, is_starter = availability_of(model, fit), model.path == self.starter
        more = " · ".join(other_facts(model))
        about = [
            *(["small model, for trying out"] if is_starter else []),
            memory_fit_text(fit, model.context_length),
            *facts(model),
        ]
        detail, refusal = [more, str(model.path)], ""
        if model.problem:
            about, detail = [f"cannot be used: {model.problem}"], [model.problem, *detail]
            refusal = f"{model.name} cannot be used: {model.problem}."
        if result := self.checked.get(model.path):
            about.insert(0, result.line.partition(";")[0])
            detail.insert(0, f"Tried here: {result.line}.")
            standing = standing if result.is_usable else Availability.UNUSABLE
        name = f"{model.name}  (starter)" if is_starter else model.name
        about_line, details = " · ".join(filter(None, about)), "\n".join(filter(None, detail))
        row = ModelRow(
            str(model.path), name, about_line, detail=details, also=more, refusal=refusal
        )
        is_current = self.current in (str(model.path), model.name) or (
            is_starter and self.current == STARTER
        )
        return standing, _current(row) if is_current else row


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
