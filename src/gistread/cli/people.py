"""`gistread people`: the people and places of a book, or one of them, up to a bound."""

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
from gistread.units import bars, counted, fields, format_place

_LEAST_LISTED = 3  # Minimum of mentions in the list without --all
_MOST_BARS = 64


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    if not supports_names(book):
        raise UsageError("Names are found in English books only.")
    bound = resolve_bound(
        arguments.upto,
        unread_memory(book),
        "Up to your place; `--upto all` shows the whole book.",
    )
    end = len(book.text) if bound is None else bound
    corrections = UserData(default_paths()).name_corrections(book.sha256)
    index = Index.from_book(book).upto(end, corrections)
    if arguments.name:
        return _show_named(index, book, bound, arguments)
    _list_names(index, book, bound, arguments)
    return ExitStatus.DONE


def _show_named(
    index: Index, book: Book, bound: int | None, arguments: argparse.Namespace
) -> ExitStatus:
    """Show the people and places of the name that was typed."""
    name = " ".join(arguments.name)
    cards = [index.card(entity) for entity in index.find(name)]
    documents = [card_document(card, index) for card in cards]
    lines = _separated(cards, index, book)
    report(arguments, {"found": documents, "upto": bound}, lines)
    if cards:
        return ExitStatus.DONE
    place = ""
    if bound is not None:
        place = f" up to {format_place(len(index.book.text), len(book.text))}"
    say(
        f"The text{place} has no name “{name}”. `gistread people BOOK` lists the names."
    )
    return ExitStatus.FAILED


def _list_names(
    index: Index, book: Book, bound: int | None, arguments: argparse.Namespace
) -> None:
    least_mentions = 0 if arguments.all else _LEAST_LISTED
    shown = [entity for entity in index.entities if entity.count >= least_mentions]
    documents = [_name_document(entity) for entity in shown]
    lines = [_name_line(entity, book) for entity in shown]
    report(arguments, {"names": documents, "upto": bound}, lines)
    hidden = len(index.entities) - len(shown)
    if hidden:
        say(f"{counted(hidden, 'rarer name')} not shown; `--all` shows them.")
    elif not shown:
        say("No names were found.")


def _name_line(entity: Entity, book: Book) -> str:
    """Mentions, kind, first place and name: `   214  person    1%  Emma  (Miss Woodhouse)`."""
    first = format_place(entity.first, len(book.text))
    others = ""
    if entity.others:
        others = f"  ({', '.join(entity.others)})"
    return f"{entity.count:>6}  {entity.kind:<6}  {first:>4}  {entity.name}{others}"


def _separated(cards: list[Card], index: Index, book: Book) -> list[str]:
    """The lines of all cards, with an empty line between two cards."""
    lines: list[str] = []
    for card in cards:
        if lines:
            lines.append("")
        lines += _card_lines(card, index, book)
    return lines


def _card_lines(card: Card, index: Index, book: Book) -> list[str]:
    """The lines of a card. `book`: the whole book, for percentages."""
    entity = card.entity
    lines = [f"{entity.name}  ({entity.kind})"]
    if entity.others:
        lines.append(f"  also      {', '.join(entity.others)}")
    for start, end in introducing_sentences(entity, index.book):
        sentence = " ".join(book.text[start:end].split())
        lines.append(f"  {format_place(start, len(book.text)):>4}      {sentence}")
    lines.append(f"  mentioned {counted(entity.count, 'time')}{_in_chapters(card)}")
    lines.append(f"            {bars(card.strip, _MOST_BARS)}")
    last = format_place(card.last, len(book.text))
    chapter = index.book.chapter_title(card.last)
    if chapter:
        last += f", {chapter}"
    lines.append(f"  last      {last}")
    if card.together:
        company = [f"{other.name} ({count})" for other, count in card.together]
        lines.append(f"  with      {', '.join(company)}")
    return lines


def _in_chapters(card: Card) -> str:
    """` in 3 of 12 chapters`; empty for a book without chapters."""
    has_chapters = len(card.chapters) > 1
    if not has_chapters:
        return ""
    mentioning = sum(count > 0 for count in card.chapters)
    return f" in {mentioning} of {counted(len(card.chapters), 'chapter')}"


def card_document(card: Card, index: Index) -> Json:
    """What `people NAME --json` prints for each entity found."""
    text = index.book.text
    introduced: list[Json] = []
    for start, end in introducing_sentences(card.entity, index.book):
        quote = " ".join(text[start:end].split())
        introduced.append({"start": start, "quote": quote})
    return {
        **_name_document(card.entity),
        **fields(card, "last", "chapters"),
        "together": {other.name: count for other, count in card.together},
        "introduced": introduced,
        "starts": card.entity.starts(),
    }


def _name_document(entity: Entity) -> Json:
    forms = {form.text: len(form.starts) for form in entity.forms}
    return {
        **fields(entity, "name", "kind", "first"),
        "forms": forms,
        "mentions": entity.count,
    }
