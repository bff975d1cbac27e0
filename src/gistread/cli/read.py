"""The commands that open the screen: `gistread [BOOK]`, `open`, `sample`, `last` and `docs`.

`serve` opens it in a browser.
"""

import argparse
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from gistread.book.model import DOCUMENTATION, Book
from gistread.book.open import open_bytes, open_file
from gistread.child_process import python_command
from gistread.cli.opening import (
    STANDARD_INPUT,
    book_path,
    library_entries,
    load_settings,
    open_named,
)
from gistread.cli.output import say, write
from gistread.config import Config
from gistread.engine.model_search import starter_path
from gistread.engine.models import STARTER
from gistread.errors import BookError, ExitStatus, UsageError
from gistread.library.entries import path_of
from gistread.paths import default_paths
from gistread.sample import story_path
from gistread.store.user_data import UserData

_NEEDS_TERMINAL = (
    "gistread needs a terminal for its screen, and standard output or input is not one."
)
_WITHOUT = (
    "These work without one: `gistread index BOOK`, `gistread ask BOOK QUESTION`, "
    "`gistread pages BOOK`."
)


def run(arguments: argparse.Namespace) -> ExitStatus:
    if arguments.command == "serve":
        return _serve(arguments)
    config = load_settings(arguments)
    model = getattr(arguments, "model", None) or ""
    match arguments.command:
        case "docs":
            return _show_documents(arguments.page, config)
        case "sample":
            # A model that is named reads along at once.
            model = model or config.model or _starter()
            return open_screen(story_path(), config, model)
        case "last":
            return open_screen(_last_path(), config, model)
        case _:
            return _open_named(arguments, config, model)


def _show_documents(page: str, config: Config) -> ExitStatus:
    """Open the documentation like a book, or print it without a terminal."""
    text = documents(page)
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        write(text)
        return ExitStatus.DONE
    book = open_bytes(text.encode(), "gistread.md")
    book = replace(book, source_format=DOCUMENTATION)
    return open_screen(book, config, "")


def _starter() -> str:
    """The starter if it is here; else no model is named."""
    if starter_path() is None:
        return ""
    return STARTER


def _last_path() -> Path:
    """The book that was opened last. Raises BookError."""
    entries = library_entries()
    for entry in entries:
        if entry.was_opened and entry.path is not None:
            return path_of(entry)
    message = "No books yet."
    if entries:
        message = "You have not opened any of your books yet."
    hint = "Open one with `gistread BOOK`, or the sample: `gistread sample`."
    raise BookError(message, hint)


def _open_named(
    arguments: argparse.Namespace, config: Config, model: str
) -> ExitStatus:
    """Open the named book, at a place if one is named; the library without a book."""
    place = getattr(arguments, "at", None)
    if place is not None and not arguments.book:
        example = "Example: gistread frankenstein.epub --at 40%"
        raise UsageError("--at needs a book.", example)
    if not arguments.book:
        return open_screen(None, config, model)
    if arguments.book == STANDARD_INPUT:
        return _open_piped(place, config, model)
    path = book_path(arguments.book)
    look: Look | None = None
    if place is not None:
        look = Look.at(place, open_named(arguments.book), path)
    return open_screen(path, config, model, look=look)


def _open_piped(place: str | None, config: Config, model: str) -> ExitStatus:
    """Open the book on standard input."""
    _check_terminal(piped=True)
    book = open_named(STANDARD_INPUT)
    # Textual reads keys from standard input, which is a pipe.
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY)
    except OSError:
        raise UsageError(_NEEDS_TERMINAL, _WITHOUT) from None
    os.dup2(terminal, sys.stdin.fileno())
    os.close(terminal)
    look = Look.at(place, book, None) if place is not None else None
    return open_screen(book, config, model, piped=True, look=look)


@dataclass(frozen=True, slots=True)
class Look:
    """A place to show first: `text[start:end]` of the book, with its words if some were named."""

    path: Path
    start: int
    end: int
    words: str = ""

    @classmethod
    def at(cls, typed: str, book: Book, path: Path | None) -> "Look":
        """The likeliest place that was typed. Raises UsageError."""
        from gistread.search.destinations import destinations_of

        here = UserData(default_paths()).position(book.sha256)
        # A number alone is a page, as people quote books.
        place_name = f"p{typed}" if typed.isdecimal() else typed
        target = destinations_of(place_name, book, here, path)
        if not target.destinations:
            raise UsageError(
                f"No place {typed!r}: {target.problem or 'it is empty.'}",
                'Name a page, 40%, a chapter, "words of the book" or an EPUB CFI.',
            )
        place = target.destinations[0]
        end = place.offset if place.end is None else place.end
        words = " ".join(book.text[place.offset : end].split())
        return cls(path or Path(STANDARD_INPUT), place.offset, end, words)


def open_screen(
    book: Path | Book | None,
    config: Config,
    model: str,
    *,
    piped: bool = False,
    look: Look | None = None,
) -> ExitStatus:
    """Run the screen on a book, or on the library if None.

    Raises UsageError without a terminal, BookError.
    """
    _check_terminal(piped=piped)
    if isinstance(book, Path):
        open_file(book).close()  # Raises BookError before the screen is drawn.
    from gistread.tui.app import run as run_screen
    from gistread.tui.services import Opening

    look_at: Opening | None = None
    if look is not None:
        look_at = Opening(look.path, (look.start, look.end), look.words)
    status = run_screen(
        book, paths=default_paths(), config=config, model=model, look_at=look_at
    )
    return ExitStatus(status)


def _check_terminal(*, piped: bool) -> None:
    """Raises UsageError if the screen cannot be drawn.

    `piped`: the book, and not keys, comes from standard input.
    """
    # `gistread serve`: the browser is the terminal.
    if os.environ.get("TEXTUAL_DRIVER"):
        return
    has_keys = piped or sys.stdin.isatty()
    if not sys.stdout.isatty() or not has_keys:
        raise UsageError(_NEEDS_TERMINAL, _WITHOUT)
    if os.environ.get("TERM") == "dumb":
        message = "gistread cannot draw its screen on a terminal with TERM=dumb."
        raise UsageError(message, _WITHOUT)


def page_names() -> list[str]:
    """The pages of the documentation, in the order of its index."""
    # The names in links: `[Models](models.md)`
    return re.findall(r"\]\(([a-z-]+)\.md\)", _text("index"))


def documents(page: str = "") -> str:
    """One page, or all pages as one Markdown text with internal links."""
    if page:
        return _text(page)
    texts = {name: _text(name) for name in page_names()}
    whole = "\n".join([_text("index"), *texts.values()])
    for name, text in texts.items():
        first_line, _, _ = text.partition("\n")
        anchor = _anchor_of(first_line.removeprefix("# "))
        # Links to a heading of the page, then links to the page itself
        whole = whole.replace(f"]({name}.md#", "](#")
        whole = whole.replace(f"]({name}.md)", f"](#{anchor})")
    return whole


def _anchor_of(heading: str) -> str:
    """The anchor of a heading in Markdown.

    >>> _anchor_of("Models, and where they come from")
    'models-and-where-they-come-from'
    """
    letters = re.sub(r"[^\w -]", "", heading.lower())
    return letters.replace(" ", "-")


def _text(name: str) -> str:
    """The text of a page of the documentation."""
    package = Path(__file__).parents[1]
    folder = package / "docs"
    if not folder.is_dir():  # An editable install
        folder = package.parents[1] / "docs"
    return (folder / f"{name}.md").read_text("utf-8")


def _serve(arguments: argparse.Namespace) -> ExitStatus:
    from gistread.tui.serving import is_loopback, serve

    def say_address(address: str) -> None:
        say(f"gistread is at {address}\nPress Ctrl+C to stop.")

    if not is_loopback(arguments.host):
        say(
            f"Warning: other machines can reach {arguments.host}, and nothing is encrypted. "
            "Anyone with the address below can read your files."
        )
    command = _screen_command(arguments)
    serve(command, arguments.host, arguments.port, say_address)
    return ExitStatus.DONE


def _screen_command(arguments: argparse.Namespace) -> list[str]:
    """The command that each browser page runs. Raises UsageError, BookError."""
    if arguments.book == STANDARD_INPUT:
        raise UsageError("A browser page cannot read standard input.", "Name a file.")
    words = python_command("gistread", outlives_parent=True)
    options = {
        "--model": arguments.model,
        "--asking-model": arguments.asking_model,
        "--context": arguments.context_tokens,
    }
    for option, value in options.items():
        if value:
            words += [option, str(value)]
    if arguments.book:
        book = book_path(arguments.book)
        open_file(book).close()  # Raises BookError before a browser opens it.
        words += ["--", str(book.absolute())]
    return words
