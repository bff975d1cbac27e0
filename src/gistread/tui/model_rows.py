"""The rows of the model screen in sections: usable models that fit come first, unusable ones last, with reasons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from gistread.engine.model_files import Availability, MemoryFit, ModelFile, availability_of, memory_fit_of
from gistread.engine.model_text import facts, memory_fit_text, other_facts
from gistread.engine.models import STARTER
from gistread.memory.check_results import CheckResult, Worth

NO_MODEL = "\0none"  # id of the row that chooses no model for the role
TITLES = {
    Availability.READY: "Ready to use",
    Availability.TOO_LARGE: "Too large for the memory that is free",
    Availability.EMBEDDINGS: "For search by meaning",
    Availability.UNUSABLE: "Cannot be used",
}


class Role(StrEnum):
    READING = "reading"  # also answers and searches, unless other models are chosen
    ASKING = "questions"
    EMBEDDING = "search by meaning"

    @property
    def setting(self) -> str:
        return {Role.READING: "model", Role.ASKING: "asking_model", Role.EMBEDDING: "embedding_model"}[self]


class ModelChoice(NamedTuple):
    role: Role
    spec: str  # A path, a name or an address; empty: no model for this role


@dataclass(frozen=True, slots=True)
class ModelRow:
    id: str  # A path, or an id such as `NO_MODEL`
    name: str
    about: str = ""  # One line below the name
    detail: str = ""  # Shown at the bottom while the row is highlighted
    is_current: bool = False
    found_by: str = ""  # More words that the filter matches
    refusal: str = ""

    @property
    def enabled(self) -> bool:
        return not self.refusal


@dataclass(frozen=True, slots=True)
class Section:
    title: str  # May be empty
    rows: tuple[ModelRow, ...]


_WITHOUT = {
    Role.READING: ("Read without a model", "Nothing is summarised; questions need a model of their own."),
    Role.ASKING: ("The model that reads", "It answers questions, too."),
    Role.EMBEDDING: ("The only one there is", "Where there is one here; else nothing is found by meaning."),
}


def no_model_section(role: Role, current: str) -> Section:
    name, about = _WITHOUT[role]
    return Section("", (ModelRow(NO_MODEL, name, about, is_current=not current and role is not Role.READING),))


def sections(
    models: Iterable[ModelFile],
    free_bytes: int,
    current: str,
    starter: Path | None,
    role: Role = Role.READING,
    tried: Mapping[Path, CheckResult] | None = None,
) -> list[Section]:
    """Models in sections, none empty. `current`: path or name in the settings; `tried`: results of model checks."""
    shown = (Availability.EMBEDDINGS, Availability.UNUSABLE) if role is Role.EMBEDDING else tuple(Availability)
    rows: dict[Availability, list[ModelRow]] = {standing: [] for standing in shown}
    for model in sorted(models, key=lambda model: (model.path != starter, model.name.casefold(), model.path)):
        fit = memory_fit_of(model, free_bytes)
        row = _row(model, fit, current, is_starter=model.path == starter, role=role)
        standing = availability_of(model, fit)
        if verdict := (tried or {}).get(model.path):
            most = verdict.line.partition(";")[0]
            row = replace(row, about=f"{most} · {row.about}", detail=f"Tried here: {verdict.line}.\n{row.detail}")
            standing = Availability.UNUSABLE if verdict.worth is Worth.NONE else standing
        rows.get(standing, []).append(row)
    return [Section(TITLES[standing], tuple(some)) for standing, some in rows.items() if some]


def matching(found: Sequence[Section], typed: str) -> list[Section]:
    wanted = typed.casefold().split()

    def holds(row: ModelRow) -> bool:
        words = f"{row.name} {row.about} {row.found_by}".casefold()
        return all(word in words for word in wanted)

    kept = [replace(section, rows=tuple(filter(holds, section.rows))) for section in found]
    return [section for section in kept if section.rows]


def _row(model: ModelFile, fit: MemoryFit | None, current: str, *, is_starter: bool, role: Role) -> ModelRow:
    is_current = current in (str(model.path), model.name) or (is_starter and current == STARTER)
    name = f"{model.name}  (starter)" if is_starter else model.name
    if model.usable:
        trying_out = "small model, for trying out" if is_starter else ""
        about = " · ".join(filter(None, [trying_out, memory_fit_text(model, fit), *facts(model)]))
    elif model.embeds:
        about = " · ".join(facts(model))
    else:
        about = f"cannot be used: {model.problem}"
    refusal = ""
    if model.embeds and role is not Role.EMBEDDING:
        refusal = f"{model.name} cannot write: it is for search by meaning (Tab)."
    elif not model.embeds and (role is Role.EMBEDDING or not model.usable):
        refusal = f"{model.name} cannot be used: {model.problem}."
    more = " · ".join(other_facts(model))
    detail = "\n".join(filter(None, [model.problem, more, str(model.path)]))
    return ModelRow(str(model.path), name, about, detail, is_current, more, refusal)
