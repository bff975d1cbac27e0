"""`gistread people BOOK`: who and what is named in a book up to a place, or a card of one name. Needs no model."""

import argparse

from gistread.book.model import Book
from gistread.cli.bound import bound_of
from gistread.cli.json_output import Json
from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus, UsageError
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.people.index import Card, Index
from gistread.people.joining import Entity
from gistread.people.mentions import is_covered
from gistread.readers.introductions import introduced
from gistread.units import bars, counted

_LEAST_LISTED = 3  # Mentions of what the list shows without --all
_MOST_BARS = 64


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    if not is_covered(book):
        raise UsageError("Names are found in English books only.")
    memory = unread_memory(book)
    bound = bound_of(arguments.upto, memory, "Up to your place; `--upto all` shows the whole book.")
    index = Index.of(book).upto(len(book.text) if bound is None else bound)
    if not arguments.name:
        return _list(index, arguments)
    name = " ".join(arguments.name)
    found = index.find(name)
    if not found:
        place = f" up to {_percent(index.end, book)}" if bound is not None else ""
        say(f"“{name}” is no name in the text{place}. `gistread people BOOK` lists the names.")
        return ExitStatus.FAILED
    view = memory.upto(index.end)
    cards = [index.card(entity) for entity in found]
    if arguments.json:
        write_json({"found": [_card_document(card, view) for card in cards]})
    else:
        write("\n\n".join("\n".join(_lines(card, view)) for card in cards))
    return ExitStatus.DONE


def _list(index: Index, arguments: argparse.Namespace) -> ExitStatus:
    least = 1 if arguments.all else _LEAST_LISTED
    shown = [entity for entity in index.entities if entity.count >= least]
    if arguments.json:
        write_json({"names": [_document(entity) for entity in shown]})
        return ExitStatus.DONE
    for entity in shown:
        others, place = ", ".join(entity.others), _percent(entity.first, index.book)
        write(f"{entity.count:>6}  {entity.kind:<6}  {place:>4}  {entity.name}{f'  ({others})' if others else ''}")
    if not shown:
        say("No names were found.")
    elif hidden := len(index.entities) - len(shown):
        say(f"{counted(hidden, 'rarer name')} not shown; `--all` shows them.")
    return ExitStatus.DONE


def _lines(card: Card, view: GistMemory) -> list[str]:
    book, entity = view.book, card.entity
    lines = [f"{entity.name}  ({entity.kind})"]
    if entity.others:
        lines.append(f"  also      {', '.join(entity.others)}")
    lines += [f"  {_percent(start, book):>4}      {quote}" for start, quote in _quotes(card, view)]
    chapters = sum(1 for count in card.chapters if count)
    lines.append(
        f"  mentioned {counted(entity.count, 'time')} in {chapters} of {counted(len(card.chapters), 'chapter')}"
    )
    lines.append(f"            {bars(card.chapters, _MOST_BARS)}")
    lines.append(f"  last      {_percent(card.last, book)}, {book.chapter_title(card.last)}".rstrip(" ,"))
    if card.together:
        lines.append(f"  with      {', '.join(f'{other.name} ({count})' for other, count in card.together)}")
    return lines


def _quotes(card: Card, view: GistMemory) -> list[tuple[int, str]]:
    return [(start, " ".join(view.book.text[start:end].split())) for start, end in introduced(card.entity, view)]


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


def _card_document(card: Card, view: GistMemory) -> Json:
    return {
        **_document(card.entity),
        "last": card.last,
        "chapters": list(card.chapters),
        "together": {other.name: count for other, count in card.together},
        "introduced": [{"start": start, "quote": quote} for start, quote in _quotes(card, view)],
        "starts": card.entity.starts(),
    }
