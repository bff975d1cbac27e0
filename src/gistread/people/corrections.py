"""Applies the user's corrections of a book's names: merge, split, rename, hide."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gistread.people.joining import Entity, make_entity, sort_by_count
from gistread.user_data import NameCorrection


def corrected(entities: Iterable[Entity], corrections: Sequence[NameCorrection]) -> list[Entity]:
    """Apply the corrections in order; ignores those of unknown names. The commonest entity comes first."""
    found = list(entities)
    for one in corrections:
        if entity := next(filter(None, (find_by_form(found, form) for form in one.forms)), None):
            found = [other for other in found if other is not entity]
            found += _corrected(entity, one, found)
    return sort_by_count(found) if corrections else found


def _weight(entity: Entity) -> tuple[bool, int]:
    """Sort key of the entity whose name a merge keeps: a name given by the user wins, then the commoner one."""
    return len(entity.others) == len(entity.forms), entity.count


def describe_correction(one: NameCorrection) -> str:
    """The correction in one line."""
    match one.verb:
        case "merge":
            return f"{one.forms[0]} and {one.other} are one."
        case "split":
            return f"{one.forms[0]} is somebody else."
        case "rename":
            return f"{one.forms[0]} is called {one.other}."
    return f"{one.forms[0]} is not shown."


def _corrected(entity: Entity, one: NameCorrection, others: list[Entity]) -> list[Entity]:
    """The corrected entities; removes a merged one from `others`."""
    match one.verb:
        case "hide":
            return []
        case "rename":
            return [replace(entity, name=one.other)]
        case "split":
            own = [form for form in entity.forms if form.text == one.forms[0]]
            rest = [form for form in entity.forms if form.text != one.forms[0]]
            if rest:
                remaining = make_entity(rest, entity.kind)
                if entity.name.removeprefix("the ") != one.forms[0]:
                    remaining = replace(remaining, name=entity.name)
                return [remaining, make_entity(own, entity.kind)]
        case "merge":
            same = find_by_form(others, one.other)
            if same is not None:
                others.remove(same)
                better = max(entity, same, key=_weight)
                return [replace(make_entity((*entity.forms, *same.forms), better.kind), name=better.name)]
    return [entity]


def find_by_form(entities: Iterable[Entity], form: str) -> Entity | None:
    """The entity that has this form of a name."""
    return next((one for one in entities if any(form == each.text for each in one.forms)), None)
