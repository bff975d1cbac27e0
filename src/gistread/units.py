"""Sizes, durations, lists and short texts as people read them.

Times and attributes as programs read them, and comparison of sequences.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

# Least bytes of a unit. Fewer are not shown as 1000 of the smaller unit.
_LEAST_GB = 999.5e6
_LEAST_MB = 999.5e3
_BYTES_PER_GB = 1e9
_BYTES_PER_MB = 1e6
_BYTES_PER_KB = 1e3
_LEAST_MINUTES_S = 90  # Shorter durations are shown in seconds
_LEAST_WHOLE_HOURS = 10  # Longer ones are shown without minutes
_HALF_HOUR_MIN = 30
_LEAST_PERCENT = 0.01
_WHOLE_TOKENS = 10  # Tokens a second that are shown without decimals
_WHOLE_SECONDS = 10  # Seconds a token that are shown without decimals
_BARS = "▁▂▃▄▅▆▇"  # A full block would join those of the rows above and below


def format_size(size_bytes: int) -> str:
    """`98 MB`, `4.1 GB`."""
    if size_bytes >= _LEAST_GB:
        return f"{size_bytes / _BYTES_PER_GB:.1f} GB"
    if size_bytes >= _LEAST_MB:
        return f"{size_bytes / _BYTES_PER_MB:.0f} MB"
    return f"{size_bytes / _BYTES_PER_KB:.0f} kB"


def format_duration(seconds: float) -> str:
    """`40 s`, `6 min`, `2 h 10 min`, `38 h`."""
    if seconds < _LEAST_MINUTES_S:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= _LEAST_WHOLE_HOURS:
        rounded_up = minutes >= _HALF_HOUR_MIN
        return f"{hours + rounded_up} h"
    if not hours:
        return f"{minutes} min"
    if not minutes:
        return f"{hours} h"
    return f"{hours} h {minutes} min"


def format_rate(tokens_per_s: float) -> str:
    """A pace of a model above 0, in seconds a token if it is slow.

    >>> format_rate(41.2), format_rate(2.34), format_rate(0.05)
    ('41 tok/s', '2.3 tok/s', '20 s a token')
    """
    if tokens_per_s >= _WHOLE_TOKENS:
        return f"{tokens_per_s:.0f} tok/s"
    if tokens_per_s >= 1:
        return f"{tokens_per_s:.1f} tok/s"
    seconds = 1 / tokens_per_s
    digits = 0 if seconds >= _WHOLE_SECONDS else 1
    return f"{seconds:.{digits}f} s a token"


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as `2026-01-31T18:05:00+01:00`; empty for 0."""
    from datetime import datetime

    if not seconds:
        return ""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def fields(source: object, *names: str) -> dict[str, Any]:
    """These attributes of an object as fields of a JSON object.

    >>> fields(3 + 4j, "real", "imag")
    {'real': 3.0, 'imag': 4.0}
    """
    return {name: getattr(source, name) for name in names}


def format_share(share: float) -> str:
    """A share above 0 in percent: `40%`, `under 1%`."""
    return f"{share:.0%}" if share >= _LEAST_PERCENT else "under 1%"


def format_place(offset: int, length: int) -> str:
    """Where an offset lies in a text of `length` characters.

    >>> format_place(40, 100)
    '40%'
    """
    return f"{offset / max(1, length):.0%}"


def format_list(names: Sequence[str], most: int) -> str:
    """`a, b, c and 3 more`: at most `most` names."""
    listed = ", ".join(names[:most])
    if len(names) <= most:
        return listed
    return f"{listed} and {len(names) - most} more"


ELLIPSIS = "\u00a0…"  # After words that go on; never alone on a row


def short(text: str, limit: int) -> str:
    """A text on one line; one longer than `limit` characters is cut at a word.

    >>> short("Call me Ishmael.", 12)
    'Call me\\xa0…'
    """
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return whole_words(line, limit) + ELLIPSIS


def whole_words(line: str, end: int) -> str:
    """The words of a line before `end`; of a single word that goes on, its beginning.

    >>> whole_words("the lawyer’s name", 10), whole_words("the lawyer’s name", 12)
    ('the', 'the lawyer’s')
    """
    before = line[:end]
    is_cut = end < len(line) and line[end] != " "
    if is_cut and " " in before:
        before = before.rpartition(" ")[0]
    return before.rstrip()


def stripped_range(text: str, start: int, end: int) -> tuple[int, int]:
    """The range of `text` without the white space at its ends.

    >>> stripped_range("He said:  Go. ", 8, 14)
    (10, 13)
    """
    inside = text[start:end]
    leading = len(inside) - len(inside.lstrip())
    return start + leading, start + len(inside.rstrip())


def capitalised(text: str) -> str:
    """The text with a capital at its beginning: a message or a notice as a sentence."""
    return text[:1].upper() + text[1:]


_SINGLE_QUOTES = str.maketrans("“”", "‘’")


def in_quotes(text: str) -> str:
    """The text in double quotation marks, with single ones for those in it.

    >>> in_quotes("“It burns,” she said. “Look …")
    '“‘It burns,’ she said. ‘Look …’”'
    """
    inner = close_speech(text).translate(_SINGLE_QUOTES)
    return f"“{inner}”"


def close_speech(sentence: str) -> str:
    """The sentence with both quotation marks, if a speech begins or ends in it.

    >>> close_speech("“It burns,” she said. “Look …")
    '“It burns,” she said. “Look …”'
    """
    missing = sentence.count("“") - sentence.count("”")
    if missing > 0:
        return f"{sentence}”"
    if missing < 0:
        return f"“{sentence}"
    return sentence


def counted(number: int, what: str) -> str:
    """`1 question`, `4 questions`."""
    return f"{number} {agreeing(number, what, f'{what}s')}"


def agreeing(number: int, singular: str, plural: str) -> str:
    """The word that agrees with a number.

    >>> agreeing(1, "is", "are"), agreeing(4, "memory", "memories")
    ('is', 'memories')
    """
    return singular if number == 1 else plural


def progress_bar(share: float, columns: int = 24) -> str:
    """`━━━───`; completely empty or full only at 0 or 1."""
    filled = round(share * columns)
    if columns > 1 and 0 < share < 1:
        filled = min(max(filled, 1), columns - 1)
    return "━" * filled + "─" * (columns - filled)


def same_at_start(first: Sequence[object], second: Sequence[object]) -> int:
    """How many items are equal before the first two that differ.

    >>> same_at_start("lawyer", "lawful")
    3
    """
    for index, (item, other) in enumerate(zip(first, second, strict=False)):
        if item != other:
            return index
    return min(len(first), len(second))


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """(first, last) of each run of consecutive numbers, sorted.

    >>> ranges([5, 6, 3, 7])
    [(3, 3), (5, 7)]
    """
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            first, _ = runs[-1]
            runs[-1] = first, number
        else:
            runs.append((number, number))
    return runs


def ranges_words(numbers: Iterable[int]) -> str:
    """`3, 5–7`."""
    words: list[str] = []
    for first, last in ranges(numbers):
        is_single = first == last
        words.append(str(first) if is_single else f"{first}–{last}")
    return ", ".join(words)


def bars(counts: Sequence[int], most: int) -> str:
    """A bar for each count, or for several if there are more than `most`. A dot stands for 0.

    >>> bars([0, 1, 2, 7], 64)
    '·▁▂▇'
    """
    counts_a_bar = max(1, math.ceil(len(counts) / most))
    sums = [
        sum(counts[start : start + counts_a_bar])
        for start in range(0, len(counts), counts_a_bar)
    ]
    highest = max(sums, default=0)
    return "".join(_bar(count, highest) for count in sums)


def _bar(count: int, highest: int) -> str:
    """The bar of a count by its share of `highest`; a dot for 0."""
    if not count:
        return "·"
    # Rounded up, less 1: the least count has the first bar, and `highest` the last.
    return _BARS[(count * len(_BARS) - 1) // highest]
