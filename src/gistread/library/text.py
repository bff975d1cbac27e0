"""Formats progress, times and durations for people."""

from datetime import datetime

_MONTHS_AS_DAYS = 60
_MIN_S, _H_S = 60, 3600


def relative_time(then_s: float, now_s: float) -> str:
    """A time relative to now, both in seconds since the epoch: `5 min ago`, `yesterday`, `3 weeks ago`, `May 2024`."""
    seconds = now_s - then_s
    then, now = datetime.fromtimestamp(then_s), datetime.fromtimestamp(now_s)
    days = (now.date() - then.date()).days
    if seconds < _MIN_S:  # a clock that was set back is no reason to speak of the future
        return "just now"
    if seconds < _H_S:
        return f"{int(seconds // _MIN_S)} min ago"
    if days == 0:
        return "today"
    if days == 1:
        return "yesterday"
    if days < 14:
        return f"{days} days ago"
    if days < _MONTHS_AS_DAYS:
        return f"{days // 7} weeks ago"
    return f"{then:%b %Y}"


def progress_bar(share: float, columns: int) -> str:
    """`━━━───`; completely empty or full only at 0 or 1."""
    filled = round(share * columns)
    if columns > 1 and 0 < share < 1:
        filled = min(max(filled, 1), columns - 1)
    return "━" * filled + "─" * (columns - filled)


def percent(share: float) -> str:
    """`47%`; 100% only at 1."""
    return f"{min(99, round(100 * share)) if share < 1 else 100}%"
