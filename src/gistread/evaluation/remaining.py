"""Estimates how long the rest of a run will take, from the readers' times so far and the pace of reading."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from gistread.evaluation.outcomes import AnsweredQuestion, Key, by_reader
from gistread.evaluation.running import Plan
from gistread.memory.estimate import Pace
from gistread.readers.registry import METHODS


def seconds_left(
    plan: Plan, known: Mapping[Key, AnsweredQuestion], read: Iterable[str], pace: Pace, at_once: int = 1
) -> float | None:
    """Seconds for unanswered questions and unfinished memories; None before anything was timed."""
    todo = plan.todo(known)
    if not todo:
        return 0.0
    per_reader = {
        reader: fmean(asked.outcome.seconds for asked in each) for reader, each in by_reader(known.values()).items()
    }
    there = set(read)
    words = {
        one.document.id: one.document.book.words
        for one in todo
        if METHODS[one.reader].uses_memory and one.document.id not in there
    }
    speed = pace.words_per_s
    if not per_reader or (words and speed is None):
        return None
    # A reader not asked yet is assumed to be as fast as the others.
    usual = fmean(per_reader.values())
    asking = sum(len(one.questions) * per_reader.get(one.reader, usual) for one in todo)
    return asking / at_once + (sum(words.values()) / speed if words and speed else 0.0)
