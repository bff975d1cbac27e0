"""The person's settings: one TOML file, read strictly and changed without losing a comment.

A file that does not exist is all defaults. Everything wrong in it is said with the file, the line, the key and
what is allowed. What a theme, a model or a key's command is called is the affair of those who have them; here
they are only text.
"""

import difflib
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from gistread.atomic_write import replace_file
from gistread.errors import StorageError, UsageError

Value = str | int | bool
FastWeights = Literal["ask", "always", "never"]
Images = Literal["auto", "kitty", "sixel", "blocks", "dots"]
KvCache = Literal["auto", "f16", "q8_0", "q4_0"]
FlashAttention = Literal["auto", "on", "off"]
ReadingMode = Literal["", "careful", "single-pass"]
Prepare = Literal["auto", "when asked"]
Highlight = Literal["yellow", "green", "blue", "red"]
Paragraphs = Literal["gap", "indent"]
Bidi = Literal["auto", "on", "off"]

PROGRESS_PARTS = ("title", "chapter", "chapter-left", "book-left", "page", "percent")
"""What the header line can show."""


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting with its default."""

    theme: str = ""
    """Name of a theme; empty: the program's choice."""
    model: str = ""
    """Path or name of a GGUF model, as `--model` takes it; empty: the only one there is. It reads, and where no
    other one does it answers, too."""
    asking_model: str = ""
    """The model that answers questions, as `--asking-model` takes it; empty: the one that reads."""
    context_tokens: int | None = None
    """Window to load the model with, where its own is too large for the memory at hand."""
    connections: int | None = None
    """Most requests that a server gets at the same time; None: as many as pay."""
    fast_weights: FastWeights = "ask"
    """Whether faster copies of weights may be made: `ask` only small ones, `always` any, `never` none."""
    kv_cache: KvCache = "auto"
    """What the numbers of the KV cache are kept as; `auto`: f16, or q8_0, half of that, where memory is short."""
    gpu_layers: int | None = None
    """Layers that a graphics card computes, the output being one; None: as many as fit."""
    flash_attention: FlashAttention = "auto"
    """How attention is computed; `auto`: fused where the device can."""
    batch_tokens: int | None = None
    """Tokens of prompts evaluated at once; None: chosen by the model's size and the device."""
    threads: int | None = None
    """Of the processor at work on the model; None: as many as it has physical cores for us."""
    embedding_model: str = ""
    """Path or name of a GGUF model that makes vectors, as `--embedding-model` takes it; empty: the only one."""
    model_folders: tuple[str, ...] = ()
    """Folders of the person's own in which models lie, beside those of the usual programs."""
    reading: ReadingMode = ""
    """How a book is read; empty: as gistread thinks best."""
    preset: str = "auto"
    """What kind of book it is read as, as `--preset` takes it; `auto`: as the book looks."""
    min_words: int | None = None
    max_words: int | None = None
    """Pagination (ReadAgent, Appendix H); None: chosen by the book's length and the model's window."""
    max_pages: int = 5
    """Look-ups a question may take."""
    reader: str = ""
    """How questions are answered, as `--reader` takes it; empty: the usual way."""
    prepare: Prepare = "auto"
    """When what a reader needs beside the gists is made: `auto` once the book has been read, or `when asked`."""
    follow: bool = True
    """Book and memory follow each other on the screen."""
    progress: str = "title chapter chapter-left book-left page percent"
    """What the header line shows, in words with spaces between them."""
    images: Images = "auto"
    """How pictures are drawn; `auto`: as the terminal is known to be able to."""
    speech_command: str = ""
    """Command that speaks, with `{text}` and `{language}`; empty: one that is found on this machine."""
    text_width: int = 72
    """Widest line of a book, in columns."""
    highlight: Highlight = "yellow"
    """Colour of the next highlight."""
    lookup_command: str = ""
    """Program that looks a word up, such as `dict {word}`; empty: a dictionary found on this machine."""
    side_margin: int = 2
    """Least empty columns at each side of a book's text."""
    line_spacing: int = 0
    """Empty rows between the lines of a book."""
    paragraphs: Paragraphs = "gap"
    """What tells the paragraphs of a book apart: an empty row, or an indented first line."""
    justify: bool = False
    """Whether the lines of a book end at one edge."""
    hyphenate: bool = True
    """Whether words may be parted at the end of a line, by the rules of their language."""
    columns: int = 1
    """Columns of a book side by side, where there is room for them."""
    bidi: Bidi = "auto"
    """Who puts words that run from right to left in order: `on` gistread, `off` the terminal."""
    keys: dict[str, str] = field(default_factory=dict)
    """Command id to key or keys: `[keys]` in the file."""


_UNKEPT = re.compile("[\n\ud800-\udfff]")
"""In a path, say: a line break, and what stands for bytes that are no UTF-8."""


class _Rule(NamedTuple):
    kind: type
    allowed: str
    holds: Callable[[Any], bool]


def _number(low: int, high: int) -> _Rule:
    return _Rule(int, f"a whole number from {low} to {high}", lambda value: low <= value <= high)


_TEXT = _Rule(str, "a text in quotes", lambda value: _UNKEPT.search(value) is None)
_RULES = {
    "theme": _TEXT,
    "model": _TEXT,
    "asking_model": _TEXT,
    "context_tokens": _number(256, 10_000_000),
    "connections": _number(1, 1000),
    "fast_weights": _Rule(str, '"ask", "always" or "never"', lambda value: value in get_args(FastWeights)),
    "kv_cache": _Rule(str, '"auto", "f16", "q8_0" or "q4_0"', lambda value: value in get_args(KvCache)),
    "gpu_layers": _number(0, 10_000),
    "flash_attention": _Rule(str, '"auto", "on" or "off"', lambda value: value in get_args(FlashAttention)),
    "batch_tokens": _number(64, 8192),
    "threads": _number(1, 1024),
    "embedding_model": _TEXT,
    "model_folders": _Rule(
        list,
        'a list of folders in quotes, such as ["~/models"]',
        lambda value: all(isinstance(folder, str) and folder and "\n" not in folder for folder in value),
    ),
    "reading": _Rule(str, '"careful" or "single-pass"', lambda value: value in get_args(ReadingMode)),
    "preset": _TEXT,
    "min_words": _number(1, 100_000),
    "max_words": _number(2, 100_000),
    "max_pages": _number(0, 100),
    "reader": _TEXT,
    "prepare": _Rule(str, '"auto" or "when asked"', lambda value: value in get_args(Prepare)),
    "follow": _Rule(bool, "true or false", lambda value: True),
    "progress": _Rule(
        str,
        "some of these, with spaces between them: " + ", ".join(PROGRESS_PARTS),
        lambda value: set(value.split()) <= set(PROGRESS_PARTS),
    ),
    "images": _Rule(str, '"auto", "kitty", "sixel", "blocks" or "dots"', lambda value: value in get_args(Images)),
    "speech_command": _TEXT,
    "text_width": _number(20, 400),
    "highlight": _Rule(str, '"yellow", "green", "blue" or "red"', lambda value: value in get_args(Highlight)),
    "lookup_command": _TEXT,
    "side_margin": _number(0, 40),
    "line_spacing": _number(0, 2),
    "paragraphs": _Rule(str, '"gap" or "indent"', lambda value: value in get_args(Paragraphs)),
    "justify": _Rule(bool, "true or false", lambda value: True),
    "hyphenate": _Rule(bool, "true or false", lambda value: True),
    "columns": _number(1, 2),
    "bidi": _Rule(str, '"auto", "on" or "off"', lambda value: value in get_args(Bidi)),
}
_KEYS = "keys"


def load_config(path: Path) -> Config:
    """The settings in this file.

    Raises UsageError for anything in it that is not a setting, StorageError when it cannot be read.
    """
    text = _read(path)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", "Correct the file, or move it away.") from None
    for key, value in table.items():
        where = f"{path}, line {_line_of(text, key)}"
        if key == _KEYS:
            _check_keys(value, where)
        else:
            _check(key, value, where)
    lists: dict[str, Any] = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    config = Config(**(table | lists))
    if config.min_words and config.max_words and config.min_words >= config.max_words:
        raise UsageError(
            f"{path}, line {_line_of(text, 'min_words')}: min_words ({config.min_words}) must be smaller "
            f"than max_words ({config.max_words})."
        )
    return config


def save_setting(path: Path, key: str, value: Value) -> None:
    """Write one setting, leaving every other byte of the file as the person wrote it.

    `key` is a setting's name or `keys.COMMAND`. Raises UsageError for what `load_config` would refuse,
    StorageError when the file cannot be written; the file is then as it was.
    """
    import tomlkit  # slow to import, and needed only to write
    from tomlkit.exceptions import TOMLKitError

    section, _, command = key.partition(".")
    if section == _KEYS and command:
        _check_keys({command: value}, str(path))
    else:
        _check(key, value, str(path))
    text = _read(path)
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise UsageError(
            f"{path} is not valid TOML: {error}.", f"Correct the file; {key} has not been saved."
        ) from None
    if section == _KEYS:
        keys = document.setdefault(_KEYS, tomlkit.table())
        _check_keys(keys, f"{path}, line {_line_of(text, _KEYS)}")
        keys[command] = value
    else:
        document[key] = value
    _write(path, tomlkit.dumps(document))


def _check(key: str, value: object, where: str) -> None:
    rule = _RULES.get(key)
    if rule is None:
        raise UsageError(f"{where}: there is no setting {key!r}.", _suggest(key))
    # bool is an int to Python, not to a person.
    if type(value) is not rule.kind or not rule.holds(value):
        raise UsageError(f"{where}: {key} must be {rule.allowed}, not {_shown(value)}.")


def _check_keys(table: object, where: str) -> None:
    if not isinstance(table, dict):
        raise UsageError(f'{where}: keys must be a table: [keys], then lines such as ask = "a".')
    for command, key in table.items():
        if not isinstance(key, str) or not key.strip():
            raise UsageError(f'{where}: keys.{command} must name a key, such as "ctrl+f", not {_shown(key)}.')


def _suggest(key: str) -> str:
    known = [*_RULES, _KEYS]
    near = difflib.get_close_matches(key, known, n=1)
    return f"Did you mean {near[0]}?" if near else f"Settings are: {', '.join(known)}."


def _shown(value: object) -> str:
    """A value as its file has it, near enough."""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _line_of(text: str, key: str) -> int:
    """Line of a top-level key or table header; the TOML readers do not tell."""
    name = f"[\"']?{re.escape(key)}[\"']?"
    found = re.search(rf"^[ \t]*(?:\[+[ \t]*{name}[ \t]*[\].]|{name}[ \t]*[=.])", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.", "Correct the file, or move it away.") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.", "Settings could not be read.") from error


def _write(path: Path, text: str) -> None:
    """Replace the file in one step. A link, as keepers of dotfiles have it, stays a link."""
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, text.encode(), mode=0o644)
    except OSError as error:
        raise StorageError(
            f"{path}: {error.strerror or error}.", "The setting holds until gistread is closed; it is not saved."
        ) from error
