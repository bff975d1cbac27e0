"""Describes the steps of a reader in words, for the command line and the records of evaluations."""

from collections.abc import Iterable, Sequence

from gistread.readers import events
from gistread.units import counted, format_share, ranges_words

_STOPPED = {
    events.StopReason.ENOUGH: "enough",
    events.StopReason.LIMIT: "look-ups used up",
    events.StopReason.WINDOW: "no more fits the model's window or the budget",
    events.StopReason.PERSON: "stopped",
    events.StopReason.NOTHING_LEFT: "nothing further to look at",
}


def unsupported_spans(statements: Sequence[events.Statement]) -> tuple[tuple[int, int], ...]:
    """(start, end) of the statements that the text does not support; neighbours in one."""
    runs: list[tuple[int, int]] = []
    supported_last = True
    for statement in statements:
        if not statement.supported:
            start = statement.start if supported_last else runs.pop()[0]
            runs.append((start, statement.end))
        supported_last = statement.supported
    return tuple(runs)


def in_quotes(text: str) -> str:
    """The text in double quotation marks, with single ones for those in it."""
    return f"“{text.translate(str.maketrans('“”', '‘’'))}”"


def describe(event: events.ReaderEvent) -> str:
    """A step in words; empty if it is not worth a line."""
    match event:
        case events.Started():
            return _scope(event)
        case events.Walked(level=level, first=first, last=last) if level:
            return f"   down to pages {first} to {last}"
        case events.TurnedBack(level=level, first=first, last=last):
            return f"   back from pages {first} to {last}" if level else f"   page {first} has no answer"
        case events.Planned(plan=plan, starts=starts):
            begun = f"\n   begins at: {'; '.join(starts)}" if starts else ""
            return f"   plan: {' '.join(plan.split())}{begun}"
        case events.Visited(path=path, element=element, facts=facts):
            return f"   path {path}: {facts} {'fact' if facts == 1 else 'facts'} about {element}"
        case events.MembersAsked(round=number, question=question) if number > 1:
            return f"   the leader asks: {question}"
        case events.Reported(member=member, answer=answer) if answer:
            return f"   part {member}: {answer}"
        case events.Shared(members=(first, second), answer=answer):
            return f"   parts {first} and {second} read together: {answer}"
        case events.Agreed(answer=answer, by=by) if len(by) > 1:
            return f"   {len(by)} say: {answer}"
        case events.LookedUp(page=page, step=step, reason=reason):
            return f"{step}. page {page}" + (f": {reason}" if reason else "")
        case events.Expanded(page=page, by=events.OpenedBy.PERSON):
            return f"   page {page}, opened by you"
        case events.Refused():
            return f"   {describe_refused(event)}"
        case events.SteppedBack(pages=pages):
            return f"   {describe_stepped_back(pages)}"
        case events.Unfit():
            return f"   {describe_unfit(event)}"
        case events.Noted(text=text, path=path):
            return f"   path {path}: {text}" if path else f"   {text}"
        case events.Stopped(reason=reason):
            return f"   {_STOPPED[reason]}"
        case events.Restarted(reason=reason):
            return f"The answer begins again: {reason.rstrip('.')}."
    return ""


def describe_proposed(proposed: events.Proposed, length: int) -> str:
    """What the reader wants to do next in a book of `length` characters: `Wants page 11: it tells of the key`."""
    verb = "Wants" if proposed.waits else "Next:"
    reason = f": {proposed.reason}" if proposed.reason else ""
    answers = "to answer now" if proposed.waits else "the answer"
    wanted = [pages_words(proposed.pages)] if proposed.pages else []
    if proposed.places:
        shares = dict.fromkeys(f"{start / max(1, length):.0%}" for start, _ in proposed.places)
        wanted.append(f"the text at {', '.join(shares)}")
    return f"{verb} {' and '.join(wanted) or answers}{reason if wanted else ''}"


def describe_refused(refused: events.Refused) -> str:
    what = _pages_and_places(refused.pages, len(refused.places))
    said = f"{what} refused by you" if what else "not answered yet, as you chose"
    instead = _pages_and_places(refused.instead, len(refused.instead_at))
    return f"{said}, {instead} instead" if instead else said


def describe_stepped_back(pages: Iterable[int]) -> str:
    return ": ".join(filter(None, ("one step back by you", _pages_and_places(pages))))


def _pages_and_places(pages: Iterable[int], places: int = 0) -> str:
    """`pages 3, 5 and 2 places`; empty for none."""
    numbers = tuple(pages)
    said = [pages_words(numbers)] if numbers else []
    return " and ".join([*said, *([counted(places, "place")] if places else [])])


def pages_words(numbers: Iterable[int]) -> str:
    """`page 3`, `pages 3, 5–7`."""
    said = ranges_words(numbers)
    return f"page {said}" if said.isdecimal() else f"pages {said}"


def describe_unfit(event: events.Unfit) -> str:
    """Say that a page does not fit, and how much of it is read."""
    if not event.shown:
        return f"page {event.page} does not fit the model's window"
    return f"page {event.page} is too long for the model's window or the budget: read up to {event.shown:.0%} of it"


def bound_phrase(started: events.Started) -> str:
    """` up to 12% of the book`, where the spoiler bound is; empty without one."""
    return f" up to {max(0.01, started.bound_share):.0%} of the book" if started.bound_share < 1 else ""


def _scope(started: events.Started) -> str:
    lines = [started.choice] if started.choice else []
    bound = bound_phrase(started)
    if started.share_shown is not None:
        # If a search found nothing to show, the answer says so.
        if (started.share_shown or started.reader == "closed-book") and (started.share_shown != 1 or bound):
            text = f"the text{bound}" if bound else "the book's text"
            lines.append(f"The model sees {_share(started.share_shown)} of {text}.")
        return "\n".join(lines)
    if not started.complete:
        pages = f"{started.pages_read} of about {started.pages_total} pages"
        lines.append(f"Asked over what has been read: {pages}{bound}.")
    elif bound:
        lines.append(f"Asked over the pages{bound}.")
    if started.told:
        lines.append(describe_segments(started.told))
    return "\n".join(lines)


def _share(share: float) -> str:
    return format_share(share) if share else "nothing"


def describe_segments(told: Sequence[events.SegmentLevel]) -> str:
    """How many pages are shown at which level, in one sentence."""
    own = sum(one.last - one.first + 1 for one in told if not one.level and not one.line)
    summaries = [one for one in told if one.level and not one.line]
    lines = [one for one in told if one.line]
    said = [f"{_pages(own)} by {'its' if own == 1 else 'their'} own gist"] if own else []
    for pieces, words in ((summaries, ("summary", "summaries")), (lines, ("line", "lines"))):
        if pieces:
            pages = sum(one.last - one.first + 1 for one in pieces)
            said.append(f"{_pages(pages)} in {len(pieces)} {words[len(pieces) > 1]}")
    unmade = sum(not one.made for one in told)
    stand_in = f" {unmade} of these are sentences of the gists, until the model makes them." if unmade else ""
    return f"The memory is larger than the model's window: {', '.join(said)}.{stand_in}"


def _pages(count: int) -> str:
    return f"{count} {'page' if count == 1 else 'pages'}"
