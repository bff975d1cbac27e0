"""Stores the encodings that the user chose for files, by the SHA-256 of the file, as JSON."""

import codecs
import contextlib
from pathlib import Path

import orjson

from gistread.book import sniff
from gistread.book.formats.encoding_choice import EncodingChoice, encoding_choices
from gistread.book.formats.encoding_names import codec_of
from gistread.book.open import open_file, read_limited
from gistread.errors import BookError, UsageError
from gistread.store.files import make_folder, replace_file

DETECTED = "auto"  # As an encoding: forget the choice
_UNICODE = ("utf-8", "utf-16", "utf-32")
_TEXT_FORMATS = (
    sniff.ReadableFormat.TEXT,
    sniff.ReadableFormat.MARKDOWN,
    sniff.ReadableFormat.HTML,
    sniff.ReadableFormat.FB2,
)


def chosen_encoding(file: Path, digest: str) -> str:
    """The codec that the user chose for the file with this SHA-256; empty without a choice."""
    return _read(file).get(digest, "")


def choose_encoding(file: Path, source: Path, digest: str, name: str) -> None:
    """Store the encoding `name` for `source`; `auto` lets it be detected again.

    Raises UsageError for an unknown encoding, BookError for a book that is not text, OSError.
    """
    with source.open("rb") as stream:
        kind = sniff.identify(stream.read(sniff.HEAD_BYTES), source.name)
    if kind not in _TEXT_FORMATS:
        raise BookError(
            f"{source.name} is not plain text: its format says its encoding."
        )
    choices = _read(file)
    if name == DETECTED:
        choices.pop(digest, None)
    else:
        choices[digest] = _codec_named(name)
    make_folder(file.parent)
    replace_file(file, orjson.dumps(choices))


def choices_for(source: Path) -> list[EncodingChoice]:
    """Encodings to choose from for this file; empty if it is not text or declares its encoding.

    Raises BookError.
    """
    with open_file(source) as stream:
        kind = sniff.identify(stream.read(sniff.HEAD_BYTES), source.name)
        if kind not in _TEXT_FORMATS:
            return []
        stream.seek(0)
        return encoding_choices(read_limited(stream, source.name))


def _codec_named(name: str) -> str:
    """Python's name of an encoding. Raises UsageError."""
    with contextlib.suppress(LookupError):
        codec = codecs.lookup(name).name
        if codec.startswith(_UNICODE):
            return codec
    codec = codec_of(name)
    if not codec:
        raise UsageError(
            f"Unknown encoding: {name}.",
            "Examples: windows-1250, iso-8859-2, koi8-r, gb18030, auto.",
        )
    return codec


def _read(file: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):
        choices = orjson.loads(file.read_bytes())
        if isinstance(choices, dict):
            return {str(digest): str(codec) for digest, codec in choices.items()}
    return {}
