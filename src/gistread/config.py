"""User settings: one TOML file, validated when read and changed without losing a comment."""

import difflib
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

from gistread.errors import StorageError, UsageError
from gistread.store.files import make_folder, replace_file
from gistread.store.journal import open_locked

_WAIT_S = 2.0  # Seconds to wait for another process's write

Value = str | int | bool
KvCache = Literal["auto", "f16", "q8_0", "q4_0"]
Bidi = Literal["auto", "on", "off"]

# What the header line can show
PROGRESS_PARTS = ("title", "chapter", "chapter-left", "book-left", "page", "percent")


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting with its default. None and an empty text mean: chosen by the program."""

    # Name of a theme. Empty: `night` or `paper`, as the terminal is dark or light.
    theme: str = ""
    # The model that reads, and answers unless `asking_model` is set; as `--model` takes it. Empty:
    # the starter, or else the only one installed.
    model: str = ""
    # Whether the model reads every opened book; else only books chosen for it
    read_along: bool = False
    # The model that answers questions, as `--asking-model` takes it. Empty: the reading model.
    asking_model: str = ""
    # Context length to load the model with
    context_tokens: Annotated[int | None, range(256, 10_000_001)] = None
    # Concurrent requests to a server
    connections: Annotated[int | None, range(1, 1001)] = None
    # Seconds without a reply after which a request to a server is sent again.
    server_timeout_s: Annotated[int, range(5, 3601)] = 300
    # Type of the KV cache. `auto`: f16, or q8_0 when memory is short.
    kv_cache: KvCache = "auto"
    # Layers to offload to the GPU, counting the output layer. None: as many as fit.
    gpu_layers: Annotated[int | None, range(0, 10_001)] = None
    # Threads of the engine. None: the number of physical cores.
    threads: Annotated[int | None, range(1, 1025)] = None
    model_folders: tuple[str, ...] = ()  # More folders to look for models in
    # How books are read; see `memory/model.py`
    reading: Literal["", "careful", "single-pass"] = ""
    # What gists keep, as `--preset` takes it. `auto`: chosen from the form of the book.
    preset: str = "auto"
    # Fewest words of a section (ReadAgent, Appendix H)
    min_words: Annotated[int | None, range(1, 100_001)] = None
    # Most words of a section
    max_words: Annotated[int | None, range(2, 100_001)] = None
    max_pages: Annotated[int, range(0, 101)] = 5  # Most look-ups for a question
    reader: str = ""  # How questions are answered, as `--reader` takes it
    # Who decides which sections are looked up: the model `alone`, or you are `ask`ed.
    steps: Literal["alone", "ask"] = "alone"
    # When to build what a reader needs besides gists: `auto`, after the book has been read, or
    # `when asked`.
    prepare: Literal["auto", "when asked"] = "auto"
    memory: bool = True  # Whether the memory, or the marks, stand beside the book
    beside: Literal["memory", "marks"] = "memory"  # Which of them
    # What the header line shows, separated by spaces.
    progress: Annotated[str, PROGRESS_PARTS] = (
        "title chapter chapter-left book-left page percent"
    )
    # How pictures are drawn. `auto`: by the terminal's abilities.
    images: Literal["auto", "kitty", "sixel", "blocks", "dots"] = "auto"
    pictures: bool = True  # Whether pictures are shown in the text
    # A command that reads aloud, with `{text}` and `{language}`. Empty: one found on this machine.
    speech_command: str = ""
    # Whether the terminal tells, or its bell, that an answer or a book is done while its window has
    # no focus
    notify: Literal["on", "bell", "off"] = "on"
    # Whether the terminal's tab shows progress, where it can
    terminal_progress: bool = True
    # Whether the mouse pointer tells words from what can be clicked, where it can
    pointer_shapes: bool = True
    # Longest line of a book, in columns
    text_width: Annotated[int, range(20, 401)] = 72
    # Columns of text side by side, from 150 columns
    text_columns: Annotated[int, range(1, 3)] = 1
    # Colour of the next highlight
    highlight: Literal["yellow", "green", "blue", "red"] = "yellow"
    # A dictionary command such as `dict {word}`. Empty: one found on this machine.
    lookup_command: str = ""
    # Fewest empty columns on each side of a book's text
    side_margin: Annotated[int, range(0, 41)] = 2
    overlap: Annotated[int, range(0, 3)] = 2  # Lines that a turned screen repeats
    # How paragraphs are separated: by an empty row, or by an indented first line, as in stories by
    # default
    paragraphs: Literal["auto", "gap", "indent"] = "auto"
    justify: bool = False  # Whether lines are justified
    # Whether words may be hyphenated, by the rules of their language
    hyphenate: bool = True
    # Who reorders right-to-left text: `on` gistread, `off` the terminal
    bidi: Bidi = "auto"
    # Addresses of OPDS catalogues to get books from, separated by spaces
    catalogues: str = ""
    # Address of a KOReader sync server, as `gistread sync login` sets it. Empty: nothing is synced.
    sync_server: str = ""
    sync_user: str = ""
    # What makes files of two devices the same book: their `content` or their `name`
    sync_match: Literal["content", "name"] = "content"
    # Which place wins: the `furthest`, or the `newest`
    sync_place: Literal["furthest", "newest"] = "furthest"
    # Command id to its keys: `[keys]` in the file
    keys: dict[str, str] = field(default_factory=dict)


_KEYS = "keys"
# Settings of earlier versions: ignored in a file
_RETIRED = frozenset(
    (
        "batch_tokens",
        "columns",
        "embedding_model",
        "fast_weights",
        "flash_attention",
        "follow",
        "library_view",
        "line_spacing",
        "mark_names",
        "reading_goal",
    )
)
# A line break, and bytes of a path that are not UTF-8
_UNWRITABLE = re.compile("[\n\ud800-\udfff]")


@cache
def _hints() -> dict[str, Any]:
    """The type hint of each setting, with its limits."""
    hints = get_type_hints(Config, include_extras=True)
    return {name: hint for name, hint in hints.items() if name != _KEYS}


class _Rule(NamedTuple):
    """Whether a setting may have a value, and in words which ones it may have."""

    allows: bool
    allowed: str


def _rule(hint: Any, value: Any) -> _Rule:
    """The rule of a setting with this hint, for this value."""
    if get_origin(hint) is Annotated:
        _, limits = get_args(hint)
        return _rule_of_limits(limits, value)
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        *first, last = (f'"{choice}"' for choice in choices if choice)
        return _Rule(value in choices, f"{', '.join(first)} or {last}")
    if hint is bool:
        return _Rule(isinstance(value, bool), "true or false")
    if hint is str:
        return _Rule(isinstance(value, str) and _is_writable(value), "a text in quotes")
    are_folders = isinstance(value, list) and all(map(_is_folder_name, value))
    return _Rule(are_folders, 'a list of folders in quotes, such as ["~/models"]')


def _rule_of_limits(limits: range | tuple[str, ...], value: Any) -> _Rule:
    """`limits`: the numbers of a range, or the words of which a text may consist."""
    if isinstance(limits, range):
        is_number = type(value) is int  # To Python, a bool is an int.
        numbers = f"a whole number from {limits[0]} to {limits[-1]}"
        return _Rule(is_number and value in limits, numbers)
    are_known = isinstance(value, str) and set(limits).issuperset(value.split())
    return _Rule(are_known, f"some of these, separated by spaces: {', '.join(limits)}")


def _is_writable(text: str) -> bool:
    return _UNWRITABLE.search(text) is None


def _is_folder_name(name: object) -> bool:
    return isinstance(name, str) and name != "" and "\n" not in name


def load_config(path: Path) -> Config:
    """Read the settings.

    Raises UsageError for an invalid setting, StorageError if the file cannot be read.
    """
    text = _read(path)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{path} is not valid TOML: {error}."
        raise UsageError(message, "Correct the file or move it away.") from None
    table = {key: value for key, value in table.items() if key not in _RETIRED}
    if table.get("steps") == "announce":  # As version 0.2 wrote it
        table["steps"] = "ask"
    for key, value in table.items():
        _check(key, value, f"{path}, line {_line_of(text, key)}")
        if isinstance(value, list):
            table[key] = tuple(value)
    config = Config(**table)
    least, most = config.min_words, config.max_words
    if least and most and least >= most:
        where = f"{path}, line {_line_of(text, 'min_words')}"
        raise UsageError(
            f"{where}: min_words ({least}) must be smaller than max_words ({most})."
        )
    return config


def save_setting(path: Path, key: str, value: Value) -> None:
    """Write one setting or `keys.COMMAND`. Raises UsageError, StorageError.

    Every other byte of the file is kept.
    """
    import tomlkit  # Imported here: it takes long, and is needed only to write.
    from tomlkit.exceptions import TOMLKitError

    # A name with a dot is `keys.COMMAND`: no other setting takes a table.
    name, _, command = key.partition(".")
    _check(name, {command: value} if command else value, str(path))
    # A symbolic link, as dotfile managers make, stays one.
    target = path.resolve()
    try:
        make_folder(target.parent)
        with open_locked(target, wait_s=_WAIT_S):
            text = _read(path)
            document = tomlkit.parse(text)
            if command:
                keys = document.setdefault(_KEYS, tomlkit.table())
                _check(_KEYS, keys, f"{path}, line {_line_of(text, _KEYS)}")
                keys[command] = value
            else:
                document[key] = value
            replace_file(target, tomlkit.dumps(document).encode())
    except TOMLKitError as error:
        hint = f"Correct the file; {key} has not been saved."
        raise UsageError(f"{path} is not valid TOML: {error}.", hint) from None
    except OSError as error:
        hint = f"{key} has not been saved."
        raise StorageError(f"{path}: {error.strerror or error}.", hint) from error


def _check(key: str, value: object, where: str) -> None:
    """Raises UsageError if there is no such setting, or if it may not have this value."""
    if key == _KEYS:
        _check_keys(value, where)
        return
    if key not in _hints():
        known = [*_hints(), _KEYS]
        meant = difflib.get_close_matches(key, known, n=1)
        hint = f"Settings are: {', '.join(known)}."
        if meant:
            hint = f"Did you mean {meant[0]}?"
        raise UsageError(f"{where}: unknown setting {key!r}.", hint)
    rule = _rule(_hints()[key], value)
    if not rule.allows:
        raise UsageError(f"{where}: {key} must be {rule.allowed}, not {_toml(value)}.")


def _check_keys(table: object, where: str) -> None:
    """Raises UsageError if this is not a table of commands with their keys."""
    if not isinstance(table, dict):
        raise UsageError(
            f'{where}: keys must be a table: [keys], then lines such as ask = "a".'
        )
    for command, key in table.items():
        if not isinstance(key, str) or not key.strip():
            raise UsageError(
                f"{where}: keys.{command} must name a key, "
                f'such as "ctrl+f", not {_toml(key)}.'
            )


def _toml(value: object) -> str:
    """A value as the file has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def _line_of(text: str, key: str) -> int:
    """The line of a top-level key or table header, which the TOML parsers do not give.

    >>> _line_of('[keys]\\nask = "a"', "ask")
    2
    """
    name = f"[\"']?{re.escape(key)}[\"']?"
    header = rf"\[+[ \t]*{name}[ \t]*[\].]"
    setting = rf"{name}[ \t]*[=.]"
    line = re.search(rf"^[ \t]*(?:{header}|{setting})", text, re.MULTILINE)
    if line is None:
        return 1
    return text.count("\n", 0, line.start()) + 1


def _read(path: Path) -> str:
    """The text of the file; empty if there is none. Raises UsageError, StorageError."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        message = f"{path} is not UTF-8 text."
        raise UsageError(message, "Correct the file or move it away.") from None
    except OSError as error:
        message = f"{path}: {error.strerror or error}."
        raise StorageError(message, "The settings could not be read.") from error
