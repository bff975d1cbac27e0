"""Arguments and options of every command: `add_COMMAND`."""

import argparse
from pathlib import Path

from gistread.cli.argument_types import bound, count, numbers, one_of, page_numbers, port, readers, shares
from gistread.cli.options import (
    add_adapter,
    add_book,
    add_embedding_model,
    add_focus,
    add_formats,
    add_model,
    add_quiet,
    add_reading,
    add_session_models,
)

# The readers `eval` compares by default: gistread's own, ReadAgent, and three cheap baselines.
_EVAL_READERS = ("gistread", "readagent-s", "gists", "bm25", "dos")


def add_index(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    add_model(parser)
    add_embedding_model(parser)
    add_reading(parser)
    parser.add_argument(
        "--for",
        dest="readers",
        type=readers,
        default=(),
        metavar="READER[,READER]",
        help="also build what these readers need: memwalker, graphreader …",
    )
    add_formats(parser, events=True)


def add_ask(parser: argparse.ArgumentParser) -> None:
    from gistread.readers.registry import METHODS

    summaries = "\n".join(f"  {method.name:13}{method.summary}" for method in METHODS.values())
    parser.epilog = (parser.epilog or "").replace("{readers}", summaries)
    option = parser.add_argument
    add_book(parser)
    option("question", metavar="QUESTION", nargs="?", default="")
    add_session_models(parser)
    option("--reader", choices=list(METHODS), help="the method; see below")
    option("--max-pages", type=count(0), metavar="N", help="most pages to look up (5)")
    option(
        "--steps",
        choices=["alone", "announce", "ask"],
        help="who decides which pages are looked up: the model, the model unless you object within a second, or you",
    )
    option("--expand", type=page_numbers, default=(), metavar="3,7", help="pages to open first")
    option("--passage", metavar="WORDS", help="ask about these words of the book, with the text around them")
    option("--choice", metavar="TEXT", action="append", default=[], help="an answer to choose from; give at least two")
    option(
        "--upto",
        type=bound,
        metavar="PLACE",
        help="use the book only up to here: 40%%, page:N, chapter:N, chapter:TITLE, an offset, here (where you read)"
        ", or all (default: here in fiction, once you have read some of it on screen)",
    )
    option("--again", action="store_true", help="ask the last interrupted question about this book again")
    option("--continue", dest="continues", action="store_true", help="go on from the last question about this book")
    option("--thread", type=count(1), metavar="N", help="go on from this thread of questions (see gistread threads)")
    option("--index", action="store_true", help="read the book to its end first")
    add_reading(parser).add_argument("--for-question", action="store_true", help="use gists written for this question")
    add_formats(parser, events=True)


def add_pages(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    _add_memory(parser)
    add_formats(parser)


def add_memory(parser: argparse.ArgumentParser) -> None:
    actions = _add_actions(parser)
    action = actions.add_parser
    add_book(action("list", help="list the memories of a book, or all of them (default)"), optional=True)
    remove = action("rm", help="delete a memory, without asking")
    export = action("export", help="write a memory to a file for another copy of the book")
    for each in (remove, export):
        add_book(each)
        _add_memory(each)
    export.add_argument("-o", "--output", metavar="FILE", type=Path, help="the file (TITLE.gistmemory)")
    export.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")
    given = action("import", help="check a memory file and add it to yours")
    given.add_argument("file", metavar="FILE", type=Path, help="a file that `gistread memory export` wrote")
    add_book(given, optional=True)
    given.add_argument("-f", "--force", action="store_true", help="replace the same memory if you have it")
    for each in actions.choices.values():
        add_formats(each)


def _add_actions(parser: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    return parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))


def _add_memory(parser: argparse.ArgumentParser) -> None:
    """Options that choose one of a book's memories."""
    parser.add_argument(
        "-m", "--model", metavar="NAME", help="the memory of this model (default: the one with most pages)"
    )
    add_focus(parser)


def add_books(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("words", metavar="WORDS", nargs="*", help="show only books with these words in title, author or file name")
    orders = ["last-read", "title", "author", "progress"]
    option("--sort", choices=orders, default=orders[0], help="sort order (last-read)")
    option("--add", metavar="PATH", action="append", default=[], help="add a book, or every book in a folder")
    option(
        "--remove",
        metavar="BOOK",
        action="append",
        default=[],
        help="remove a book from the list, by path or title; deletes no file",
    )
    add_formats(parser)


def add_series(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("file", metavar="FILE", help="the series file, such as barsetshire.series")
    # Without a default, argparse also reports these as missing if FILE is.
    option(
        "books", metavar="BOOK", nargs="*", default=[], help="its volumes in order; without them the series is shown"
    )
    option("--title", metavar="TITLE", help="title of the series (default: the file name)")
    authors_help = "author of the series (default: those of the volumes)"
    option("--author", metavar="NAME", action="append", default=[], help=authors_help)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--add", action="store_true", help="add the volumes to an existing series")
    how.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")
    add_formats(parser)


def add_threads(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    add_book(parser)
    option("number", metavar="N", nargs="?", type=count(1), help="print this thread as Markdown instead")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--rename", metavar="NAME", help="give thread N a name")
    how.add_argument("--delete", action="store_true", help="delete thread N, without asking")
    add_formats(parser)


def add_people(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    add_book(parser)
    option("name", metavar="NAME", nargs="*", help="show this person or place")
    option("--upto", metavar="PLACE", help="leave out the text after this place (see gistread ask)")
    option("--all", action="store_true", help="list rare names too")
    option("--timeline", action="store_true", help="print the chapters with their dates and people")
    correct = parser.add_mutually_exclusive_group()
    correct.add_argument("--merge", metavar="OTHER", help="NAME and OTHER are the same")
    correct.add_argument("--split", metavar="FORM", help="FORM is not a name of NAME's but of somebody else's")
    correct.add_argument("--rename", metavar="TEXT", help="call NAME so")
    correct.add_argument("--hide", action="store_true", help="do not show NAME")
    correct.add_argument("--undo", action="store_true", help="take the last correction back")
    add_formats(parser)


def add_recap(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    parser.add_argument("--upto", metavar="PLACE", help="leave out the text after this place (see gistread ask)")
    add_formats(parser)


def add_search(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    add_book(parser)
    option("words", metavar="WORDS", nargs="+", help="the words to find")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--regex", action="store_true", help="treat WORDS as a regular expression")
    how.add_argument("--ranked", action="store_true", help="rank passages about WORDS, in any inflection")
    how.add_argument("--whole-words", action="store_true", help="match whole words only")
    option("-n", "--limit", type=count(1), metavar="N", help="show at most N hits")
    add_formats(parser)


def add_export(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    add_book(parser)
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument(
        "--format",
        choices=["md", "json", "txt", "obsidian", "anki", "readwise"],
        help="md: marks, notes, questions and gists (default); json: the same for programs; txt: the book's text; "
        "obsidian: a note that later exports add to; anki: cards of highlights, answers and names; "
        "readwise: highlights as CSV",
    )
    formats.add_argument("--json", action="store_true", help="one JSON document on standard output")
    output_help = "write to this file; its suffix may give the format (obsidian: also a folder)"
    option("-o", "--output", metavar="FILE", type=Path, help=output_help)
    option("-f", "--force", action="store_true", help="overwrite an existing file")
    add_quiet(parser)


def add_keys(parser: argparse.ArgumentParser) -> None:
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="one JSON document on standard output")
    shape.add_argument("--toml", action="store_true", help="print as lines for config.toml")
    add_quiet(parser)


def add_docs(parser: argparse.ArgumentParser) -> None:
    from gistread.cli.docs import page_names

    pages = page_names()
    parser.add_argument("page", metavar="PAGE", nargs="?", choices=pages, help=f"{', '.join(pages)} (default: all)")


def add_completion(parser: argparse.ArgumentParser) -> None:
    shells = ["bash", "zsh", "fish", "tcsh", "powershell"]
    parser.add_argument("shell", metavar="SHELL", nargs="?", choices=shells, help=", ".join(shells))
    kinds = ["models", "presets", "catalogue"]
    parser.add_argument("--names", choices=kinds, help="print the names that the scripts complete")


def add_serve(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("book", metavar="BOOK", nargs="?", help="the book to open (default: the library)")
    add_session_models(parser)
    option("--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this machine only)")
    option("--port", type=port, default=8000, metavar="N", help="port to listen on (8000; 0: any free port)")


def add_models(parser: argparse.ArgumentParser) -> None:
    actions = _add_actions(parser)
    action = actions.add_parser
    listing = action("list", help="list the models on this machine (default)")
    listing.add_argument(
        "--folder", metavar="DIR", type=Path, action="append", default=[], help="search this folder too"
    )
    use = action("use", help="set the default model")
    use.add_argument("model", metavar="NAME", help="a name from the list, a path, `starter`, or `none`")
    use.add_argument(
        "--for",
        dest="role",
        choices=["reading", "asking", "embedding"],
        default="reading",
        help="what to use it for (reading); the reading model also answers unless an asking model is set",
    )
    add_adapter(use)
    action("catalogue", help="list models to download, and which one suits this machine")
    get = action("get", help="download a model, after asking")
    get.add_argument(
        "model",
        metavar="NAME",
        nargs="?",
        help="a catalogue name, hf:owner/repository:FILE or :Q4_K_M, or an https address "
        "(default: the recommended one)",
    )
    get.add_argument("-y", "--yes", action="store_true", help="accept the licence and the size without asking")
    get.add_argument("--use", action="store_true", help="make it the default model")
    remove = action("rm", help="delete a downloaded model or an unfinished download, without asking")
    remove.add_argument("model", metavar="NAME", help="a name from the list, or a path")
    check = action("check", help="test whether a model is good enough for reading")
    name = "a name from the list, a path, or `starter`"
    check.add_argument("model", metavar="NAME", nargs="?", help=f"{name} (default: the model in use)")
    check.add_argument("--again", action="store_true", help="test again, ignoring earlier results")
    convert = action("convert", help="make a requantised copy of a model, if it is faster")
    convert.add_argument("model", metavar="NAME", help=name)
    for each in actions.choices.values():
        add_formats(each)


def add_act(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="FILE", help="a web page saved as HTML; - reads standard input")
    parser.add_argument("task", metavar="TASK", help="what to do on the page or site")
    parser.add_argument(
        "--done", metavar="STEP", action="append", default=[], help='a step already taken, such as "click Log in"'
    )
    parser.add_argument("--history", metavar="FILE", type=Path, help="a file of steps already taken, one a line")
    parser.add_argument(
        "--depth", type=count(1), metavar="N", help="element depth at which the page is cut into parts (6)"
    )
    parser.add_argument("--max-parts", type=count(0), metavar="N", help="most parts to open (5)")
    add_model(parser)
    add_formats(parser, events=True)


def add_eval(parser: argparse.ArgumentParser) -> None:
    from gistread.evaluation.tasks.registry import TASKS
    from gistread.readers.registry import METHODS

    option = parser.add_argument
    option(
        "task",
        metavar="TASK",
        choices=[*TASKS, "list", "report"],
        help=f"{', '.join(TASKS)}; `list`: all tasks and where to get their data; `report`: the results table of runs",
    )
    option("dirs", metavar="DIR", nargs="*", type=Path, help="run folders for `report`")
    option("--data", metavar="FILE", type=Path, help="the task's data file or folder")
    option("--readers", type=readers, default=_EVAL_READERS, metavar="A,B", help="readers, or `all`")
    add_session_models(parser)
    option("-o", "--out", metavar="DIR", type=Path, help="run folder, also for resuming (eval-TASK)")
    option(
        "--limit",
        type=count(0),
        default=50,
        metavar="N",
        help="number of questions, spread over the texts (50; 0: all)",
    )
    option("--documents", type=count(0), default=0, metavar="N", help="most texts (0: all)")
    option("--seed", type=count(0), default=0, metavar="N", help="selects questions and texts (0)")
    option(
        "--budget-tokens",
        type=count(0),
        default=0,
        metavar="N",
        help="tokens of context for an answer, equal for all readers (0: no limit)",
    )
    option("--max-pages", type=count(0), metavar="N", help="most look-ups (5)")
    option("--timeout", type=count(0), default=1800, metavar="S", help="seconds per question (1800; 0: no limit)")
    option(
        "--at-once",
        type=count(1),
        default=0,
        metavar="N",
        help="concurrent questions (1; on a server: as many as it gains from)",
    )
    option("--retry", action="store_true", help="ask failed questions again")
    option("--no-closed-book", action="store_true", help="leave out the closed-book row")
    option(
        "--baseline", choices=list(METHODS), default="bm25", metavar="READER", help="the reader to compare with (bm25)"
    )
    option("--judge", metavar="MODEL", help="a model that rates answers (LR-1 and LR-2)")
    option("--memories", metavar="DIR", type=Path, help="memory folder shared between runs (DIR/memories)")
    option("--reading", choices=["single-pass", "careful"], help="how memories are built (single-pass)")
    option("--pages", choices=["chosen", "uniform"], default="chosen", help="pages at pause points, or of equal length")
    option(
        "--page-size",
        default="",
        metavar="WORDS",
        help="quality, script, novel, a maximum such as 600, or a range such as 280-600",
    )
    option("--no-guard", action="store_true", help="keep gists without checking them")
    option("--preset", metavar="NAME", help="preset for the gists (default: the task's)")
    option("--task", dest="gist_task", default="", metavar="TEXT", help="focus the gists on this")
    option("--lengths", type=numbers(100), metavar="N,N", help="needle: text lengths in tokens")
    option("--depths", type=shares, metavar="P,P", help="needle: positions in percent")
    option("--needles", type=count(1), metavar="N", help="needle: questions per length and position")
    option("--split", default="", metavar="NAME", help="data split: train, valid, test …")
    option("--haystack", metavar="FILE", type=Path, help="needle: a book to hide them in")
    add_formats(parser)


def add_doctor(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--measure", action="store_true", help="measure again")
    instead.add_argument(
        "--tune",
        action="store_true",
        help="try threads, flash attention and batch sizes for a minute; save the fastest",
    )
    instead.add_argument("--untune", action="store_true", help="remove these settings")
    add_formats(parser)


def add_cache(parser: argparse.ArgumentParser) -> None:
    from gistread.cli.cache import PARTS

    actions = _add_actions(parser)
    actions.add_parser("list", help="show what is in the cache, and its size (default)")
    clear = actions.add_parser("clear", help="delete it, without asking")
    which = f"{', '.join(PARTS)} (default: all but memories)"
    clear.add_argument("parts", metavar="PART", nargs="*", type=one_of(PARTS), default=[], help=which)
    for each in actions.choices.values():
        add_formats(each)


add_sample = add_last = add_mcp = add_session_models
add_paths = add_figures = add_formats
