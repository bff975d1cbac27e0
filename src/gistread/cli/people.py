"""`gistread people BOOK`: lists the people and places of a book, or shows a card of one. Needs no model."""

import argparse

from gistread.book.model import Book
from gistread.cli.opening import open_named, resolve_bound
from gistread.cli.output import Json, report, say
from gistread.errors import ExitStatus, UsageError
from gistread.memory.sizes import unread_memory
from gistread.paths import default_paths
from gistread.people.index import Card, Index
from gistread.people.joining import Entity
from gistread.people.mentions import supports_names
from gistread.readers.introductions import introducing_sentences
from gistread.store.user_data import UserData
from gistread.units import bars, counted, fields

_LEAST_LISTED = 3  # Minimum of mentions in the list without --all
_MOST_BARS = 64


def run(arguments: argparse.Namespace) -> ExitStatus | None:
    book = open_named(arguments.book)
    if not supports_names(book):
        raise UsageError("Names are found in English books only.")
    bound = resolve_bound(arguments.upto, unread_memory(book), "Up to your place; `--upto all` shows the whole book.")
    corrections = UserData(default_paths()).name_corrections(book.sha256)
    view = Index.from_book(book).upto(len(book.text) if bound is None else bound, corrections)
    if not arguments.name:
        _list(view, book, arguments)
        return None
    name = " ".join(arguments.name)
    if not (found := view.find(name)):
        place = f" up to {_percent(len(view.book.text), book)}" if bound is not None else ""
        say(f"The text{place} has no name “{name}”. `gistread people BOOK` lists the names.")
        return ExitStatus.FAILED
    cards = [view.card(entity) for entity in found]
    text = "\n\n".join("\n".join(_lines(card, view, book)) for card in cards)
    report(arguments, {"found": [card_document(card, view) for card in cards]}, [text])
    return None


def _list(index: Index, book: Book, arguments: argparse.Namespace) -> None:
    shown = [entity for entity in index.entities if arguments.all or entity.count >= _LEAST_LISTED]
    lines = []
    for entity in shown:
        others = f"  ({', '.join(entity.others)})" if entity.others else ""
        lines.append(f"{entity.count:>6}  {entity.kind:<6}  {_percent(entity.first, book):>4}  {entity.name}{others}")
    report(arguments, {"names": [_document(entity) for entity in shown]}, lines)
    if hidden := len(index.entities) - len(shown):
        say(f"{counted(hidden, 'rarer name')} not shown; `--all` shows them.")
    elif not shown:
        say("No names were found.")


def _lines(card: Card, view: Index, book: Book) -> list[str]:
    """The lines of a card. `book`: the whole book, for percentages."""
    entity = card.entity
    lines = [f"{entity.name}  ({entity.kind})"]
    if entity.others:
        lines.append(f"  also      {', '.join(entity.others)}")
    for start, end in introducing_sentences(entity, view.book):
        lines.append(f"  {_percent(start, book):>4}      {' '.join(book.text[start:end].split())}")
    chapters = sum(1 for count in card.chapters if count)
    in_chapters = f" in {chapters} of {counted(len(card.chapters), 'chapter')}" if len(card.chapters) > 1 else ""
    lines.append(f"  mentioned {counted(entity.count, 'time')}{in_chapters}")
    lines.append(f"            {bars(card.strip, _MOST_BARS)}")
    lines.append(f"  last      {_percent(card.last, book)}, {view.book.chapter_title(card.last)}".rstrip(" ,"))
    if card.together:
        lines.append(f"  with      {', '.join(f'{other.name} ({count})' for other, count in card.together)}")
    return lines


def _percent(offset: int, book: Book) -> str:
    return f"{offset / max(1, len(book.text)):.0%}"


def _document(entity: Entity) -> Json:
    forms = {form.text: len(form.starts) for form in entity.forms}
    return {**fields(entity, "name", "kind", "first"), "forms": forms, "mentions": entity.count}


def card_document(card: Card, view: Index) -> Json:
    """What `people NAME --json` prints for each entity found."""
    text = view.book.text
    introduced = [
        {"start": start, "quote": " ".join(text[start:end].split())}
        for start, end in introducing_sentences(card.entity, view.book)
    ]
    return {
        **_document(card.entity),
        **fields(card, "last", "chapters"),
        "together": {other.name: count for other, count in card.together},
        "introduced": introduced,
        "starts": card.entity.starts(),
    }
