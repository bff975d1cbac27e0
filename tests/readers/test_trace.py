"""The steps of every reader, in words that lead to the book."""

from collections.abc import Sequence

import pytest

from gistread.book.open import open_book
from gistread.engine.protocol import Usage
from gistread.readers.events import (
    Agreed,
    Expanded,
    LookedUp,
    MembersAsked,
    Noted,
    OpenedBy,
    PartRead,
    PathEnded,
    Planned,
    ReaderEvent,
    Refused,
    Reported,
    Restarted,
    SegmentLevel,
    Shared,
    Shown,
    Started,
    Stopped,
    StopReason,
    TeamFormed,
    TurnedBack,
    Unfit,
    Visited,
    Walked,
)
from gistread.readers.trace import (
    Places,
    ToPage,
    ToPlace,
    describe_cost,
    describe_effort,
    describe_scope,
    progress_of,
    step_of,
    summary_of,
)
from gistread.sample import story_path
from gistread.units import ELLIPSIS, in_quotes, ranges_words, short
from tests.readers.memories import make_memory

MEMORY = make_memory(8, 8)
PLACES = Places(len(MEMORY.book.text), MEMORY)
PAGES = [(entry.page.start, entry.page.end) for entry in MEMORY.entries]

WALK = (
    Walked(1, 5, 8),
    Walked(0, 6, 6),
    LookedUp(6, 1, ""),
    TurnedBack(0, 6, 6),
    TurnedBack(1, 5, 8),
    TurnedBack(1, 9, 12, told=True),
)
PATHS = (
    Planned("Find the key.\nFind who had it.", ("key", "Ferrand")),
    Visited(2, "Ferrand", 3, (3, 4, 8)),
    LookedUp(8, 1, "path 2, Ferrand", 2),
    Noted("He confessed.", *PAGES[7], 2),
    PathEnded(2),
    Agreed("Ferrand", (1, 2)),
)
TEAM = (
    TeamFormed(tuple(PAGES)),
    MembersAsked(1, "Who?"),
    Reported(1, "", *PAGES[0]),
    Reported(8, "Ferrand", *PAGES[7]),
)


def texts(events: Sequence[ReaderEvent]) -> list[str]:
    steps = [step_of(event, PLACES) for event in events]
    return [str(step) for step in steps if step]


@pytest.mark.parametrize(
    ("events", "steps", "summary"),
    [
        (
            WALK,
            [
                "▸ down to sections 5–8",
                "① section 6",
                "× section 6 has no answer",
                "× back from sections 5–8: no answer there",
                "× back from sections 9–12",
            ],
            "section 6 opened",
        ),
        (
            PATHS,
            [
                "· plan: Find the key. Find who had it.; begins at: key, Ferrand",
                "▸ path 2: 3 facts about Ferrand on sections 3–4, 8",
                "① section 8: path 2, Ferrand",
                "✎ path 2, section 8: He confessed.",
                "= 2 say: Ferrand",
            ],
            "section 8 opened · 1 note",
        ),
        (
            TEAM,
            [
                "· 8 members, each with a part of the book",
                "● member 8, section 8: Ferrand",
            ],
            "8 members asked",
        ),
        (
            (Shared((3, 8), 8, "Ferrand"), MembersAsked(2, "When was the storm?")),
            [
                "⇄ members 3 and 8 disagree; both parts together say: Ferrand",
                "? the leader asks: When was the storm?",
            ],
            "the leader asks: When was the storm?",
        ),
        (
            (
                LookedUp(3, 1, "the lamp"),
                Refused((2,), (7,)),
                Expanded(7, OpenedBy.PERSON),
            ),
            [
                "① section 3: the lamp",
                "× section 2 refused by you, section 7 instead",
                "◆ section 7, opened by you",
            ],
            "section 3 opened",
        ),
        (
            (Shown(((10, 20), (30, 40))),),
            ["¶ read 2 passages: section 1"],
            "read 2 passages",
        ),
        (
            (Shown(()),),
            ["¶ read no passage of the book"],
            "read no passage of the book",
        ),
        (
            (Restarted("It broke off."),),
            ["↻ the answer begins again: It broke off"],
            "the answer begins again: It broke off",
        ),
    ],
)
def test_the_steps_of_a_reader_are_said_once(
    events: Sequence[ReaderEvent], steps: list[str], summary: str
) -> None:
    assert texts(events) == steps
    assert summary_of(events, PLACES) == summary


def test_the_passages_read_are_named_by_their_pages() -> None:
    book = open_book(story_path())
    half = len(book.text) // 2
    places = Places(len(book.text), book=book)
    read = summary_of([Shown(((0, 900), (half, half + 900)))], places)
    page = book.page_at(half + 899)
    assert read.replace("\u00a0", " ") == f"read 2 passages, p. 1 to {page}"
    assert summary_of([Shown(((0, len(book.text)),))], places) == "read the whole text"


def test_steps_lead_to_their_places_in_the_book() -> None:
    shown = step_of(Shown((PAGES[0], PAGES[7])), PLACES)
    assert shown is not None
    assert shown.text == "read 2 passages: section 1 · section 8"
    assert [link.target for link in shown.links] == [
        ToPlace(*PAGES[0]),
        ToPlace(*PAGES[7]),
    ]
    assert [shown.text[link.start : link.end] for link in shown.links] == [
        "section 1",
        "section 8",
    ]
    visited = step_of(PATHS[1], PLACES)
    assert visited is not None
    assert [link.target for link in visited.links] == [ToPage(3), ToPage(4), ToPage(8)]
    assert step_of(LookedUp(3, 1, ""), PLACES).target == ToPage(3)


def test_progress_is_that_of_the_last_event() -> None:
    assert progress_of(TEAM) == ("members have read", 2, 8)
    assert progress_of((*TEAM, Stopped(StopReason.ENOUGH))) is None
    assert progress_of((PartRead(3, 8, *PAGES[2]),)) == ("parts read", 3, 8)
    assert progress_of((PartRead(8, 8, *PAGES[7]),)) is None


@pytest.mark.parametrize(
    "reason", [reason for reason in StopReason if reason is not StopReason.NOTHING_LEFT]
)
def test_a_stop_has_a_reason_unless_nothing_was_left(reason: StopReason) -> None:
    assert texts([Stopped(reason)])
    assert not texts([Stopped(StopReason.NOTHING_LEFT)])


def test_a_page_that_does_not_fit_is_closed_or_partly_read() -> None:
    assert texts([Unfit(3)]) == ["◇ section 3 does not fit the model's window"]
    assert "read up to 42%" in texts([Unfit(3, 0.42)])[0]


def test_the_scope_of_a_question_is_said_only_if_limited() -> None:
    assert describe_scope(Started("r", 9, 9, True)) == ""
    scope = describe_scope(
        Started(
            "r", 18, 46, False, told=(SegmentLevel(1, 17, 1), SegmentLevel(18, 18, 0))
        )
    )
    assert "From 18 of ~46 sections." in scope
    assert "1 section by its own gist, 17 sections in 1 summary" in scope
    assert (
        describe_scope(Started("r", 9, 9, True, bound_share=0.152))
        == "Up to 15% of the book."
    )
    bounded = Started("r", 3, 4, False, bound_share=0.152)
    assert describe_scope(bounded) == "From 3 of ~4 sections up to 15% of the book."


def test_without_pages_a_place_is_a_share_of_the_book() -> None:
    assert Places(1000).words(100, 200) == "10–20%"
    assert Places(1000).words(100, 101) == "10%"
    assert PLACES.words(PAGES[1][0], PAGES[3][1]) == "sections 2–4"
    assert ranges_words([3, 1, 2, 7]) == "1–3, 7"


def test_quotation_marks_inside_a_quotation_are_single() -> None:
    assert in_quotes("“Go,” he said.") == "“‘Go,’ he said.”"
    assert (
        in_quotes(short("He said, “Go away from here.”", 20))
        == f"“He said, ‘Go away{ELLIPSIS}’”"
    )
    assert in_quotes("away from here,” he said.") == "“‘away from here,’ he said.”"


def test_the_cost_of_an_answer_is_told_in_time_and_tokens() -> None:
    assert describe_cost(Usage(4000, 200, 118, 12.4)) == (
        "12 s · 4,200 tokens read, 200 of them known, 118 written"
    )
    assert describe_cost(Usage(40, 0, 8, 0.2)) == "40 tokens read, 8 written"
    assert describe_cost(Usage()) == ""


def test_readers_are_told_the_effort_of_an_answer_in_words() -> None:
    assert (
        describe_effort(Usage(4000, 200, 118, 12.4)) == "12 s · about 2,800 words read"
    )
    assert describe_effort(Usage(40, 0, 8, 0.2)) == "about 27 words read"
    assert describe_effort(Usage()) == ""


def test_a_text_that_is_shown_whole_is_not_called_a_passage() -> None:
    assert str(step_of(Shown(((0, 100),)), Places(100))) == "¶ read the whole text"
    assert "read 1 passage" in str(step_of(Shown(((0, 40),)), Places(100)))
