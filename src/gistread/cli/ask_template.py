"""Prints an answer by the user's template: `gistread ask --template`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gistread.cli.output import write
from gistread.errors import UsageError
from gistread.exporting.templates import Template, read_template
from gistread.library.entries import is_file
from gistread.store.model import Citation

_SHARED = frozenset(
    ("question", "answer", "found", "quoted", "citations", "usage", "model")
)
# Those of `ask --json`, with the question and the title of the book
FIELDS_OF_ONE = _SHARED | {
    "title",
    "choice",
    "finish",
    "marks",
    "lookups",
    "steps",
    "compression_rate",
    "context_tokens",
    "seen",
    "upto",
    "reader",
    "memory",
}
FIELDS_OF_ALL = _SHARED | {"books", "not_begun"}


def answer_template(text: str, *, of_all: bool) -> Template:
    """The template in a file of this name, or in the text itself.

    `of_all`: for answers from all books. Raises UsageError.
    """
    if is_file(Path(text)):
        template = read_template(Path(text))
    elif "{{" in text or "{%" in text:
        template = Template(text, "--template")
    else:
        raise UsageError(
            f"No such file: {text}", "A template has fields, such as {{ answer }}."
        )
    template.check(FIELDS_OF_ALL if of_all else FIELDS_OF_ONE)
    return template


def write_by_template(
    template: Template,
    document: Mapping[str, Any],
    citations: tuple[Citation, ...],
    place: Callable[[Citation], str],
) -> None:
    """Print the fields of an answer. `place`: where a citation is, in words.

    Raises UsageError, OutputError.
    """
    placed = [
        {**fields, "place": place(citation)}
        for fields, citation in zip(document["citations"], citations, strict=True)
    ]
    text = template.render({**document, "citations": placed})
    write(text, end="" if text.endswith("\n") else "\n")
