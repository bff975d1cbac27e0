"""What a book holds, without a model: `gistread toc`, `recap` and `threads`."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from gistread.book.model import Book
from gistread.cli.memory import memory_store, saved_memories
from gistread.cli.opening import open_named, story_bound
from gistread.cli.output import Json, report, say
from gistread.errors import ExitStatus, UsageError
from gistread.exporting.documents import as_json
from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.memory.store import MemoryHeader
from gistread.paths import default_paths
from gistread.readers.recap import (
    Recap,
    describe_sources,
    last_sentence,
    paragraph_text,
    paragraphs_by_chapter,
    recap,
)
from gistread.store.model import SavedThread
from gistread.store.user_data import UserData
from gistread.units import counted, format_place


def run(arguments: argparse.Namespace) -> ExitStatus:
    match arguments.command:
        case "toc":
            _toc(arguments)
        case "recap":
            return _recap(arguments)
        case "threads":
            _threads(arguments)
    return ExitStatus.DONE


def chapter_documents(book: Book) -> list[Json]:
    """The chapters as `toc --json` prints them."""
    return [_chapter_document(book, index) for index in range(len(book.chapters))]


def _chapter_document(book: Book, index: int) -> Json:
    chapter = book.chapters[index]
    return {
        "number": book.chapter_numbers[index],
        "title": chapter.title,
        "start": chapter.start,
        "end": book.chapter_end(index),
        "page": book.page_at(chapter.start),
    }


def _toc(arguments: argparse.Namespace) -> None:
    book = open_named(arguments.book)
    chapters = chapter_documents(book)
    document = {
        "title": book.title,
        "length": len(book.text),
        "page_count": book.page_count,
        "chapters": chapters,
    }
    number_width = max(map(len, book.chapter_numbers), default=0)
    lines = []
    for chapter in chapters:
        number = f"{chapter['number']:{number_width}}"
        share = format_place(chapter["start"], len(book.text))
        title = chapter["title"] or "Untitled"
        page = f"p. {chapter['page']:<5,}"
        lines.append(f"{number}  {share:>4}  {page} {title}")
    report(arguments, document, lines)


def _recap(arguments: argparse.Namespace) -> ExitStatus:
    """Tell the story up to the bound. Fails if there is none."""
    book = open_named(arguments.book)
    memory = longest_memory(book, saved_memories(book, arguments.book))
    bound = story_bound(arguments.upto, memory, "tells the whole book")
    corrections = UserData(default_paths()).name_corrections(book.sha256)
    story = recap(memory if bound is None else memory.upto(bound), corrections)
    has_story = bool(story.before or story.chapter)
    lines = []
    if has_story:
        lines = _recap_lines(story, memory, book)
        if bound is not None:
            lines += _place_lines(story, book, bound, arguments.upto)
    report(arguments, {**recap_document(story), "upto": bound}, lines)
    if not has_story:
        say("There is no story up to this place.")
        return ExitStatus.FAILED
    _tell_sources(story, book)
    return ExitStatus.DONE


def _recap_lines(story: Recap, memory: GistMemory, book: Book) -> list[str]:
    """The story in paragraphs under the titles of its chapters, and who is there."""
    lines: list[str] = []
    for title, paragraphs in paragraphs_by_chapter(story, memory, book):
        lines.append(title or "So far")
        for paragraph in paragraphs:
            place = format_place(paragraph[0].start, len(book.text))
            lines.append(f"{place:>5}  {paragraph_text(paragraph, story)}")
        lines.append("")
    if story.people:
        lines.append(f"People here: {', '.join(story.people)}")
    return lines


def _place_lines(story: Recap, book: Book, bound: int, upto: str | None) -> list[str]:
    """The sentence at the bound, if there is one."""
    if not story.stopped:
        return []
    label = f"Up to {format_place(bound, len(book.text))}"
    is_own_place = upto in (None, "here")
    if is_own_place:
        label = "You stopped at"
    return [f"{label}: {last_sentence(book, story.stopped)}"]


def _tell_sources(story: Recap, book: Book) -> None:
    """Say from what the story was put together."""
    if not story.pages:
        say(
            "The model has not read this book: these are sentences of its chapters. "
            "`gistread index BOOK` reads it."
        )
        return
    say(f"Told {describe_sources(story)}.")
    if story.is_behind:
        read_end = format_place(story.read_until, len(book.text))
        say(
            f"The model has read up to {read_end} only. `gistread index BOOK` reads on."
        )


def recap_document(story: Recap) -> Json:
    """The story so far as `recap --json` prints it."""
    return {
        "before": [asdict(sentence) for sentence in story.before],
        "chapter": story.title,
        "told": [asdict(sentence) for sentence in story.chapter],
        "people": list(story.people),
        "stopped": story.stopped[0] if story.stopped else None,
        "pages": story.pages,
        "summaries": story.summaries,
        "read_until": story.read_until or None,
    }


def longest_memory(book: Book, headers: Sequence[MemoryHeader]) -> GistMemory:
    """The furthest memory, or an empty one. Raises StorageError."""
    longest = max(headers, key=lambda header: header.characters, default=None)
    if not longest:
        return unread_memory(book)
    return memory_store().load(book, longest)


def _threads(arguments: argparse.Namespace) -> None:
    book = open_named(arguments.book)
    threads = UserData(default_paths()).threads(book.sha256)
    if arguments.number is None:
        _list_threads(threads, arguments)
        return
    if arguments.number > len(threads):
        raise UsageError(
            f"There is no thread {arguments.number}.",
            "`gistread threads BOOK` lists them.",
        )
    thread = threads[arguments.number - 1]
    export = Export(book, questions=thread.questions)
    document = {"name": thread.name, "questions": as_json(export)["questions"]}
    report(arguments, document, [as_markdown(export).rstrip("\n")])


def _list_threads(
    threads: Sequence[SavedThread], arguments: argparse.Namespace
) -> None:
    documents: list[Json] = []
    lines: list[str] = []
    for number, thread in enumerate(threads, start=1):
        questions = [question.question for question in thread.questions]
        documents.append(
            {"number": number, "name": thread.name, "questions": questions}
        )
        size = counted(len(questions), "question")
        interrupted = "" if thread.questions[-1].answer else ", interrupted"
        lines.append(f"{number:>4}  {thread.name}  ({size}{interrupted})")
    report(arguments, {"threads": documents}, lines)
    if not threads:
        say("Nothing has been asked about this book.")
