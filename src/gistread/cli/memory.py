"""`gistread memory …`: lists, deletes, exports and imports memories."""

import argparse
import time
from pathlib import Path

from gistread.book.model import Book
from gistread.cli.json_output import Json, memories_document
from gistread.cli.memories import find_memory, memory_query, memory_store, saved_memories
from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus, GistreadError, StorageError
from gistread.export_files import ExistsError, safe_file_name, write_document
from gistread.library.text import describe_memory, relative_time
from gistread.memory.progress import all_memories
from gistread.memory.sharing import FILE_SUFFIX, LIMIT_BYTES, SharedMemory, pack, unpack
from gistread.paths import default_paths
from gistread.units import counted, format_size, iso_time
from gistread.user_data import UserData


def run(arguments: argparse.Namespace) -> ExitStatus:
    match arguments.action:
        case "list" if arguments.book:
            _list_of(arguments.book, json=arguments.json)
        case "list":
            _list(json=arguments.json)
        case "rm":
            _remove(arguments)
        case "export":
            _export(arguments)
        case "import":
            _import(arguments.file, arguments.book, force=arguments.force, json=arguments.json)
    return ExitStatus.DONE


def _list_of(name: str, *, json: bool) -> None:
    book = open_named(name)
    read = [header for header in saved_memories(book, name) if header.pages]
    if json:
        write_json(memories_document(read))
        return
    for header in read:
        write("\n  ".join(describe_memory(header, book, time.time())))
    if not read:
        say("No memories of this book yet.")


def _list(*, json: bool) -> None:
    found = sorted(all_memories(default_paths().memories), key=lambda one: one.modified_s, reverse=True)
    if json:
        write_json(
            {
                "memories": [
                    {
                        "book": {"sha256": one.sha256, "title": one.title},
                        "model": {"name": one.model_name},
                        "preset": one.focus.preset.name,
                        "task": one.focus.task or None,
                        "pages": one.pages,
                        "size": one.size_bytes,
                        "used_at": iso_time(one.modified_s),
                        "damaged": one.is_damaged,
                        "problem": one.problem or None,
                    }
                    for one in found
                ]
            }
        )
        return
    for one in found:
        if one.problem:
            write(f"{one.title or 'Unknown book'}\n  {one.problem}")
            continue
        facts = (counted(one.pages, "page"), format_size(one.size_bytes), relative_time(one.modified_s, time.time()))
        damaged = "damaged · " * one.is_damaged
        model = one.model_name or "Unknown model"
        write(f"{one.title or 'Unknown book'}\n  {model}, {one.focus.description} · {damaged}{' · '.join(facts)}")
    if any(one.is_damaged for one in found):
        say("`gistread index BOOK` reads the lost pages of a damaged memory again.")
    if not found:
        say("No memories yet. `gistread index BOOK` makes one.")


def _remove(arguments: argparse.Namespace) -> None:
    book = open_named(arguments.book)
    headers = saved_memories(book, arguments.book)
    header = find_memory(headers, memory_query(arguments, arguments.model), from_start=False)
    memory_store().delete(header)
    if arguments.json:
        write_json({"deleted": memories_document([header])["memories"]})
    else:
        say(f"Deleted {counted(header.pages, 'page')} of {header.model_name}, {header.focus.description}.")


def _export(arguments: argparse.Namespace) -> None:
    book, query = open_named(arguments.book), memory_query(arguments, arguments.model)
    saved = saved_memories(book, arguments.book)
    headers = [header for header in saved if header.read_until]
    # The task of a memory is private; the file contains it only if the user names it.
    shown = [header for header in headers if header.focus.task == query.task]
    if headers and not shown and not query.task:
        raise GistreadError(
            "Each memory of this book was made for a task, and the file would say which.",
            "Name the task to export it all the same: --task TEXT. `gistread memory list BOOK` shows them.",
        )
    header = find_memory(shown or headers or saved, query)
    output: Path = arguments.output or Path(safe_file_name(book.title) + FILE_SUFFIX)
    shared = memory_store().share(book, header)
    data, pages = pack(shared), sum(len(one.pages) for one in shared)
    try:
        write_document(output, data, replace=arguments.force)
    except ExistsError as error:
        raise ExistsError(error.message, "Use another name (--output), or --force to overwrite it.") from None
    if arguments.json:
        write_json({"file": str(output), "size": len(data), "pages": pages, "sha256": book.sha256})
        return
    say(f"Wrote {output} ({format_size(len(data))}): {counted(pages, 'page')}, read by {header.model_name}.")
    say("It holds gists and facts, which quote the book, and nothing of your marks, notes and questions.")


def _import(file: Path, name: str | None, *, force: bool, json: bool) -> None:
    try:
        with file.open("rb") as stream:
            memories = unpack(stream.read(LIMIT_BYTES))
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror or error}.") from error
    if name is not None:
        _check_text(memories, open_named(name))
    for memory in memories:
        try:
            memory_store().add_shared(memory, force=force)
        except ExistsError as error:
            raise ExistsError(error.message, "Add --force to replace it by the one of the file.") from None
    if json:
        write_json({"imported": [_document(memory) for memory in memories]})
        return
    known = {text.sha256 for text in UserData(default_paths().books).all_texts()}
    for memory in memories:
        say(f"Imported {counted(len(memory.pages), 'page')} of {memory.title}, read by {memory.header['model']}.")
        if name is None and memory.book not in known:
            say("No book you have opened has this text. The memory is shown when you open one that has.")


def _check_text(memories: list[SharedMemory], book: Book) -> None:
    """Raises GistreadError if none of the memories is of this book's text."""
    texts = {book.sha256, *(volume.sha256 for volume in book.volume_books)}
    if not any(memory.book in texts for memory in memories):
        other = memories[0]
        text = f"{other.title}, {other.characters:,} characters"
        raise GistreadError(
            f"The memory is of another text: {text}; yours has {len(book.text):,}.",
            "It fits only the same edition in the same wording. Leave out the book to import it for another copy.",
        )


def _document(memory: SharedMemory) -> Json:
    header = memory.header
    return {
        "book": {"sha256": memory.book, "title": memory.title},
        "model": {"name": header["model"], "fingerprint": header["fingerprint"]},
        "pages": len(memory.pages),
    }
