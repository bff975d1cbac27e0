"""Arguments and options of every command. What the commands do with them, this does not know."""

import argparse
from pathlib import Path

from gistread.cli.argument_types import bound, count, numbers, page_numbers, port, readers, shares
from gistread.evaluation.tasks.registry import TASKS
from gistread.readers.registry import METHODS

_EVAL_READERS = ("gistread", "readagent-s", "gists", "bm25", "dos")
"""Asked unless others are named: ours, the first of the papers, and the cheapest ones to hold them against."""


def add_screen(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_asking_model(parser)
    add_embedding_model(parser)


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
        help="make as well what these readers need beside the gists: memwalker, graphreader …",
    )
    add_formats(parser, events=True)


def add_ask(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    parser.add_argument("question", metavar="QUESTION")
    add_model(parser)
    add_asking_model(parser)
    add_embedding_model(parser)
    parser.add_argument("--reader", choices=list(METHODS), help="how it is answered: see below")
    parser.add_argument("--max-pages", type=count(0), metavar="N", help="most pages the agent may open (5)")
    parser.add_argument("--expand", type=page_numbers, default=(), metavar="3,7", help="pages to open beforehand")
    parser.add_argument(
        "--choice", metavar="TEXT", action="append", default=[], help="an option: twice or more, and one is the answer"
    )
    parser.add_argument(
        "--upto",
        type=bound,
        metavar="PLACE",
        help="know nothing of the book past this place: an offset, a share such as 40%%, or page:N",
    )
    parser.add_argument("--index", action="store_true", help="let the model read the book to its end first")
    add_reading(parser).add_argument(
        "--for-question", action="store_true", help="ask the memory whose gists are made for this very question"
    )
    add_formats(parser, events=True)


def add_pages(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    parser.add_argument("--model", metavar="NAME", help="the memory of this model; without it the fullest one")
    add_aim(parser)
    parser.add_argument("--list", action="store_true", help="every memory of the book instead of the pages of one")
    add_formats(parser)


def add_books(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", metavar="WORDS", nargs="*", help="list only books with these in title, author or file")
    orders = ["last-read", "title", "author", "progress"]
    parser.add_argument("--sort", choices=orders, default=orders[0], help="the order of the list (last-read)")
    parser.add_argument(
        "--add", metavar="PATH", action="append", default=[], help="a folder with all books in it, or one book"
    )
    parser.add_argument(
        "--remove",
        metavar="BOOK",
        action="append",
        default=[],
        help="take a book out of the list, by its path or words of its title; no file is deleted",
    )
    add_formats(parser)


def add_series(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the series' own file, such as barsetshire.series")
    parser.add_argument(
        "books", metavar="BOOK", nargs="*", help="its volumes, in their order; without them, what is in it is shown"
    )
    parser.add_argument("--title", metavar="TITLE", help="of the series (the name of the file)")
    parser.add_argument("--author", metavar="NAME", action="append", default=[], help="of the series (the volumes')")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--add", action="store_true", help="add the volumes to a series that is there")
    how.add_argument("--force", action="store_true", help="replace a file that is there already")
    add_formats(parser)


def add_search(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    parser.add_argument("words", metavar="WORDS", nargs="+", help="words as they stand in the book")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--regex", action="store_true", help="WORDS are a regular expression")
    how.add_argument("--ranked", action="store_true", help="passages about WORDS in any of their forms, the best first")
    how.add_argument("--whole-words", action="store_true", help='"art" is not found in "party"')
    parser.add_argument("--limit", type=count(1), metavar="N", help="show no more than N hits")
    add_formats(parser)


def add_export(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument(
        "--format",
        choices=["txt", "md", "json"],
        help="md: marks, notes, questions and gists to read (the default); json: the same for programs; "
        "txt: the text of the book",
    )
    formats.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write to this file, whose name may say the format")
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")


def add_keys(parser: argparse.ArgumentParser) -> None:
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="one JSON document on standard output")
    shape.add_argument("--toml", action="store_true", help="as lines for the settings file, to be changed there")


def add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")


def add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("book", metavar="BOOK", nargs="?", help="the book to show; without it the library")
    add_model(parser)
    add_asking_model(parser)
    add_embedding_model(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1: this machine alone)")
    parser.add_argument("--port", type=port, default=8000, metavar="N", help="the port to listen on (8000; 0: any)")


def add_models(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    listing = actions.add_parser("list", help="the GGUF models on this machine (the default)", allow_abbrev=False)
    listing.add_argument("--folder", metavar="DIR", type=Path, action="append", default=[], help="look in there, too")
    add_formats(listing)
    use = actions.add_parser("use", help="the model to use from now on", allow_abbrev=False)
    use.add_argument("model", metavar="NAME", help="a name from the list, a path, or `starter`; `none` for none")
    use.add_argument(
        "--for",
        dest="role",
        choices=["reading", "asking", "embedding"],
        default="reading",
        help="reading: it makes memories, and answers where no other does (the default); asking: it answers",
    )
    add_formats(use)
    catalogue = actions.add_parser("catalogue", help="models that can be fetched, and which suits", allow_abbrev=False)
    add_formats(catalogue)
    get = actions.add_parser("get", help="fetch a model, after asking", allow_abbrev=False)
    get.add_argument(
        "model",
        metavar="NAME",
        nargs="?",
        help="a name of the catalogue, hf:owner/repository:FILE or :Q4_K_M, or an https address; without it the "
        "recommended one",
    )
    get.add_argument("--yes", action="store_true", help="agree to the licence and the size without being asked")
    get.add_argument("--use", action="store_true", help="use it from now on")
    add_formats(get)
    check = actions.add_parser("check", help="try whether a model is good for reading", allow_abbrev=False)
    check.add_argument(
        "model", metavar="NAME", nargs="?", help="a name from the list, a path, or `starter`; without it the one in use"
    )
    check.add_argument("--again", action="store_true", help="try it anew, whatever is known of it")
    add_formats(check)
    convert = actions.add_parser("convert", help="make a faster copy of a model, if it is one", allow_abbrev=False)
    convert.add_argument("model", metavar="NAME", help="a name from the list, a path, or `starter`")
    add_formats(convert)


def add_act(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="FILE", help="a web page, saved as HTML; - reads standard input")
    parser.add_argument("task", metavar="TASK", help="what is to be done on the page, or on the site")
    parser.add_argument(
        "--done", metavar="STEP", action="append", default=[], help='a step that was taken before, as in "click Log in"'
    )
    parser.add_argument("--history", metavar="FILE", type=Path, help="a file with such steps, one a line")
    parser.add_argument(
        "--depth", type=count(1), metavar="N", help="depth of the page's elements at which it is cut into parts (6)"
    )
    parser.add_argument("--max-parts", type=count(0), metavar="N", help="most parts that the model may open (5)")
    add_model(parser)
    add_formats(parser, events=True)


def add_eval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "task",
        metavar="TASK",
        choices=[*TASKS, "list", "report"],
        help=f"{', '.join(TASKS)}; `list`: every task, and where to get its file; `report`: the table of runs",
    )
    parser.add_argument("dirs", metavar="DIR", nargs="*", type=Path, help="of `report`: the folders of runs")
    parser.add_argument("--data", metavar="FILE", type=Path, help="the file of the task, or its folder")
    parser.add_argument("--readers", type=readers, default=_EVAL_READERS, metavar="A,B", help="readers, or `all`")
    add_model(parser)
    add_asking_model(parser)
    add_embedding_model(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, help="where the run is kept, and goes on (eval-TASK)")
    parser.add_argument(
        "--limit", type=count(0), default=50, metavar="N", help="questions, spread over the texts (50; 0: all)"
    )
    parser.add_argument("--documents", type=count(0), default=0, metavar="N", help="texts at most (0: all)")
    parser.add_argument("--seed", type=count(0), default=0, metavar="N", help="decides which questions and texts (0)")
    parser.add_argument(
        "--budget-tokens",
        type=count(0),
        default=0,
        metavar="N",
        help="tokens of text and gists before the model for an answer, the same for all (0: what each takes)",
    )
    parser.add_argument("--max-pages", type=count(0), metavar="N", help="look-ups at most (5)")
    parser.add_argument(
        "--timeout", type=count(0), default=1800, metavar="S", help="seconds a question may take (1800; 0: any)"
    )
    parser.add_argument(
        "--at-once",
        type=count(1),
        default=0,
        metavar="N",
        help="questions asked at the same time (1; on a server: all that pay)",
    )
    parser.add_argument("--retry", action="store_true", help="ask again what did not end")
    parser.add_argument("--no-closed-book", action="store_true", help="leave out the row without any text")
    parser.add_argument(
        "--baseline",
        choices=list(METHODS),
        default="bm25",
        metavar="READER",
        help="whom to hold readers against (bm25)",
    )
    parser.add_argument("--judge", metavar="MODEL", help="the model that rates answers: LR-1 and LR-2")
    parser.add_argument("--memories", metavar="DIR", type=Path, help="memories to share with other runs (DIR/memories)")
    parser.add_argument("--reading", choices=["single-pass", "careful"], help="how memories are made (single-pass)")
    parser.add_argument(
        "--pages",
        choices=["chosen", "uniform"],
        default="chosen",
        help="pause where the model does, or after equal parts",
    )
    parser.add_argument(
        "--page-size",
        default="",
        metavar="WORDS",
        help="quality, script, novel, the most words as 600, or both as 280-600",
    )
    parser.add_argument("--no-guard", action="store_true", help="keep gists as the model writes them")
    parser.add_argument(
        "--preset", metavar="NAME", help="the kind of text that gists are made for (as the task has it)"
    )
    parser.add_argument(
        "--task", dest="gist_task", default="", metavar="TEXT", help="what gists are made for (whatever may be asked)"
    )
    parser.add_argument("--lengths", type=numbers(100), metavar="N,N", help="of needles: tokens of the texts")
    parser.add_argument("--depths", type=shares, metavar="P,P", help="of needles: where they lie, in percent")
    parser.add_argument("--needles", type=count(1), metavar="N", help="of needles: questions a length and depth")
    parser.add_argument("--split", default="", metavar="NAME", help="of a folder with several: train, valid, test …")
    parser.add_argument("--haystack", metavar="FILE", type=Path, help="of needles: a book to hide them in")
    add_formats(parser)


def add_doctor(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--measure", action="store_true", help="measure anew, where something is known from before")
    add_formats(parser)


def add_paths(parser: argparse.ArgumentParser) -> None:
    add_formats(parser)


def add_book(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "book", metavar="BOOK", help="a book: text, EPUB, PDF, HTML, Markdown, FB2, DOCX; - reads standard input"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="MODEL", help="path or name of a GGUF model, or `starter`")
    parser.add_argument("--context", type=count(256), metavar="N", help="tokens of context to load the model with")


def add_asking_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--asking-model", metavar="MODEL", help="the model that answers, over what --model has read (the same)"
    )


def add_embedding_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--embedding-model", metavar="MODEL", help="path or name of a GGUF model that makes vectors to search by"
    )


def add_reading(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    parser.add_argument(
        "--reading",
        choices=["single-pass", "careful"],
        help="single-pass: each token of the book is evaluated once (the default); careful: the papers' two passes",
    )
    tasks = add_aim(parser)
    parser.add_argument("--min-words", type=count(1), metavar="N", help="words before a page may end")
    parser.add_argument("--max-words", type=count(2), metavar="N", help="words before a page must end")
    return tasks


def add_aim(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """For what the gists are made; the group is for those who know the task in another way."""
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="what gists keep: fiction, meeting, paper, manual, code, one of your own, or auto: as the book looks",
    )
    tasks = parser.add_mutually_exclusive_group()
    tasks.add_argument("--task", metavar="TEXT", help="what you look for: gists keep what bears on it")
    return tasks


def add_formats(parser: argparse.ArgumentParser, *, events: bool = False) -> None:
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="one JSON document on standard output")
    if events:
        formats.add_argument("--events", action="store_true", help="every event as a line of JSON, as it happens")
