"""Parsers for the values of options. They raise ArgumentTypeError."""

import argparse
from collections.abc import Callable, Collection

from gistread.readers.bound import parse_bound


def count(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return number


def book_name(text: str) -> str:
    """The name of a book; one that begins with a dash becomes `./-weird.txt`."""
    return f"./{text}" if text.startswith("-") and text != "-" else text


def port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number (0 to 65535)")
    return int(text)


def readers(text: str) -> tuple[str, ...]:
    from gistread.readers.registry import METHODS

    if text == "all":
        return tuple(METHODS)
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if unknown := [name for name in names if name not in METHODS]:
        raise argparse.ArgumentTypeError(f"no reader {unknown[0]!r}; use {', '.join(METHODS)}")
    return names


def numbers(least: int) -> Callable[[str], tuple[int, ...]]:
    number = count(least)
    return lambda text: tuple(sorted({number(part.strip()) for part in text.split(",")}))


def shares(text: str) -> tuple[float, ...]:
    try:
        percents = {float(part) for part in text.split(",")}
    except ValueError:
        percents = {-1.0}
    if not all(0 <= percent <= 100 for percent in percents):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of percentages such as 0,50,100")
    return tuple(sorted(percent / 100 for percent in percents))


def one_of(names: Collection[str]) -> Callable[[str], str]:
    """As `choices`, which argparse also applies to an empty list."""

    def name(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(names)}")
        return text

    return name


def page_numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of page numbers such as 3,7")
    return tuple(sorted({int(part) for part in parts}))


def bound(text: str) -> str:
    try:
        parse_bound(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
