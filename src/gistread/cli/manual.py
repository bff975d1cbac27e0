"""The manual page, made from the parser: `python3 -m gistread.cli.manual > docs/gistread.1`.

It goes into the wheel as `share/man/man1/gistread.1`. A test holds it to what the parser says.
"""

import argparse
import re
from collections.abc import Iterator

from gistread.cli.parser import parsers
from gistread.cli.parser_introspection import Shape, Typed, shape

_DESCRIPTION = (
    "A book stands in one pane. A local language model, a GGUF file on this machine, reads it page by page and keeps a "
    "gist of each page in the other pane: the gist memory. A question is answered from the gists; where they are not "
    "enough, pages are opened, and the answer names its sources. Books are read well without a model, too.",
    "Nothing leaves this machine, and nothing is fetched, but for a model that you ask for (models get).",
    "A first word that is no command is a book. Without any word the library is shown, with the book that was read "
    "last chosen.",
)
_FILES = (
    ("$XDG_CONFIG_HOME/gistread/config.toml", "settings, keys among them"),
    ("$XDG_CONFIG_HOME/gistread/themes/", "your own themes"),
    ("$XDG_CONFIG_HOME/gistread/models.toml", "what you add to the catalogue of models"),
    ("$XDG_DATA_HOME/gistread/", "what is yours: the library, your place in each book, marks, questions"),
    ("$XDG_CACHE_HOME/gistread/", "what the machine made and can make again: texts, memories, copies of models"),
    ("$XDG_STATE_HOME/gistread/gistread.log", "details of defects"),
)
_STATUS = (
    ("0", "done"),
    ("1", "failed; of search: nothing was found"),
    ("2", "the command line or a setting asks for something that does not exist"),
    ("3", "the book cannot be read"),
    ("4", "the model or its engine cannot be used"),
    ("130", "interrupted"),
)


def manual() -> str:
    """The page, as man(7) source."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    every = parsers()
    main = every.pop("")
    yield '.\\" Made by python3 -m gistread.cli.manual; changes belong into the parser.'
    yield '.TH GISTREAD 1 "" "gistread" "User Commands"'
    yield ".SH NAME"
    yield "gistread \\- read long books in the terminal beside a local model that keeps a gist memory"
    yield ".SH SYNOPSIS"
    yield from _synopsis("gistread", shape(main))
    yield ".br"
    yield ".B gistread"
    yield "\\fICOMMAND\\fR ..."
    yield ".SH DESCRIPTION"
    for paragraph in _DESCRIPTION:
        yield ".PP"
        yield _escaped(paragraph)
    yield ".SH OPTIONS"
    yield from _typed(shape(main))
    yield ".SH COMMANDS"
    for name, parser in every.items():
        yield from _command(name, parser)
    yield ".SH KEYS"
    yield "\\fBF1\\fR shows the keys of where one is, \\fBCtrl+P\\fR finds every command by its name, and"
    yield ".B gistread keys"
    yield "prints all of them."
    yield ".SH FILES"
    for path, about in _FILES:
        yield from _item(f"\\fI{_escaped(path)}\\fR", about)
    yield "On systems without these variables"
    yield ".B gistread paths"
    yield "says where things are."
    yield ".SH EXIT STATUS"
    for status, about in _STATUS:
        yield from _item(status, about)


def _command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    taken = shape(parser)
    yield f".SS gistread {name}"
    yield _escaped(parser.description or "")
    yield ".PP"
    if taken.actions:
        for action, about, sub in taken.actions:
            yield from _synopsis(f"gistread {name} {action}", sub)
            yield ".RS"
            yield _escaped(f"{about[:1].upper()}{about[1:]}.")
            yield ".RE"
    else:
        yield from _synopsis(f"gistread {name}", taken)
    yield from _typed(taken)
    options = {option.flags: option for _, _, sub in taken.actions for option in sub.options}
    yield from _typed(Shape(tuple(options.values()), (), ()))
    if parser.epilog:
        yield ".PP"
        yield ".nf"
        for line in parser.epilog.rstrip().splitlines():
            yield _escaped(line)
        yield ".fi"


def _synopsis(program: str, taken: Shape) -> Iterator[str]:
    parts = [f"\\fB{_escaped(program)}\\fR"]
    parts += [f"[{_option(option)}]" for option in taken.options if "--help" not in option.flags]
    parts += [_word(word) for word in taken.words]
    yield ".PP"
    yield " ".join(parts)


def _word(one: Typed) -> str:
    word = f"\\fI{_escaped(one.value)}\\fR{' ...' if one.repeated else ''}"
    return word if one.needed else f"[{word}]"


def _typed(taken: Shape) -> Iterator[str]:
    for one in (*taken.words, *taken.options):
        if "--help" in one.flags or not one.help:
            continue
        about = f"{one.help} ({', '.join(one.choices)})" if one.choices and one.choices[0] not in one.help else one.help
        yield from _item(_option(one) if one.flags else f"\\fI{_escaped(one.value)}\\fR", about)


def _option(one: Typed) -> str:
    flags = ", ".join(f"\\fB{_escaped(flag)}\\fR" for flag in one.flags)
    return f"{flags} \\fI{_escaped(one.value)}\\fR" if one.value else flags


def _item(head: str, about: str) -> Iterator[str]:
    yield ".TP"
    yield head
    yield _escaped(about)


def _escaped(text: str) -> str:
    """As text: no line of it is a request, a hyphen can be copied, a quotation mark stays straight."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("~", "\\(ti").replace("^", "\\(ha").replace("…", "...")
    return re.sub(r"(?m)^\.", r"\\&.", text)


if __name__ == "__main__":
    print(manual(), end="")
