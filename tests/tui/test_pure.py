"""Functions without a screen: status texts, commands and keys, blocks of memory and answers."""

from dataclasses import replace
from typing import Any

import pytest

from gistread.engine.protocol import NO_USAGE, EngineState, Phase, Priority
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.readers.events import Answered, LookedUp, Noted, OpenedBy, Started
from gistread.readers.trace import Places, ToPage, ToPlace
from gistread.session.events import Activity, AskingState, ReadingState
from gistread.store.model import AnswerMark, AnswerMarkKind, Citation, SavedQuestion
from gistread.tui.all_commands import COMMANDS
from gistread.tui.answer_blocks import (
    Exchange,
    ToSource,
    Unfold,
    answer_text,
    exchange_blocks,
    line_key,
    strip_lines,
    with_event,
)
from gistread.tui.commands import CommandKeys
from gistread.tui.memory_blocks import (
    Opening,
    SectionNote,
    View,
    chapter_of,
    entry_blocks,
    excerpt_of,
    key_of,
    row_blocks,
)
from gistread.tui.memory_rows import MemoryRow, PlaceInMemory, RowKind, memory_rows
from gistread.tui.status import status_of
from tests.tui.books import small_book


def activity(phase: Phase = Phase.IDLE, **about: Any) -> Activity:
    state = EngineState(
        phase,
        fraction=about.pop("fraction", None),
        tokens_per_s=about.pop("speed", None),
        priority=about.pop("priority", None),
        notice=about.pop("notice", ""),
    )
    return Activity(model="SmolLM2", engine=state, **about)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (Activity(), "No model yet: m chooses one"),
        (
            Activity(problem="It is cut off."),
            "No model: It is cut off. · m chooses another",
        ),
        (activity(Phase.LOADING, fraction=0.4), "Loading the model 40%"),
        (
            activity(
                Phase.DECODE,
                speed=41,
                reading=ReadingState.RUNNING,
                pages_read=11,
                pages_total=60,
                seconds_left=360,
            ),
            "Reading along · 11 of ~60 sections · 6 min left",
        ),
        (
            activity(
                notice="no connection to gpu:80; again in 4 s",
                reading=ReadingState.RUNNING,
                pages_read=2,
            ),
            "no connection to gpu:80; again in 4 s · Reading along · 2 sections",
        ),
        (
            activity(
                Phase.PREFILL,
                fraction=0.6,
                asking=AskingState.PAGE,
                priority=Priority.INTERACTIVE,
            ),
            "Reading for your question 60%",
        ),
        (activity(Phase.DECODE, asking=AskingState.PAGE), "Choosing a section"),
        (activity(Phase.DECODE, asking=AskingState.ANSWER, speed=30), "Answering"),
        (activity(), "Not reading along · r: SmolLM2 reads along"),
        (
            activity(Phase.STOPPED, paused_by_user=True),
            "Reading along paused by you · r: SmolLM2 reads along",
        ),
        (
            activity(Phase.STOPPED, pages_read=3, pages_total=9),
            "Not reading along · 3 of ~9 sections read · r: SmolLM2 reads along",
        ),
        (
            activity(Phase.STOPPED, pages_read=9, pages_total=9),
            "The memory is complete: 9 sections",
        ),
        (
            activity(reading=ReadingState.PAUSED, pages_read=3, pages_total=9),
            "Paused · 3 of ~9 sections read · r to resume",
        ),
        (
            activity(reading=ReadingState.DONE, pages_read=9, pages_total=9),
            "The memory is complete: 9 sections",
        ),
        (
            activity(Phase.FAILED, notice="it ended twice"),
            "Stopped: it ended twice · r to resume",
        ),
        (
            activity(reading=ReadingState.FAILED, problem="The disk is full."),
            "Stopped: The disk is full · r to resume · m for another model",
        ),
    ],
)
def test_the_status_line_matches_the_state(now: Activity, words: str) -> None:
    assert " · ".join(status_of(now, "r", "m").parts) == words


def test_no_two_commands_have_one_key() -> None:
    keys = CommandKeys(COMMANDS, {})
    assert keys.changed == {}
    assert keys.problems == []


def test_every_command_is_in_the_help() -> None:
    shown = [entry.command.title for entry in CommandKeys(COMMANDS, {}).help_entries()]
    assert len(shown) == len(set(shown))
    assert set(shown) == {command.title for command in COMMANDS if command.title}


def test_invalid_keys_are_reported_and_valid_ones_used() -> None:
    configured = {"ask": "0", "nothing": "y", "pin": "no+such+key", "marks": "x"}
    keys = CommandKeys(COMMANDS, configured)
    problems = keys.problems
    assert keys.changed == {"ask": "0", "marks": "x"}
    assert len(problems) == 3
    assert "nothing" in problems[0]
    assert "no+such+key" in problems[1]
    assert problems[2] == "[keys] 'x' runs marks: set another key for refuse."


def test_a_key_of_two_changed_commands_is_reported() -> None:
    keys = CommandKeys(COMMANDS, {"ask": "f4", "marks": "f4"})
    assert keys.problems == ["[keys] 'f4' is bound to both ask and marks."]


def memory(pages: int = 2, source: GistSource = GistSource.MODEL) -> GistMemory:
    book = small_book()
    length = len(book.text) // 4
    entries = [
        MemoryEntry(
            Page(number, (number - 1) * length, number * length, 40),
            Gist(f"Gist {number}\nin two lines.", 5, source),
        )
        for number in range(1, pages + 1)
    ]
    return GistMemory(book, PageSize(10, 50), "m", entries)


def test_every_state_of_a_page_is_described() -> None:
    known = memory(source=GistSource.EXTRACTIVE)
    view = View(pinned={1}, refused={1}, here=1)
    *_, block = entry_blocks(known, known.entry(1), view)
    assert block.text == "“Ada Brennan kept the lamp on Skerry Point\u00a0…”"
    assert block.tail == "no gist · ◆ pinned · refused"
    in_own_words = memory()
    *_, block = entry_blocks(in_own_words, in_own_words.entry(1), view)
    assert block.text == "Gist 1 in two lines."
    assert block.tail == "◆ pinned · refused"


def test_an_open_page_shows_the_books_own_words_at_their_offsets() -> None:
    known = memory()
    view = View(opened={2: Opening(OpenedBy.AGENT, "it tells of the boy")})
    header, *body, last = entry_blocks(known, known.entry(2), view)
    assert header.text == "opened for the answer: it tells of the boy"
    assert "end of section 2" in last.text
    page = known.entry(2).page
    of_book = {block.start: block.text for block in body if block.start is not None}
    for start, text in of_book.items():
        assert known.book.text[start : start + len(text)] == text
        assert page.start <= start < page.end
    assert [block.blank_before for block in body] == [0] + [1] * (len(body) - 1)
    joined = "".join(of_book.values())
    assert "".join(joined.split()) == "".join(known.text_of(page).split())


def test_an_open_page_has_no_empty_row_below_who_opened_it() -> None:
    known = memory()
    view = View(opened={1: Opening(OpenedBy.PERSON)})
    _, first, second, *_ = entry_blocks(known, known.entry(1), view)
    assert (first.blank_before, second.blank_before) == (0, 1)


def test_an_open_page_that_the_user_is_in_keeps_its_rail() -> None:
    known = memory()
    view = View(
        opened={2: Opening(OpenedBy.AGENT)},
        here=2,
        note=SectionNote(2, "step 1", "< >"),
    )
    who, reason, keys, *text = entry_blocks(known, known.entry(2), view)
    assert [block.rail for block in (who, reason, keys)] == ["▌"] * 3
    assert {block.rail.strip() for block in text} == {"╎"}


def test_the_title_of_a_chapter_stands_above_its_first_section_with_a_row_of_its_own() -> (
    None
):
    known = memory()
    book = known.book
    rows = memory_rows(known, PlaceInMemory())
    assert [chapter_of(row, book, View()) for row in rows[:2]] == [
        book.chapter_index(row.entry.page.start) for row in rows[:2]
    ]
    unread = replace(rows[0], kind=RowKind.UNREAD)
    assert chapter_of(unread, book, View()) is None
    assert chapter_of(unread, book, View(refused={1})) == 0
    assert chapter_of(replace(unread, last=2), book, View(refused={1})) is None


@pytest.mark.parametrize("kind", [kind for kind in RowKind if kind is not RowKind.GIST])
def test_the_blocks_of_a_row_and_its_note_have_its_key(kind: RowKind) -> None:
    known = memory()
    row = MemoryRow(kind, 2, 2, known.entry(2))
    blocks = row_blocks(known, row, View(note=SectionNote(2, "wanted", "Enter open")))
    assert [block.key for block in blocks] == [key_of(row)] * 3


def test_a_section_shows_no_first_words_while_its_names_are_being_found() -> None:
    known = memory(source=GistSource.EXTRACTIVE)
    entry = known.entry(1)
    (card,) = entry_blocks(known, entry, View(finds_names=True))
    assert card.text == "…"
    behind_the_bound = View(finds_names=True, bound=entry.page.start)
    (card,) = entry_blocks(known, entry, behind_the_bound)
    assert card.text.startswith("“Ada Brennan")


def test_the_section_being_read_and_those_to_come_have_rows() -> None:
    known = memory()
    begun = Page(3, known.read_until, known.read_until + 100, 20)
    place = PlaceInMemory(unread_at=begun.start + 5, begun=begun, reading=True)
    *_, working, unread = memory_rows(known, place)
    assert working == MemoryRow(RowKind.BEING_READ, 3, 3, here=True)
    assert (unread.kind, unread.first) == (RowKind.UNREAD, 4)
    at_end = PlaceInMemory(unread_at=len(known.book.text) - 1)
    last = memory_rows(known, at_end)[-1]
    assert (last.kind, last.here) == (RowKind.UNREAD_HERE, True)
    assert last.last == known.estimated_pages


def test_a_section_that_the_agent_opened_stays_a_gist_beside_the_book() -> None:
    known = memory()
    view = View(opened={1: Opening(OpenedBy.AGENT)}, beside=True)

    def shown() -> str:
        return " ".join(
            block.text for block in entry_blocks(known, known.entries[0], view)
        )

    assert "Ada Brennan kept the lamp" not in shown()
    view.opened[1] = Opening(OpenedBy.PERSON)
    assert "Ada Brennan kept the lamp" in shown()
    view.opened[1], view.beside = Opening(OpenedBy.AGENT), False
    assert "Ada Brennan kept the lamp" in shown()


def test_a_long_reason_stands_below_the_gist_where_it_wraps() -> None:
    known = memory()
    reason = f"it tells of {'the boy and ' * 20}the storm"
    view = View(opened={1: Opening(OpenedBy.AGENT, reason)}, beside=True)
    *_, gist, opened = entry_blocks(known, known.entries[0], view)
    assert (gist.text, gist.tail) == ("Gist 1 in two lines.", "")
    assert opened.text == f"opened for the answer: {reason}"


def test_a_note_on_a_section_tells_its_reason_alone() -> None:
    known = memory()
    opened = {1: Opening(OpenedBy.AGENT, "it tells of the boy")}
    note = SectionNote(1, "step 1 of 2: it tells of the boy", "< > steps")
    for beside in (True, False):
        view = View(opened=opened, beside=beside, note=note)
        shown = " ".join(
            block.text for block in entry_blocks(known, known.entries[0], view)
        )
        assert shown.count("it tells of the boy") == 1


def test_few_sources_are_shown_whole_and_many_in_one_row_each() -> None:
    sentence = (
        "The cat backed into the dish, which fell to the floor with a crash and broke."
    )
    sources = tuple(Citation(1, start, start + 9, sentence) for start in range(3))

    def quotes(count: int) -> list[str]:
        answered = Answered("It broke.", True, sources[:count], (), (), 90.0, NO_USAGE)
        exchange = with_event(
            Exchange(SavedQuestion("What?", "", found=False)), answered
        )
        drawn = exchange_blocks(exchange, 0, Places(100), cells=50).blocks
        return [block.text for block in drawn if "The cat" in block.text]

    assert [sentence in quote for quote in quotes(2)] == [True, True]
    assert [len(quote) < 50 for quote in quotes(3)] == [True] * 3


def test_the_sources_listed_are_those_that_a_digit_key_leads_to() -> None:
    sources = [
        Citation(1, start, start + 9, f"Sentence {start}.") for start in range(11)
    ]
    sources[8] = replace(sources[8], tells="Another answer.")
    answered = Answered("It broke.", True, tuple(sources), (), (), 90.0, NO_USAGE)
    exchange = with_event(Exchange(SavedQuestion("What?", "", found=False)), answered)
    drawn = exchange_blocks(exchange, 0, Places(100))
    listed = [
        key[2] for key in drawn.targets if isinstance(key, tuple) and key[0] == "source"
    ]
    assert listed == list(range(8))
    text, _ = answer_text("It broke.", exchange.record.citations)
    assert text == "It broke. [1] [2] [3] [4] [5] [6] [7] [8]"


def test_an_excerpt_has_all_that_is_cited_also_where_one_source_lies_in_another() -> (
    None
):
    known = memory()
    page = known.entry(1).page
    inner, outer = (page.start + 2, page.start + 6), (page.start, page.end - 2)
    view = View(
        opened={1: Opening(OpenedBy.PERSON)},
        beside=True,
        cited=frozenset({inner, outer}),
    )
    alone = View(
        opened={1: Opening(OpenedBy.PERSON)}, beside=True, cited=frozenset({outer})
    )
    assert excerpt_of(known.book, page, view) == excerpt_of(known.book, page, alone)


def test_the_steps_fold_to_one_line_after_the_answer() -> None:
    exchange = Exchange(SavedQuestion("Who?", "", found=False), running=True)
    for event in (
        Started("r", 9, 9, True),
        LookedUp(3, 1, "the lamp"),
        Noted("A lamp.", 0, 5),
    ):
        exchange = with_event(exchange, event)
    running = exchange_blocks(exchange, 0, Places(100))
    assert [block.text for block in running.blocks] == [
        "Who?",
        "section 3: the lamp",
        "0–5%: A lamp.",
        "…",
    ]
    assert [running.targets[line_key(0, index)] for index in (0, 1)] == [
        ToPage(3),
        ToPlace(0, 5),
    ]
    assert strip_lines(exchange, Places(100), 3, 80) == ["? Who?", "✎ 0–5%: A lamp."]
    assert strip_lines(exchange, Places(100), 1, 80) == ["? Who?"]
    answered = with_event(exchange, Answered("Ada.", True, (), (), (), 90.0, NO_USAGE))
    folded = exchange_blocks(answered, 0, Places(100))
    provenance = "section 3 opened · 1 note"
    assert [block.text for block in folded.blocks] == ["Who?", "Ada.", provenance]
    assert folded.targets["steps", 0] == Unfold()


def test_page_numbers_in_brackets_become_those_of_sources_and_are_links() -> None:
    answer = "A bar is cracked by Hobbs, a rail bent [1]; [x] and [2] are no sources."
    sources = (Citation(14, 0, 4, "rail"),)
    marks = (AnswerMark(20, 25, AnswerMarkKind.NAME, "not in the text"),)
    text, spans = answer_text(answer, sources, marks)
    assert text == (
        "A bar is cracked by Hobbs [not in the text], a rail bent [1]; [x] and [2] are no sources."
    )
    assert [(text[span.start : span.end], span.style, span.link) for span in spans] == [
        ("Hobbs", "underline", None),
        ("[not in the text]", "warning", None),
        ("[1]", "link", ToSource(0)),
    ]
    assert answer_text("A rail is bent.", sources)[0] == "A rail is bent. [1]"
