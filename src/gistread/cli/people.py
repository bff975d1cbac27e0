"""`gistread people BOOK`: lists the people and places of a book, or shows a card of one. Needs no model."""

import argparse
import shutil
from collections.abc import Sequence

from gistread.book.model import Book
from gistread.cli.bound import resolve_bound
from gistread.cli.json_output import Json
from gistread.cli.memories import saved_memories
from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.cli.recap import longest_memory
from gistread.errors import ExitStatus, UsageError
from gistread.memory.sizes import unread_memory
from gistread.paths import default_paths
from gistread.people.corrections import describe_correction
from gistread.people.index import Card, Index
from gistread.people.joining import Entity
from gistread.people.mentions import is_covered
from gistread.people.timeline import build_timeline, format_table
from gistread.readers.claims import Claim, claims, identities
from gistread.readers.introductions import introducing_sentences
from gistread.units import bars, counted
from gistread.user_data import NameCorrection, NameVerb, UserData

_LEAST_LISTED = 3  # Minimum of mentions in the list without --all
_MOST_BARS = 64
_COLUMNS = 100  # If the output is no terminal


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    if not is_covered(book):
        raise UsageError("Names are found in English books only.")
    user_data = UserData(default_paths().books)
    if arguments.undo:
        undone = user_data.undo_name_correction(book.sha256)
        say(f"Undone: {describe_correction(undone)}" if undone else "No name has been corrected.")
        return ExitStatus.DONE if undone else ExitStatus.FAILED
    bound = resolve_bound(arguments.upto, unread_memory(book), "Up to your place; `--upto all` shows the whole book.")
    view = Index.of(book).upto(len(book.text) if bound is None else bound, user_data.name_corrections(book.sha256))
    if arguments.timeline:
        return _timeline(view, arguments)
    if not arguments.name:
        return _list(view, book, arguments)
    name = " ".join(arguments.name)
    found = view.find(name)
    if not found:
        place = f" up to {_percent(len(view.book.text), book)}" if bound is not None else ""
        say(f"“{name}” is no name in the text{place}. `gistread people BOOK` lists the names.")
        return ExitStatus.FAILED
    if (correction := _correction(found, view, arguments)) is not None:
        user_data.correct_name(book.sha256, correction)
        say(f"{describe_correction(correction)} `gistread people BOOK --undo` takes it back.")
        return ExitStatus.DONE
    cards = [view.card(entity) for entity in found]
    memory = longest_memory(book, saved_memories(book, arguments.book)).upto(len(view.book.text))
    known = [claims(entity, memory) for entity in found]
    if arguments.json:
        write_json({"found": [card_document(card, view, one) for card, one in zip(cards, known, strict=True)]})
    else:
        shown = (_lines(card, view, book, one) for card, one in zip(cards, known, strict=True))
        write("\n\n".join(map("\n".join, shown)))
    return ExitStatus.DONE


def _correction(found: list[Entity], view: Index, arguments: argparse.Namespace) -> NameCorrection | None:
    """The correction requested by the options, if any. Raises UsageError."""
    wanted: dict[NameVerb, str | None] = {
        "merge": arguments.merge,
        "split": arguments.split,
        "rename": arguments.rename,
    }
    given = {verb: value for verb, value in wanted.items() if value is not None}
    if arguments.hide:
        given["hide"] = ""
    if not given:
        return None
    if len(found) > 1:
        raise UsageError(f"Several have this name: {', '.join(one.name for one in found)}.", "Give more of the name.")
    entity = found[0]
    verb, other = next(iter(given.items()))
    forms = tuple(one.text for one in entity.forms)
    if verb == "split":
        if other not in forms or len(forms) == 1:
            raise UsageError(f"“{other}” is not one of several names of {entity.name}: {', '.join(forms)}.")
        return NameCorrection("split", (str(other),))
    if verb == "merge":
        same = [one for one in view.find(str(other)) if one is not entity]
        if len(same) != 1:
            raise UsageError(f"“{other}” is {'no other name' if not same else 'the name of several'} in the text.")
        other = same[0].forms[0].text
    return NameCorrection(verb, forms, str(other))


def _list(index: Index, book: Book, arguments: argparse.Namespace) -> ExitStatus:
    least = 1 if arguments.all else _LEAST_LISTED
    shown = [entity for entity in index.entities if entity.count >= least]
    if arguments.json:
        write_json({"names": [_document(entity) for entity in shown]})
        return ExitStatus.DONE
    for entity in shown:
        others, place = ", ".join(entity.others), _percent(entity.first, book)
        write(f"{entity.count:>6}  {entity.kind:<6}  {place:>4}  {entity.name}{f'  ({others})' if others else ''}")
    if hidden := len(index.entities) - len(shown):
        say(f"{counted(hidden, 'rarer name')} not shown; `--all` shows them.")
    elif not shown:
        say("No names were found.")
    return ExitStatus.DONE


def _timeline(view: Index, arguments: argparse.Namespace) -> ExitStatus:
    line = build_timeline(view)
    if arguments.json:
        chapters = [
            {
                "title": one.title,
                "start": one.start,
                "date": one.date or None,
                "people": {name: count for name, count in zip(line.people, one.counts, strict=True) if count},
            }
            for one in line.chapters
        ]
        write_json({"chapters": chapters})
    else:
        heading, rows = format_table(line, shutil.get_terminal_size((_COLUMNS, 1)).columns)
        write("\n".join((heading, *rows)))
    return ExitStatus.DONE


def _lines(card: Card, view: Index, book: Book, known: Sequence[Claim]) -> list[str]:
    """The lines of a card. `book`: the whole book, for percentages."""
    entity = card.entity
    lines = [f"{entity.name}  ({entity.kind})"]
    if entity.others:
        lines.append(f"  also      {', '.join(entity.others)}")
    lines += [f"  {_percent(start, book):>4}      {quote}" for start, quote in _quotes(card, view)]
    lines += [f"  {_percent(one.quote[0], book):>4}      {one.text}" for one in known if one.checked]
    same = identities(entity, view, known)
    lines += [f"  {_percent(one.quote[0], book):>4}      is said to be the same as {one.other.name}" for one in same]
    chapters = sum(1 for count in card.chapters if count)
    in_chapters = f" in {chapters} of {counted(len(card.chapters), 'chapter')}" if len(card.chapters) > 1 else ""
    lines.append(f"  mentioned {counted(entity.count, 'time')}{in_chapters}")
    lines.append(f"            {bars(card.strip, _MOST_BARS)}")
    lines.append(f"  last      {_percent(card.last, book)}, {view.book.chapter_title(card.last)}".rstrip(" ,"))
    if card.together:
        lines.append(f"  with      {', '.join(f'{other.name} ({count})' for other, count in card.together)}")
    return lines


def _quotes(card: Card, view: Index) -> list[tuple[int, str]]:
    text = view.book.text
    return [(start, " ".join(text[start:end].split())) for start, end in introducing_sentences(card.entity, view.book)]


def _percent(offset: int, book: Book) -> str:
    return f"{offset / max(1, len(book.text)):.0%}"


def _document(entity: Entity) -> Json:
    return {
        "name": entity.name,
        "kind": entity.kind.value,
        "forms": {form.text: len(form.starts) for form in entity.forms},
        "mentions": entity.count,
        "first": entity.first,
    }


def card_document(card: Card, view: Index, known: Sequence[Claim]) -> Json:
    """What `people NAME --json` prints for each entity found."""
    return {
        **_document(card.entity),
        "last": card.last,
        "chapters": list(card.chapters),
        "together": {other.name: count for other, count in card.together},
        "introduced": [{"start": start, "quote": quote} for start, quote in _quotes(card, view)],
        "told": [
            {
                "claim": one.text,
                "start": start,
                "quote": " ".join(view.book.text[start:end].split()),
                "checked": one.checked,
            }
            for one in known
            for start, end in (one.quote,)
        ],
        "same": [{"name": one.other.name, "start": one.quote[0]} for one in identities(card.entity, view, known)],
        "starts": card.entity.starts(),
    }
