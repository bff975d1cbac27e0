"""Words of the source = words of the book + words that a notice counts."""

from pathlib import Path

import pytest

from gistread.book.open import open_bytes
from gistread.errors import BookError
from tests.book.data import all_cases, all_epubs, all_text_books
from tests.book.dumb_words import counted_words, lost_words, source_tokens
from tests.book.mislabelled import FORMATS

# Their letters become others
_IN_SYMBOL_FONTS = frozenset(("headings.docx", "sym.docx"))
_MOST_REFUSED = 0.1  # Of generated files
_FEW = range(25)
_MANY = range(2_000)


def lost_in_silence(data: bytes, name: str) -> list[str]:
    """The words that neither the book has nor a notice counts. Raises BookError."""
    book = open_bytes(data, name)
    lost = lost_words(source_tokens(data, name), book)
    return lost[counted_words(book) :]


def lost_by_seed(suffix: str, seeds: range) -> dict[int, list[str]]:
    """What was lost of the generated files; some of them are refused."""
    lost: dict[int, list[str]] = {}
    refused = 0
    for seed in seeds:
        try:
            words = lost_in_silence(FORMATS[suffix](seed), f"book{suffix}")
        except BookError:
            refused += 1
            continue
        if words:
            lost[seed] = words
    assert refused <= _MOST_REFUSED * len(seeds)
    return lost


@pytest.mark.parametrize("suffix", FORMATS)
def test_no_word_of_a_mislabelled_file_is_lost_in_silence(suffix: str) -> None:
    assert lost_by_seed(suffix, _FEW) == {}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_no_word_of_thousands_of_files_is_lost_in_silence(suffix: str) -> None:
    assert lost_by_seed(suffix, _MANY) == {}


def _with_a_reader(paths: list[Path]) -> list[Path]:
    """The files of these formats; of texts, those in UTF-8, which the dumb reader assumes."""
    readable = [path for path in paths if path.suffix.lower() in FORMATS]
    readable = [path for path in readable if path.name not in _IN_SYMBOL_FONTS]
    return [
        path
        for path in readable
        if path.suffix != ".txt" or _is_utf8(path.read_bytes())
    ]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.books
@pytest.mark.parametrize(
    "path", _with_a_reader(all_cases()), ids=lambda path: path.name
)
def test_no_word_of_a_reported_file_is_lost_in_silence(path: Path) -> None:
    assert lost_in_silence(path.read_bytes(), path.name) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    _with_a_reader([*all_epubs(), *all_text_books()]),
    ids=lambda path: path.name,
)
def test_no_word_of_a_real_file_is_lost_in_silence(path: Path) -> None:
    try:
        lost = lost_in_silence(path.read_bytes(), path.name)
    except BookError:
        # A test of `epubs.csv` says which are refused, and with which words.
        return
    assert lost == []
