"""What a book holds, without a model: `gistread toc`, `recap`, `threads` and `people`."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from gistread.book.model import Book
from gistread.cli.memory import memory_store, saved_memories
from gistread.cli.opening import open_named, resolve_bound
from gistread.cli.output import Json, report, say
from gistread.errors import ExitStatus, UsageError
from gistread.exporting.documents import as_json
from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.memory.spoilers import has_plot
from gistread.memory.store import MemoryHeader
from gistread.paths import default_paths
from gistread.people.index import Card, Index
from gistread.people.joining import Entity
from gistread.people.mentions import supports_names
from gistread.readers.introductions import introducing_sentences
from gistread.readers.recap import Recap, describe_sources, last_sentence, recap
from gistread.store.user_data import UserData
from gistread.units import bars, counted, fields

_LEAST_LISTED = 3  # Minimum of mentions in the list without --all
_MOST_BARS = 64


def run(arguments: argparse.Namespace) -> ExitStatus | None:
    commands = {"toc": _toc, "recap": _recap, "threads": _threads, "people": _people}
    return commands[arguments.command](arguments)


def chapter_documents(book: Book) -> list[Json]:
    """The chapters as `toc --json` prints them."""
    return [
        {
            "number": number,
            "title": chapter.title,
            "start": chapter.start,
            "end": book.chapter_end(index),
            "page": book.page_at(chapter.start),
        }
        for index, (number, chapter) in enumerate(
            zip(book.chapter_numbers, book.chapters, strict=True)
        )
    ]


def _toc(arguments: argparse.Namespace) -> None:
    book = open_named(arguments.book)
    chapters = chapter_documents(book)
    document = {
        "title": book.title,
        "length": len(book.text),
        "page_count": book.page_count,
        "chapters": chapters,
    }
    width, length = max(map(len, book.chapter_numbers), default=0), max(1, len(book.text))
    lines = (
        (
            f"{one['number']:{width}}  {one['start'] / length:>4.0%}  p. {one['page']:<5,} "
            f"{one['title'] or 'Untitled'}"
        )
        for one in chapters
    )
    report(arguments, document, lines)


def _recap(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    memory = longest_memory(book, saved_memories(book, arguments.book))
    bound = _recap_bound(book, memory, arguments.upto)
    corrections = UserData(default_paths()).name_corrections(book.sha256)
    story = recap(memory if bound is None else memory.upto(bound), corrections)
    length = max(1, len(book.text))
    lines = _recap_lines(story, length)
    if story.stopped and bound is not None:
        is_own_place = arguments.upto in (None, "here")
        label = "You stopped at" if is_own_place else f"Up to {bound / length:.0%}"
        lines.append(f"{label}: {last_sentence(book, story.stopped)}")
    is_told = bool(story.before or story.chapter)
    report(arguments, recap_document(story), lines if is_told else ())
    if not is_told:
        say("There is no story up to this place.")
        return ExitStatus.FAILED
    if not story.pages:
        say(
            "The model has not read this book: these are sentences of the chapter. `gistread index "
            "BOOK` reads it."
        )
        return ExitStatus.DONE
    say(f"Told {describe_sources(story)}.")
    if story.is_behind:
        say(
            f"The model has read up to {story.read_until / length:.0%} only. `gistread index "
            "BOOK` reads on."
        )
    return ExitStatus.DONE


def _recap_lines(story: Recap, length: int) -> list[str]:
    """The sentences of the story under their headings, and who is there."""
    lines: list[str] = []
    for title, part in (
        ("The story before", story.before),
        (story.title or "So far", story.chapter),
    ):
        if part:
            lines += [title, *(f"{told.start / length:>5.0%}  {told.text}" for told in part), ""]
    if story.people:
        lines.append(f"People here: {', '.join(story.people)}")
    return lines


def _recap_bound(book: Book, memory: GistMemory, upto: str | None) -> int | None:
    """Offset to which the story is told; None: to the end. Raises UsageError."""
    note = "Up to your place; `--upto all` tells the whole book."
    bound = resolve_bound(upto, memory, note)
    if upto is None and bound is None and _is_unread_novel(book):
        say("You have not begun this book; `--upto all` tells the whole of it.")
        return 0
    return bound


def _is_unread_novel(book: Book) -> bool:
    """Whether a recap of the whole would tell the end to somebody who has not begun."""
    user_data = UserData(default_paths())
    is_unread = user_data.reading_place(book.sha256).furthest == 0
    return is_unread and user_data.bound_choice(book.sha256) is None and has_plot(book)


def recap_document(story: Recap) -> Json:
    """The story so far as `recap --json` prints it."""
    return {
        "before": [asdict(told) for told in story.before],
        "chapter": story.title,
        "told": [asdict(told) for told in story.chapter],
        "people": list(story.people),
        "stopped": story.stopped[0] if story.stopped else None,
        "pages": story.pages,
        "summaries": story.summaries,
        "read_until": story.read_until or None,
    }


def longest_memory(book: Book, headers: Sequence[MemoryHeader]) -> GistMemory:
    """The furthest memory, or an empty one. Raises StorageError."""
    longest = max(headers, key=lambda header: header.characters, default=None)
    return memory_store().load(book, longest) if longest else unread_memory(book)


def _threads(arguments: argparse.Namespace) -> None:
    book = open_named(arguments.book)
    threads = UserData(default_paths()).threads(book.sha256)
    if arguments.number is None:
        documents, lines = [], []
        for number, one in enumerate(threads, start=1):
            questions = [asked.question for asked in one.questions]
            documents.append({"number": number, "name": one.name, "questions": questions})
            interrupted = "" if one.questions[-1].answer else ", interrupted"
            lines.append(
                f"{number:>4}  {one.name}  ({counted(len(questions), 'question')}{interrupted})"
            )
        report(arguments, {"threads": documents}, lines)
        if not threads:
            say("Nothing has been asked about this book.")
        return
    if arguments.number > len(threads):
        raise UsageError(
            f"There is no thread {arguments.number}.", "`gistread threads BOOK` lists them."
        )
    thread = threads[arguments.number - 1]
    export = Export(book, questions=thread.questions)
    document = {"name": thread.name, "questions": as_json(export)["questions"]}
    report(arguments, document, [as_markdown(export).rstrip("\n")])


def _people(arguments: argparse.Namespace) -> ExitStatus | None:
    book = open_named(arguments.book)
    if not supports_names(book):
        raise UsageError("Names are found in English books only.")
    bound = resolve_bound(
        arguments.upto, unread_memory(book), "Up to your place; `--upto all` shows the whole book."
    )
    corrections = UserData(default_paths()).name_corrections(book.sha256)
    view = Index.from_book(book).upto(len(book.text) if bound is None else bound, corrections)
    if not arguments.name:
        _list_names(view, book, arguments)
        return None
    name = " ".join(arguments.name)
    cards = [view.card(entity) for entity in view.find(name)]
    text = "\n\n".join("\n".join(_card_lines(card, view, book)) for card in cards)
    report(
        arguments, {"found": [card_document(card, view) for card in cards]}, [text] if cards else []
    )
    if cards:
        return None
    place = f" up to {_percent(len(view.book.text), book)}" if bound is not None else ""
    say(f"The text{place} has no name “{name}”. `gistread people BOOK` lists the names.")
    return ExitStatus.FAILED


def _list_names(index: Index, book: Book, arguments: argparse.Namespace) -> None:
    shown = [entity for entity in index.entities if arguments.all or entity.count >= _LEAST_LISTED]
    lines = []
    for entity in shown:
        others = f"  ({', '.join(entity.others)})" if entity.others else ""
        lines.append(
            f"{entity.count:>6}  {entity.kind:<6}  {_percent(entity.first, book):>4}  "
            f"{entity.name}{others}"
        )
    report(arguments, {"names": [_name_document(entity) for entity in shown]}, lines)
    if hidden := len(index.entities) - len(shown):
        say(f"{counted(hidden, 'rarer name')} not shown; `--all` shows them.")
    elif not shown:
        say("No names were found.")


def _card_lines(card: Card, view: Index, book: Book) -> list[str]:
    """The lines of a card. `book`: the whole book, for percentages."""
    entity = card.entity
    lines = [f"{entity.name}  ({entity.kind})"]
    if entity.others:
        lines.append(f"  also      {', '.join(entity.others)}")
    for start, end in introducing_sentences(entity, view.book):
        lines.append(f"  {_percent(start, book):>4}      {' '.join(book.text[start:end].split())}")
    chapters = sum(1 for count in card.chapters if count)
    if len(card.chapters) > 1:
        in_chapters = f" in {chapters} of {counted(len(card.chapters), 'chapter')}"
    else:
        in_chapters = ""
    lines.append(f"  mentioned {counted(entity.count, 'time')}{in_chapters}")
    lines.append(f"            {bars(card.strip, _MOST_BARS)}")
    lines.append(
        f"  last      {_percent(card.last, book)}, {view.book.chapter_title(card.last)}".rstrip(
            " ,"
        )
    )
    if card.together:
        lines.append(
            f"  with      {', '.join(f'{other.name} ({count})' for other, count in card.together)}"
        )
    return lines


def _percent(offset: int, book: Book) -> str:
    return f"{offset / max(1, len(book.text)):.0%}"


def _name_document(entity: Entity) -> Json:
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
        **_name_document(card.entity),
        **fields(card, "last", "chapters"),
        "together": {other.name: count for other, count in card.together},
        "introduced": introduced,
        "starts": card.entity.starts(),
    }
