"""`gistread docs`: the installed documentation, as a book or as Markdown."""

import argparse
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from gistread.book.model import DOCUMENTATION
from gistread.book.open import open_bytes
from gistread.cli.opening import load_settings
from gistread.cli.output import write
from gistread.cli.read import open_screen
from gistread.errors import ExitStatus


def run(arguments: argparse.Namespace) -> ExitStatus:
    text = documents(arguments.page)
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        write(text)
        return ExitStatus.DONE
    book = replace(open_bytes(text.encode(), "gistread.md"), source_format=DOCUMENTATION)
    return open_screen(book, load_settings(arguments), "")


def page_names() -> list[str]:
    return re.findall(r"\]\(([a-z-]+)\.md\)", _text("index"))


def documents(page: str = "") -> str:
    """One page, or all pages as one Markdown text with internal links."""
    if page:
        return _text(page)
    texts = {name: _text(name) for name in page_names()}
    titles = {name: text.split("\n", 1)[0].removeprefix("# ") for name, text in texts.items()}
    whole = "\n".join([_text("index"), *texts.values()])
    for name, title in titles.items():
        slug = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        whole = whole.replace(f"]({name}.md#", "](#").replace(f"]({name}.md)", f"](#{slug})")
    return whole


def _text(name: str) -> str:
    package = Path(__file__).parents[1]
    folder = package / "docs"
    if not folder.is_dir():  # an editable install
        folder = package.parents[1] / "docs"
    return (folder / f"{name}.md").read_text("utf-8")
