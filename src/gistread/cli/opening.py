"""The settings and the book of a command."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from gistread.book.cache import open_cached
from gistread.book.model import Book
from gistread.book.open import open_bytes, read_limited
from gistread.cli.output import say
from gistread.config import Config, load_config
from gistread.paths import default_paths

STANDARD_INPUT = "-"


def open_named(name: str) -> Book:
    """Open a book; `-` is standard input. Raises BookError."""
    if name == STANDARD_INPUT:
        what = "standard input"
        book = open_bytes(read_limited(sys.stdin.buffer, what), what)
    else:
        book = open_cached(Path(name), default_paths().texts)
    for notice in book.notices:
        say(f"Note: {notice}")
    return book


def load_settings(arguments: argparse.Namespace) -> Config:
    """The settings, overridden by the command line. Raises UsageError."""
    config = load_config(default_paths().config_file)
    if getattr(arguments, "model", None):
        config = replace(config, asking_model="")
    models = ("asking_model", "embedding_model", "context_tokens")
    options = (*models, "reading", "preset", "min_words", "max_words", "max_pages")
    typed = {name: value for name in options if (value := getattr(arguments, name, None)) is not None}
    return replace(config, **typed)


def check_models(arguments: argparse.Namespace) -> None:
    """Raises EngineError if a model of the command line does not exist; servers are not contacted."""
    from gistread.engine.model_source import find_source

    for name in (arguments.model, getattr(arguments, "asking_model", None)):
        if name:
            find_source(name)
