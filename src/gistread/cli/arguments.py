"""The arguments of every command (`add_COMMAND`), and options that several share.

The parsers of their values raise ArgumentTypeError or UsageError.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gistread.errors import UsageError
from gistread.readers.bound import parse_bound

_STORY_DEFAULT = "here in fiction, also before you have begun"  # Of `--upto`
EXPORT_PARTS = ("marks", "notes", "questions", "gists")  # Notes: marks that have one


def add_ask(parser: argparse.ArgumentParser) -> None:
    from gistread.readers.registry import METHODS, OWN_METHODS

    summaries = "\n".join(
        f"  {method.name:13}{method.summary}" for method in OWN_METHODS.values()
    )
    parser.epilog = (parser.epilog or "").replace("{readers}", summaries)
    option = parser.add_argument
    add_book(parser, optional=True)
    option(
        "question",
        metavar="QUESTION",
        nargs="?",
        default="",
        help="the question; -: standard input",
    )
    option(
        "--all",
        action="store_true",
        help="ask every book of the library that you have begun; no BOOK",
    )
    option(
        "--tag",
        metavar="TAG",
        default="",
        help="with --all: only the books of this collection",
    )
    option("--unread", action="store_true", help="with --all: also ask unread books")
    add_session_models(parser)
    option(
        "--reader",
        metavar="METHOD",
        type=_reader,
        choices=METHODS,
        help="the method; see below",
    )
    option(
        "--max-pages", type=count(0), metavar="N", help="most sections to look up (5)"
    )
    option(
        "--choice",
        metavar="TEXT",
        action="append",
        default=[],
        help="an answer to choose from; give at least two",
    )
    _add_upto(parser)
    option(
        "--continue",
        action="store_true",
        help=(
            "continue from the last question about this book (without BOOK: about any "
            "book); without QUESTION: finish its cut answer"
        ),
    )
    option(
        "--thread",
        type=count(1),
        metavar="N",
        help="go on from this thread of questions (see gistread threads)",
    )
    option("--index", action="store_true", help="read the book to its end first")
    add_reading(parser)
    add_formats(parser, events=True, template=True)


def add_memory(parser: argparse.ArgumentParser) -> None:
    with _actions(parser) as action:
        add_book(action("list", help="list the memories of a book (default)"))
        remove = action("rm", help="delete a memory, after asking")
        add_book(remove)
        _add_memory(remove)
        remove.add_argument("-y", "--yes", action="store_true", help="do not ask")


@contextmanager
def _actions(
    parser: argparse.ArgumentParser,
) -> "Iterator[Callable[..., argparse.ArgumentParser]]":
    """Adds actions to a command, and at the end `add_formats` to each."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=type(parser)
    )
    yield actions.add_parser
    for subparser in actions.choices.values():
        add_formats(subparser)


def _add_memory(parser: argparse.ArgumentParser) -> None:
    """Options that choose one of a book's memories."""
    model_help = "the memory of this model (default: the one with most sections)"
    parser.add_argument("-m", "--model", metavar="NAME", help=model_help)
    add_focus(parser)


def add_books(parser: argparse.ArgumentParser) -> None:
    with _actions(parser) as action:
        _add_tagging(action("tag", help="put books into a collection"))
        _add_tagging(action("untag", help="take books out of a collection"))
        option = action("list", help="list the library (default)").add_argument
        words_help = "show only books with these words in title, author or file name"
        option("words", metavar="WORDS", nargs="*", help=words_help)
        orders = ["last-read", "title", "author", "progress", "length"]
        option(
            "--sort",
            metavar="ORDER",
            choices=orders,
            help=f"{', '.join(orders)} (last-read)",
        )
        option(
            "--add",
            metavar="PATH",
            nargs="+",
            action="extend",
            default=[],
            help="add books, or every book in a folder",
        )
        option(
            "--remove",
            metavar="BOOK",
            nargs="+",
            action="extend",
            default=[],
            help="take books off the list; deletes no file",
        )
        option("--tag", metavar="TAG", help="show only the books of this collection")


def _add_tagging(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "books",
        metavar="BOOK",
        nargs="+",
        type=_book_name,
        help="a file, title or number",
    )
    option(
        "tag",
        metavar="TAG",
        help="its name; TAG.series is a file that opens as one book",
    )


def add_get(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    words_help = (
        "words of title or author, a number of Project Gutenberg, or an address"
    )
    option("words", metavar="WORDS", nargs="*", help=words_help)
    option(
        "--from",
        dest="catalogue",
        metavar="CATALOGUE",
        help="gutenberg (default), standard-ebooks, or the address of an OPDS catalogue",
    )
    option(
        "--user", metavar="NAME", help="log in to the catalogue; asks for the password"
    )
    option("--pick", type=count(1), metavar="N", help="take the Nth of the books found")
    folder_help = "save the file here (default: `books` in the folder of your data)"
    option("--folder", metavar="FOLDER", type=Path, help=folder_help)
    add_formats(parser)


def add_sync(parser: argparse.ArgumentParser) -> None:
    with _actions(parser) as action:
        action("status", help="show the account, and whether the login works (default)")
        login = action(
            "login", help="log in to a KOReader sync server, and start syncing"
        )
        login.add_argument("server", metavar="SERVER", help="its address")
        login.add_argument("user", metavar="USER", help="your name there")
        login.add_argument(
            "--register", action="store_true", help="create this account first"
        )
        action("logout", help="stop syncing, and forget the login")
        push = action(
            "push", help="send your place in a book, or in every book you have begun"
        )
        add_book(push, optional=True)
        pull = action(
            "pull", help="continue where another device is, in a book or in all"
        )
        add_book(pull, optional=True)


def add_threads(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    add_book(parser)
    option(
        "number",
        metavar="N",
        nargs="?",
        type=count(1),
        help="print this thread as Markdown instead",
    )
    add_formats(parser)


def add_people(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    add_book(parser)
    option("name", metavar="NAME", nargs="*", help="show this person or place")
    _add_upto(parser)
    option("--all", action="store_true", help="list rare names too")
    add_formats(parser)


def add_search(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    add_book(parser, optional=True)
    option("words", metavar="WORDS", nargs="*", help="the words to find")
    option(
        "--all",
        action="store_true",
        help="search every book of the library; no BOOK, only WORDS",
    )
    option(
        "--tag",
        metavar="TAG",
        default="",
        help="with --all: only the books of this collection",
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--regex", action="store_true", help="treat WORDS as a regular expression"
    )
    modes.add_argument(
        "--ranked",
        action="store_true",
        help="rank passages about WORDS, in any inflection",
    )
    option("-n", "--limit", type=count(1), metavar="N", help="show at most N hits")
    add_formats(parser)


def add_export(parser: argparse.ArgumentParser) -> None:
    from gistread.exporting.names import ExportFormat, FormatNames

    option = parser.add_argument
    add_book(parser, optional=True)
    all_help = "every book of the library that has marks, notes or questions; no BOOK"
    option("--all", action="store_true", help=all_help)
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument(
        "--format",
        metavar="FORMAT",
        choices=FormatNames(form.value for form in ExportFormat),
        help=(
            "md: marks, notes, questions and gists (default); json: the same for programs; "
            "txt: the book's text; obsidian: a note that later exports add to; "
            "anki: cards of highlights, answers and names; readwise: highlights as CSV; "
            "annotations: marks as W3C Web Annotations; bibtex, csl: the book for a bibliography"
        ),
    )
    formats.add_argument(
        "--json", action="store_true", help="one JSON document on standard output"
    )
    template_help = "fill in your own template (`gistread docs scripting`)"
    formats.add_argument("--template", metavar="FILE", type=Path, help=template_help)
    option(
        "--only",
        metavar="PARTS",
        type=_export_parts,
        help=f"leave out the rest: {', '.join(EXPORT_PARTS)}, separated by commas",
    )
    doubted_help = "anki: also cards of answers that the check doubts"
    option("--doubted", action="store_true", help=doubted_help)
    _add_upto(parser, "export gists", default=_STORY_DEFAULT)
    output_help = (
        "write to this file, or into this folder; a suffix may give the format. "
        "With --all, a folder gets a file for each book, and a file (json, anki, readwise) all of "
        "them"
    )
    option("-o", "--output", metavar="FILE", type=_output_path, help=output_help)
    option("-f", "--force", action="store_true", help="overwrite an existing file")
    add_quiet(parser)


def add_import(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    files_help = (
        "My Clippings.txt, KOReader's metadata.*.lua or JSON, highlights or annotations of "
        "Calibre, Readwise's CSV, or JSON of `gistread export`"
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help=files_help)
    add_formats(parser)


def add_docs(parser: argparse.ArgumentParser) -> None:
    from gistread.cli.read import page_names

    pages = page_names()
    parser.add_argument(
        "page",
        metavar="PAGE",
        nargs="?",
        choices=pages,
        help=f"{', '.join(pages)} (default: all)",
    )


def add_completion(parser: argparse.ArgumentParser) -> None:
    shells = ["bash", "zsh", "fish"]
    parser.add_argument(
        "shell", metavar="SHELL", choices=shells, help=", ".join(shells)
    )


def add_serve(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "book",
        metavar="BOOK",
        nargs="?",
        help="the book to open (default: the library)",
    )
    add_session_models(parser)
    option(
        "--host",
        default="127.0.0.1",
        help="address to listen on (127.0.0.1: this machine only)",
    )
    option(
        "--port",
        type=count(0, 65_535),
        default=8000,
        metavar="N",
        help="port to listen on (8000; 0: any free port)",
    )


def add_models(parser: argparse.ArgumentParser) -> None:
    with _actions(parser) as action:
        action("list", help="list the models on this machine (default)")
        use = action("use", help="set the default model")
        use.add_argument(
            "model",
            metavar="NAME",
            help="a name from the list, a path, `starter`, or `none`",
        )
        use.add_argument(
            "--for",
            dest="role",
            choices=["reading", "asking"],
            default="reading",
            help=(
                "what to use it for (reading); "
                "the reading model also answers unless an asking model is set"
            ),
        )
        action(
            "catalogue",
            help="list models to download, and which one suits this machine",
        )
        get = action("get", help="download a model, after asking")
        get.add_argument(
            "model",
            metavar="NAME",
            nargs="?",
            help=(
                "a catalogue name, hf:owner/repository:FILE or :Q4_K_M "
                "(default: the recommended one)"
            ),
        )
        get.add_argument(
            "-y",
            "--yes",
            action="store_true",
            help="accept the licence and the size without asking",
        )
        get.add_argument("--use", action="store_true", help="make it the default model")
        remove = action(
            "rm",
            help="delete a downloaded model or an unfinished download, without asking",
        )
        remove.add_argument(
            "model", metavar="NAME", help="a name from the list, or a path"
        )
        check = action("check", help="test whether a model is good enough for reading")
        check.add_argument(
            "model",
            metavar="NAME",
            nargs="?",
            help=(
                "a name from the list, a path, or `starter` (default: the model in use)"
            ),
        )
        check.add_argument(
            "--again", action="store_true", help="test again, ignoring earlier results"
        )


def add_cache(parser: argparse.ArgumentParser) -> None:
    from gistread.cli.cache import PARTS

    def part(text: str) -> str:  # argparse would apply `choices` to an empty list, too.
        if text not in PARTS:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(PARTS)}")
        return text

    with _actions(parser) as action:
        action("list", help="show what is in the cache, and its size (default)")
        clear = action("clear", help="delete it, without asking")
        parts_help = f"{', '.join(PARTS)} (default: all but memories)"
        clear.add_argument(
            "parts", metavar="PART", nargs="*", type=part, default=[], help=parts_help
        )


def add_session_models(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--asking-model",
        metavar="MODEL",
        help="the model that answers (default: the one that reads)",
    )


def add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--at",
        metavar="PLACE",
        help=(
            "look at this place first: a page, 40%%, a chapter, '\"words of the book\"' "
            "or an EPUB CFI"
        ),
    )


def add_open(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    add_session_models(parser)
    add_place(parser)


def add_book(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    parser.add_argument(
        "book",
        metavar="BOOK",
        nargs="?" if optional else None,
        type=_book_name,
        help=(
            "a file, part of a title, a number of `gistread books`, sample, "
            "or - for standard input"
        ),
    )
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="the encoding of a plain text, kept for this book (auto: detect it)",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    model_help = (
        "a GGUF model by path or name (with +ADAPTER), a server address, or `starter`"
    )
    parser.add_argument("-m", "--model", metavar="MODEL", help=model_help)
    parser.add_argument(
        "--context",
        dest="context_tokens",
        type=count(256),
        metavar="N",
        help="context length in tokens",
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "--reading",
        choices=["single-pass", "careful"],
        help=(
            "single-pass: evaluate each token of the book once; "
            "careful: the papers' two passes (default: by the model)"
        ),
    )
    add_focus(parser)
    option("--min-words", type=count(1), metavar="N", help="fewest words of a section")
    option("--max-words", type=count(2), metavar="N", help="most words of a section")


def _add_upto(
    parser: argparse.ArgumentParser,
    what: str = "use the book",
    *,
    default: str = "here in fiction, once you have read some of it on screen",
) -> None:
    parser.add_argument(
        "--upto",
        type=_bound,
        metavar="PLACE",
        help=(
            f"{what} only up to here: 40%%, page:N, section:N, chapter:N or chapter:TITLE "
            "(each to its end, with its parts), an offset, here (where you read), or all "
            f"(default: {default})"
        ),
    )


def add_focus(parser: argparse.ArgumentParser) -> None:
    """Options for what the gists keep."""
    preset_help = (
        "what gists keep: fiction, meeting, paper, manual, code, your own, or auto"
    )
    parser.add_argument("--preset", metavar="NAME", help=preset_help)
    parser.add_argument(
        "--task",
        type=_task,
        metavar="TEXT",
        help="focus the gists on what you are looking for",
    )


def add_formats(
    parser: argparse.ArgumentParser, *, events: bool = False, template: bool = False
) -> None:
    formats = parser.add_mutually_exclusive_group()
    json_help = 'one JSON document on standard output; {"error": …} on failure'
    formats.add_argument("--json", action="store_true", help=json_help)
    if events:
        formats.add_argument(
            "--events", action="store_true", help="print each event as a line of JSON"
        )
    if template:
        template_help = (
            "fill in your own template, a text or a file (`gistread docs scripting`)"
        )
        formats.add_argument("--template", metavar="TEMPLATE", help=template_help)
    add_quiet(parser)


def add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print no messages and no progress, only errors",
    )


_MOST = 10**9  # Larger numbers are mistakes
_MOST_DIGITS = len(str(_MOST))


def count(least: int, most: int = _MOST) -> Callable[[str], int]:
    """A parser of whole numbers within these limits."""

    def number(text: str) -> int:
        is_number = text.isdecimal()
        has_few_digits = len(text) <= _MOST_DIGITS
        if is_number and has_few_digits and least <= int(text) <= most:
            return int(text)
        # Python refuses to convert thousands of digits.
        is_too_large = is_number and (not has_few_digits or int(text) > most)
        limits = f"of at least {least}"
        if is_too_large or most != _MOST:
            limits = f"from {least} to {most:,}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {limits}")

    return number


def _book_name(text: str) -> str:
    """The name of a book; one that begins with a dash becomes `./-weird.txt`.

    Raises UsageError for an address.
    """
    if not text.strip():
        hint = "`gistread books` lists the library."
        raise UsageError("The name of the book is empty.", hint)
    if "://" in text:
        message = f"{text} is an address, and gistread opens files."
        raise UsageError(message, "Download it, then open the file.")
    is_file_name = text.startswith("-") and text != "-"
    if is_file_name:
        return f"./{text}"
    return text


def _export_parts(text: str) -> frozenset[str]:
    """The parts named in `--only`, separated by commas."""
    parts = frozenset(part.strip() for part in text.split(","))
    unknown = sorted(parts.difference(EXPORT_PARTS))
    if unknown:
        known = ", ".join(EXPORT_PARTS)
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {known}")
    return parts


def _output_path(text: str) -> Path:
    """A file, or a folder; one with a slash at its end must exist."""
    path = Path(text)
    if text.endswith("/") and not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return path


def _reader(text: str) -> str:
    from gistread.readers.registry import find_method

    return find_method(text).name


def _task(text: str) -> str:
    from gistread.memory.model import parse_task

    return parse_task(text)


def _bound(text: str) -> str:
    parse_bound(text)
    return text


def _all_of(
    *parts: Callable[[argparse.ArgumentParser], None],
) -> Callable[[argparse.ArgumentParser], None]:
    """A function that adds the arguments of several others."""

    def add(parser: argparse.ArgumentParser) -> None:
        for part in parts:
            part(parser)

    return add


add_sample = add_last = add_mcp = add_session_models
add_paths = add_figures = add_keys = add_formats
add_index = _all_of(add_book, add_model, add_reading, partial(add_formats, events=True))
_add_story_upto = partial(_add_upto, default=_STORY_DEFAULT)
add_pages = _all_of(add_book, _add_memory, _add_story_upto, add_formats)
add_recap = _all_of(add_book, _add_story_upto, add_formats)
add_toc = _all_of(add_book, add_formats)
add_doctor = _all_of(add_model, add_formats)
