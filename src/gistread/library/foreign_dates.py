"""Dates of notes as other programs write them, in the time zone of this machine unless they say."""

import re
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

_YEAR = r"(?P<year>[12]\d{3})"
_EAST_ASIAN = re.compile(rf"{_YEAR}\s*[年년]\s*(?P<month>\d+)\s*[月월]\s*(?P<day>\d+)")
_MONTH_FIRST = re.compile(
    rf"(?P<name>[^\W\d_]{{3,}})\.?\s+(?P<day>\d{{1,2}}),?\s+{_YEAR}\b"
)
_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})\.?\s+(?:de\s+)?(?P<name>[^\W\d_]{{3,}})\.?\s+(?:de\s+)?{_YEAR}\b"
)
_TIME = re.compile(r"(?<!\d)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?")
_HALF_DAY = 12
_LAST_YEAR_SECONDS = 253_402_300_800.0  # The beginning of the year 10,000
_PER_SECOND = 1000  # Larger numbers are milliseconds


def seconds_of(written: object) -> float:
    """Seconds since the epoch of a date or a Unix time; 0 if it cannot be understood.

    >>> seconds_of("2024-03-04 10:10:10+00:00")
    1709547010.0
    >>> seconds_of("some day")
    0.0
    """
    if isinstance(written, int | float):
        return _unix_time(written)
    text = str(written or "").strip()
    with suppress(ValueError, OverflowError, OSError):
        return max(0.0, datetime.fromisoformat(text).timestamp())
    with suppress(ValueError, OverflowError, OSError):
        return _in_words(text)
    return 0.0


def _unix_time(number: float) -> float:
    """A time in seconds or milliseconds; 0 for one that no calendar has."""
    seconds = number if number < _LAST_YEAR_SECONDS else number // _PER_SECOND
    return float(seconds) if 0 < seconds < _LAST_YEAR_SECONDS else 0.0


def _in_words(text: str) -> float:
    """`Monday, 4 March 2024 10:10:10`. Raises ValueError."""
    day = (
        _EAST_ASIAN.search(text) or _MONTH_FIRST.search(text) or _DAY_FIRST.search(text)
    )
    if day is None:
        raise ValueError("no date")
    fields = day.groupdict()
    month = int(fields["month"]) if "month" in fields else _month_named(fields["name"])
    date = datetime(int(fields["year"]), month, int(fields["day"]))
    time = _TIME.search(text, day.end())
    if time is None:
        return date.timestamp()
    hour = int(time["hour"])
    around = text[day.end() :].casefold()
    words = _words()
    if any(word in around for word in words["afternoon"]):
        hour = hour % _HALF_DAY + _HALF_DAY
    elif any(word in around for word in words["morning"]):
        hour %= _HALF_DAY
    seconds = int(time["second"] or 0)
    return date.replace(
        hour=hour, minute=int(time["minute"]), second=seconds
    ).timestamp()


def _month_named(name: str) -> int:
    """Raises ValueError for a word that is no month."""
    lower = name.casefold()
    for number, starts in enumerate(_words()["starts"], start=1):
        if lower.startswith(tuple(starts)):
            return number
    raise ValueError(name)


@cache
def _words() -> dict[str, Any]:
    """`starts` of the names of each month; words for the `morning` and the `afternoon`."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("months.toml").read_text("utf-8"))
