"""`gistread docs`: the documents that are installed with gistread, as a book or as Markdown."""

import argparse
import re
import sys
from pathlib import Path

from gistread.book.open import open_bytes
from gistread.cli.opening import settings
from gistread.cli.output import write
from gistread.cli.read import open_screen
from gistread.errors import ExitStatus, UsageError


def run(arguments: argparse.Namespace) -> ExitStatus:
    text = documents(arguments.page)
    if not sys.stdout.isatty():
        write(text)
        return ExitStatus.DONE
    book = open_bytes(text.encode(), "gistread.md")
    return open_screen(book, settings(arguments), "")


def documents(page: str = "") -> str:
    """One page, or all of them as one Markdown text with its links inside. Raises UsageError if there is none."""
    package = Path(__file__).parents[1]
    folder = package / "docs"
    if not folder.is_dir():  # an editable install
        folder = package.parents[1] / "docs"
    index = (folder / "index.md").read_text("utf-8")
    names = re.findall(r"\]\(([a-z-]+)\.md\)", index)
    if page:
        if page not in names:
            raise UsageError(f"No page {page}.", f"Choose one of these: {', '.join(names)}.")
        return (folder / f"{page}.md").read_text("utf-8")
    texts = {name: (folder / f"{name}.md").read_text("utf-8") for name in names}
    titles = {name: text.split("\n", 1)[0].removeprefix("# ") for name, text in texts.items()}
    whole = "\n".join([index, *texts.values()])
    for name, title in titles.items():
        slug = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        whole = whole.replace(f"]({name}.md#", "](#").replace(f"]({name}.md)", f"](#{slug})")
    return whole
