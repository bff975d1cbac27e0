"""The steps of each kind of reader, as lines."""

from collections.abc import Iterable

import pytest

from gistread.engine.protocol import NO_USAGE
from gistread.readers.events import (
    Agreed,
    Answered,
    Branched,
    LookedUp,
    MembersAsked,
    Noted,
    PartRead,
    PathEnded,
    Planned,
    ReaderEvent,
    Reported,
    Shared,
    Shown,
    Started,
    Stopped,
    StopReason,
    TeamFormed,
    TreeBranch,
    TurnedBack,
    Unfit,
    Visited,
    Walked,
)
from gistread.tui.answer_blocks import Exchange, Unfold, exchange_blocks, line_key, strip_lines, with_event
from gistread.tui.work.lines import Places, ToPage, ToPlace, WorkLine
from gistread.tui.work.whole import Work
from gistread.units import ranges_words
from tests.readers.memories import make_memory

MEMORY = make_memory(8, 8)
PLACES = Places(len(MEMORY.book.text), MEMORY)
PAGES = [(entry.page.start, entry.page.end) for entry in MEMORY.entries]

TOP = Branched((TreeBranch(1, 1, 4, "The lamp."), TreeBranch(1, 5, 8, "The key.")))
INSIDE = Branched(tuple(TreeBranch(0, page, page, f"Gist {page}.") for page in (5, 6, 7, 8)))
WALK = (TOP, Walked(1, 5, 8), INSIDE, Walked(0, 6, 6), LookedUp(6, 1, ""), TurnedBack(0, 6, 6), Walked(0, 8, 8))

PATHS = (
    Planned("Find the key.\nFind who had it.", ("key", "Ferrand")),
    Visited(2, "Ferrand", 3, (3, 4, 8)),
    LookedUp(8, 1, "path 2, Ferrand", 2),
    Noted("He confessed.", *PAGES[7], 2),
    Visited(1, "key", 2, (2, 6)),
    PathEnded(1),
    PathEnded(2),
)
TEAM = (
    TeamFormed(tuple(PAGES)),
    MembersAsked(1, "Who?"),
    *(Reported(member, "", *PAGES[member - 1]) for member in (1, 2, 4, 5)),
    Reported(8, "Ferrand", *PAGES[7]),
    Reported(3, "A stranger", *PAGES[2]),
)


def work_after(events: Iterable[ReaderEvent]) -> Work:
    work = Work()
    for event in events:
        work = work.after(event)
    return work


def lines(*events: ReaderEvent) -> list[WorkLine]:
    return work_after(events).lines(PLACES)


def texts(*events: ReaderEvent) -> list[str]:
    return [f"{'  ' * line.depth}{line.sign} {line.text} {line.tail}".rstrip() for line in lines(*events)]


def test_a_walk_is_shown_as_a_tree_with_its_path() -> None:
    assert texts(*WALK) == [
        " the whole book  pages 1–8",
        "  ▸ pages 5–8, gone into  The key.",
        "    × page 6, read: no answer in it  Gist 6.",
        "    ▸ page 8, being read  Gist 8.",
        "    · pages 5, 7, not gone into",
        "  · pages 1–4, not gone into",
    ]


def test_options_are_shown_before_a_choice() -> None:
    assert texts(TOP)[1:] == ["  · pages 1–4  The lamp.", "  · pages 5–8  The key."]
    assert "here: choosing" in texts(TOP)[0]
    assert "    · page 7  Gist 7." in texts(TOP, Walked(1, 5, 8), INSIDE)


def test_an_abandoned_part_stays_in_the_tree() -> None:
    said = texts(TOP, Walked(1, 5, 8), INSIDE, TurnedBack(1, 5, 8), Walked(1, 1, 4))
    assert "  × pages 5–8, left: no answer in it  The key." in said
    assert any("pages 1–4, here: choosing" in line for line in said)


def test_a_page_that_does_not_fit_was_not_read() -> None:
    events = (*WALK[:5], Unfit(6), TurnedBack(0, 6, 6))
    assert "    × page 6, does not fit the model's window  Gist 6." in texts(*events)
    assert work_after(events).summary(PLACES) == "down the tree: pages 5–8 · 0 pages read"
    assert not exchange_after(*events).steps


def test_a_partly_read_page_shows_its_share() -> None:
    events = (*WALK[:5], Unfit(6, 0.4), TurnedBack(0, 6, 6))
    assert "    × page 6, read to 40%, no more fits: no answer in it  Gist 6." in texts(*events)
    assert work_after(events).summary(PLACES) == "down the tree: pages 5–8 · 1 page read"


def test_every_line_of_a_walk_leads_to_its_first_page() -> None:
    goals = [line.target for line in lines(*WALK) if line.depth]
    assert goals
    assert all(isinstance(goal, ToPage) for goal in goals)


def test_a_finished_walk_is_summed_up_in_a_line() -> None:
    events = (*WALK, Stopped(StopReason.ENOUGH))
    assert any("page 8, read: it helps" in line for line in texts(*events))
    assert work_after(events).summary(PLACES) == "down the tree: pages 5–8 ▸ page 8 · 2 pages read"


def test_each_path_shows_its_notebook_and_place() -> None:
    said = texts(*PATHS[:4])
    assert said[0] == " plan: Find the key. Find who had it."
    assert "… path 1  key waiting" in said
    assert "▸ path 2  Ferrand at Ferrand" in said
    assert "   3 facts about Ferrand on pages 3–4, 8 · read in full: 8" in said
    assert "  ✎ page 8: He confessed." in said
    assert any(line.target == ToPlace(*PAGES[7]) for line in lines(*PATHS[:4]))


def test_at_the_end_of_the_paths_there_is_a_vote() -> None:
    events = (*PATHS, Agreed("Ferrand", (2,)))
    said = texts(*events)
    assert "⚑ 1 of 2 would answer: Ferrand path 2" in said
    assert "· found no answer path 1" in said
    assert work_after(events).summary(PLACES) == "2 paths · 1 note · 1 page read · 1 of 2 say “Ferrand”"


def test_members_are_a_row_of_signs_and_reports_a_line_each() -> None:
    said = texts(*TEAM)
    assert said[0].strip() == "members 1–8  ○○●○○··●"
    assert "6 of 8 have read their parts" in said[1]
    assert said[2:] == ["  ● member 3, page 3: A stranger", "  ● member 8, page 8: Ferrand"]
    row = lines(*TEAM)[0]
    assert [span.link for span in row.spans] == [ToPlace(*place) for place in PAGES]


def test_conflicts_and_their_resolution_are_shown() -> None:
    events = (
        *TEAM,
        *(Reported(member, "", *PAGES[member - 1]) for member in (6, 7)),
        Agreed("A stranger", (3,)),
        Agreed("Ferrand", (8,)),
        Shared((3, 8), 8, "Ferrand"),
        Stopped(StopReason.ENOUGH),
    )
    said = texts(*events)
    assert "= member 3 says: A stranger dropped" in said
    assert "= member 8 says: Ferrand" in said
    assert "⇄ members 3 and 8 read both their parts: “Ferrand” stays" in said
    assert "⚑ verdict: Ferrand by 8" in said
    assert work_after(events).summary(PLACES) == "8 members · 2 had an answer · 1 conflict settled"


def test_a_further_question_of_the_leader_is_a_new_round() -> None:
    said = texts(*TEAM, MembersAsked(2, "When was the storm?"), Reported(5, "At night", *PAGES[4]))
    assert "? round 2: the leader asks “When was the storm?”" in said
    assert said[-1] == "  ● member 5, page 5: At night"
    assert texts(*TEAM, Stopped(StopReason.PERSON))[-1] == "■ ended: stopped by you"


def test_a_vote_without_reports_is_shown() -> None:
    assert texts(TeamFormed(tuple(PAGES)), MembersAsked(1, "Who?"), Stopped(StopReason.ENOUGH))[-1] == (
        "⚑ verdict: not found in any chunk"
    )


def test_notes_are_shown_at_their_chunks_and_empty_chunks_grouped() -> None:
    events = [
        Noted("A lamp.", *PAGES[0]),
        PartRead(1, 8, *PAGES[0]),
        PartRead(2, 8, *PAGES[1]),
        PartRead(3, 8, *PAGES[2]),
        Noted("A key.", *PAGES[3]),
    ]
    said = texts(*events)
    assert said[:3] == ["✎ page 1: A lamp.", "· pages 2–3: nothing new", "✎ page 4: A key."]
    assert said[3].endswith("part 3 of 8")
    over = texts(*events, PartRead(4, 8, *PAGES[3]), Stopped(StopReason.NOTHING_LEFT))
    assert len(over) == 3


def test_passages_before_the_model_are_a_strip_of_the_book_and_a_list_of_places() -> None:
    work = work_after([Shown((PAGES[0], PAGES[7]))])
    strip, listed = work.lines(PLACES)
    cells = strip.text.partition("▕")[2].rstrip("▏")
    assert (cells[0], cells[-1], cells[25]) == ("■", "■", "·")
    assert listed.text == "shown: page 1 · page 8"
    assert [span.link for span in listed.spans] == [ToPlace(*PAGES[0]), ToPlace(*PAGES[7])]
    assert work.summary(PLACES).startswith("2 passages given to the model, ")
    assert work_after([Shown(())]).summary(PLACES) == "no passages given to the model"


def test_without_pages_a_place_is_a_share_of_the_book() -> None:
    assert Places(1000).words(100, 200) == "10–20%"
    assert Places(1000).words(100, 101) == "10%"
    assert PLACES.words(PAGES[1][0], PAGES[3][1]) == "pages 2–4"
    assert ranges_words([3, 1, 2, 7]) == "1–3, 7"


def exchange_after(*events: ReaderEvent) -> Exchange:
    exchange = Exchange("Who?", running=True)
    for event in (Started("r", 8, 8, True), *events):
        exchange = with_event(exchange, event)
    return exchange


ANSWERED = Answered("Ferrand.", True, (), (), (), 90.0, NO_USAGE)


@pytest.mark.parametrize("events", [WALK, PATHS, TEAM, (Shown((PAGES[0],)),)])
def test_the_steps_fold_to_one_line_after_the_answer(
    events: tuple[ReaderEvent, ...],
) -> None:
    running = exchange_after(*events)
    open_keys = [block.key for block in exchange_blocks(running, 0, PLACES).blocks]
    wanted = [line_key(0, line.key) for line in running.work.lines(PLACES)]
    assert [key for key in open_keys if key in wanted] == wanted
    answered = exchange_blocks(with_event(running, ANSWERED), 0, PLACES)
    assert [block.text for block in answered.blocks] == ["Who?", running.work.summary(PLACES), "Ferrand."]
    assert answered.targets["work", 0] == Unfold()


@pytest.mark.parametrize("events", [WALK, PATHS, TEAM, (Shown((PAGES[0],)),)])
def test_line_keys_are_unique_and_include_the_last_change(events: tuple[ReaderEvent, ...]) -> None:
    for count in range(1, len(events) + 1):
        work = work_after(events[:count])
        keys = [line.key for line in work.lines(PLACES)]
        assert len(set(keys)) == len(keys)
        if keys:
            assert work.current in keys


def test_the_end_of_lookups_is_explained_only_after_a_lookup() -> None:
    stopped, shown = Stopped(StopReason.WINDOW), Shown((PAGES[0],))
    assert exchange_after(stopped, shown).steps == ()
    assert exchange_after(LookedUp(3, 1, ""), stopped, shown).steps == (
        "①\u00a0page\u00a03",
        "②\u00a0no room for more",
    )


@pytest.mark.parametrize("events", [WALK, PATHS, TEAM])
def test_on_a_narrow_screen_the_newest_line_stands_in_the_strip(events: tuple[ReaderEvent, ...]) -> None:
    exchange = exchange_after(*events)
    question, summary, newest = strip_lines(exchange, PLACES, 3, 80)
    assert (question, summary) == ("? Who?", exchange.work.summary(PLACES))
    current = next(line for line in exchange.work.lines(PLACES) if line.key == exchange.work.current)
    assert current.text in newest


def test_a_reader_without_lookups_does_not_mention_them() -> None:
    assert with_event(Exchange("Who?"), Stopped(StopReason.NOTHING_LEFT)).steps == ()
    opened = with_event(Exchange("Who?"), LookedUp(3, 1, ""))
    assert with_event(opened, Stopped(StopReason.NOTHING_LEFT)).steps[1:] == ("②\u00a0nothing further to open",)


def test_a_source_outside_the_pages_read_is_named_by_its_place() -> None:
    places = Places(200)
    assert (places.source(3, 50), places.source(0, 50)) == ("memory page 3", "25%")
