"""Tells whether the text of pages is what they display, and writes notices about other pages."""

import re
from collections.abc import Iterator, Sequence

from gistread.book.formats.pdf.lines import TextLine
from gistread.book.formats.pdf.pages import PdfDocument, PdfPage
from gistread.units import agreeing, ranges

FEWEST_LETTERS = 500  # Fewer may have any share of vowels

_SCAN_LETTERS_PER_PAGE = 10  # With fewer, pages are pictures
_LEAST_PICTURES_SHARE = 0.5  # Share of the pages of a scan that have pictures
_MOST_UNREADABLE_SHARE = 0.3  # Share of the letters of a readable text
# Share of the letters; languages in Latin letters have at least a third
_LEAST_VOWELS = 0.22
_VOWELS = "aeiouy"
_LATIN_LETTER = re.compile("[a-z]")
_READING = re.compile("[\u3041-\u30ff ]+")  # Kana
_MOST_LISTED_RANGES = 8


def count_letters(pages: Sequence[PdfPage]) -> int:
    return sum(len(run.text.strip()) for page in pages for run in page.runs)


def text_of(pages: Sequence[PdfPage]) -> str:
    return "".join(run.text for page in pages for run in page.runs)


def is_scan(pages: Sequence[PdfPage]) -> bool:
    """Whether the pages have little text, and many of them have pictures."""
    has_text = count_letters(pages) >= _SCAN_LETTERS_PER_PAGE * max(1, len(pages))
    if has_text:
        return False
    with_pictures = sum(page.has_pictures for page in pages)
    return with_pictures >= _LEAST_PICTURES_SHARE * len(pages)


def is_readable(pages: Sequence[PdfPage]) -> bool:
    """Whether the fonts of these pages tell which characters they display."""
    text = text_of(pages)
    most = _MOST_UNREADABLE_SHARE * len(text)
    nameless = sum(page.nameless for page in pages)
    guessed = sum(page.guessed for page in pages)
    if nameless > most:
        return False
    # TeX's bitmap fonts do not name their letters, but encode them as ASCII.
    return guessed <= most or _has_vowels(text)


def _has_vowels(text: str) -> bool:
    return (_share_of_vowels(text) or 0) >= _LEAST_VOWELS


def seems_misread(text: str) -> bool:
    """Whether text in Latin letters has too few vowels for a language."""
    share = _share_of_vowels(text)
    return share is not None and share < _LEAST_VOWELS


def _share_of_vowels(text: str) -> float | None:
    """Share of vowels among Latin letters; None if less than half of the text is Latin."""
    letters = _LATIN_LETTER.findall(text.lower())
    if 2 * len(letters) <= len(text):
        return None
    vowels = sum(letter in _VOWELS for letter in letters)
    return vowels / len(letters)


def page_notices(document: PdfDocument) -> Iterator[str]:
    """Sentences about the pages that cannot be read, and those without text."""
    if document.unread:
        were = _were(document.unread)
        yield f"{_page_list(document.unread)} could not be read and {were} left out."
    pictures = [
        page.number for page in document.pages if page.has_pictures and not page.runs
    ]
    if pictures:
        are = agreeing(len(pictures), "is a picture", "are pictures")
        yield f"{_page_list(pictures)} {are} without text."


def unreadable_notice(pages: Sequence[PdfPage]) -> str:
    numbers = [page.number for page in pages]
    return (
        f"{_page_list(numbers)} {_were(numbers)} left out:"
        " the fonts do not say which characters they display."
    )


def readings_notice(readings: Sequence[TextLine]) -> Iterator[str]:
    """A sentence about lines of Japanese readings, if there are any among these small ones."""
    texts = [line.text for line in readings if _READING.fullmatch(line.text)]
    characters = sum(len(text.replace(" ", "")) for text in texts)
    if characters:
        yield (
            f"{characters:,} characters of readings (ruby) stand behind their lines,"
            " not behind their words."
        )


def _page_list(numbers: Sequence[int]) -> str:
    """The pages with these numbers, which count from 0.

    >>> _page_list([0, 2, 3, 4])
    'Pages 1, 3–5'
    """
    runs = ranges(number + 1 for number in numbers)
    listed = [_page_range(first, last) for first, last in runs[:_MOST_LISTED_RANGES]]
    more = " and others" if len(runs) > _MOST_LISTED_RANGES else ""
    noun = agreeing(len(set(numbers)), "Page", "Pages")
    return f"{noun} {', '.join(listed)}{more}"


def _page_range(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}–{last}"


def _were(numbers: Sequence[int]) -> str:
    return agreeing(len(set(numbers)), "was", "were")
