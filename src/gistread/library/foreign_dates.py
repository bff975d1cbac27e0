"""Dates of notes as other programs write them, by default in the time zone of this machine."""

import re
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

_YEAR = r"(?P<year>[12]\d{3})"
# `2024年3月4日`
_EAST_ASIAN = re.compile(rf"{_YEAR}\s*[年년]\s*(?P<month>\d+)\s*[月월]\s*(?P<day>\d+)")
# `March 4, 2024`
_MONTH_FIRST = re.compile(
    rf"(?P<name>[^\W\d_]{{3,}})\.?\s+(?P<day>\d{{1,2}}),?\s+{_YEAR}\b"
)
# `4 March 2024`, `4 de marzo de 2024`
_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})\.?\s+(?:de\s+)?(?P<name>[^\W\d_]{{3,}})\.?\s+(?:de\s+)?{_YEAR}\b"
)
# `10:10`, `10:10:10`
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
    if not 0 < seconds < _LAST_YEAR_SECONDS:
        return 0.0
    return float(seconds)


def _in_words(text: str) -> float:
    """Seconds since the epoch of `Monday, 4 March 2024 10:10:10`. Raises ValueError."""
    day = _day_in(text)
    fields = day.groupdict()
    month = int(fields["month"]) if "month" in fields else _month_named(fields["name"])
    date = datetime(int(fields["year"]), month, int(fields["day"]))
    time = _TIME.search(text, day.end())
    if time is None:
        return date.timestamp()
    hour = _hour_of_day(int(time["hour"]), text[day.end() :])
    minute = int(time["minute"])
    second = int(time["second"] or 0)
    return date.replace(hour=hour, minute=minute, second=second).timestamp()


def _day_in(text: str) -> re.Match[str]:
    """The date in a text. Raises ValueError."""
    for form in (_EAST_ASIAN, _MONTH_FIRST, _DAY_FIRST):
        if day := form.search(text):
            return day
    raise ValueError("no date")


def _hour_of_day(hour: int, text: str) -> int:
    """The hour from 0 to 23, by words such as `PM` in the text around the time."""
    lower = text.casefold()
    words = _words()
    if any(word in lower for word in words["afternoon"]):
        return hour % _HALF_DAY + _HALF_DAY
    if any(word in lower for word in words["morning"]):
        return hour % _HALF_DAY
    return hour


def _month_named(name: str) -> int:
    """The number of a month. Raises ValueError for another word."""
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
