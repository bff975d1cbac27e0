"""The steps of a reader in words: for the command line, and for whoever checks an evaluation by hand.

What is done with them, this does not know. The answer itself is no step.
"""

from gistread.readers.events import (
    Expanded,
    LookedUp,
    Noted,
    ReaderEvent,
    Restarted,
    Started,
    Stopped,
    StopReason,
    Unfit,
    Walked,
    Who,
)

_STOPPED = {
    StopReason.ENOUGH: "enough",
    StopReason.LIMIT: "as many pages as allowed",
    StopReason.WINDOW: "no further page fits the model's window",
    StopReason.PERSON: "stopped",
    StopReason.NOTHING_LEFT: "every page has been opened",
}


def said(event: ReaderEvent) -> str:
    """What is told of a step; empty where nothing is."""
    match event:
        case Started(share_shown=float(share)):
            return f"{share:.0%} of the book's text stands before the model." if share < 1 else ""
        case Started(pages_read=read, pages_total=total, complete=complete, shown=shown):
            lines = [] if complete else [f"Asked over what has been read: {read} of about {total} pages."]
            if shown is not None:
                lines.append(
                    f"The memory is larger than the model's window: {len(shown)} gists nearest to the question."
                )
            return "\n".join(lines)
        case Walked(level=level, first=first, last=last) if level:
            return f"   down to pages {first} to {last}"
        case LookedUp(page=page, step=step, reason=reason):
            return f"{step}. page {page}" + (f": {reason}" if reason else "")
        case Expanded(page=page, by=Who.PERSON):
            return f"   page {page}, opened by you"
        case Unfit(page=page):
            return f"   page {page} does not fit the model's window"
        case Noted(text=text):
            return f"   {text}"
        case Stopped(reason=reason):
            return f"   {_STOPPED[reason]}"
        case Restarted(reason=reason):
            return f"The model was restarted ({reason}); the answer begins again."
    return ""
