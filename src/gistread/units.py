"""Sizes, durations, lists and short texts as people read them, and times and attributes as programs
do.
"""

from collections.abc import Iterable, Sequence
from typing import Any

_BARS = "▁▂▃▄▅▆▇"  # A full block would join those of the rows above and below


def format_size(size_bytes: int) -> str:
    """`98 MB`, `4.1 GB`."""
    if size_bytes >= 999.5e6:
        return f"{size_bytes / 1e9:.1f} GB"
    if size_bytes >= 999.5e3:
        return f"{size_bytes / 1e6:.0f} MB"
    return f"{size_bytes / 1e3:.0f} kB"


def format_duration(seconds: float) -> str:
    """`40 s`, `6 min`, `2 h 10 min`, `38 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= 10:
        return f"{hours + (minutes >= 30)} h"
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as `2026-01-31T18:05:00+01:00`; empty for 0."""
    from datetime import datetime

    if not seconds:
        return ""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def fields(source: object, *names: str) -> dict[str, Any]:
    """These attributes, under their own names."""
    return {name: getattr(source, name) for name in names}


def format_share(share: float) -> str:
    """A share above 0 in percent: `40%`, `under 1%`."""
    return f"{share:.0%}" if share >= 0.01 else "under 1%"


def format_list(names: Sequence[str], most: int) -> str:
    """`a, b, c and 3 more`: at most `most` names."""
    listed = ", ".join(names[:most])
    more = len(names) - most
    return f"{listed} and {more} more" if more > 0 else listed


CUT = "\u00a0…"  # After words that go on; never alone on a row


def short(text: str, limit: int) -> str:
    """A text on one line, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return line[:limit].rsplit(" ", 1)[0] + " …"


def in_quotes(text: str) -> str:
    """The text in double quotation marks, with single ones for those in it.

    >>> in_quotes("“It burns,” she said. “Look …")
    '“‘It burns,’ she said. ‘Look …’”'
    """
    return f"“{close_speech(text).translate(str.maketrans('“”', '‘’'))}”"


def close_speech(sentence: str) -> str:
    """The sentence with both quotation marks, where a speech begins or ends in it."""
    missing = sentence.count("“") - sentence.count("”")
    if missing > 0:
        return f"{sentence}”"
    return f"“{sentence}" if missing < 0 else sentence


def counted(number: int, what: str) -> str:
    """`1 question`, `4 questions`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def progress_bar(share: float, columns: int = 24) -> str:
    """`━━━───`; completely empty or full only at 0 or 1."""
    filled = round(share * columns)
    if columns > 1 and 0 < share < 1:
        filled = min(max(filled, 1), columns - 1)
    return "━" * filled + "─" * (columns - filled)


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """(first, last) of each run of consecutive numbers, sorted."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def ranges_words(numbers: Iterable[int]) -> str:
    """`3, 5–7`."""
    return ", ".join(
        str(first) if first == last else f"{first}–{last}" for first, last in ranges(numbers)
    )


def bars(counts: Sequence[int], most: int) -> str:
    """A bar for each count, at most `most` bars: more counts share one. A dot stands for 0."""
    step = -(-len(counts) // most) or 1
    parts = [sum(counts[at : at + step]) for at in range(0, len(counts), step)]
    highest = max(parts, default=0)
    return "".join(_BARS[(count * len(_BARS) - 1) // highest] if count else "·" for count in parts)
