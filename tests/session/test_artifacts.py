"""Artifacts that a reader needs are built while nobody asks: once, behind every question."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from gistread.engine.protocol import Priority
from gistread.session import events
from gistread.session.estimate import artifacts_left
from gistread.session.session import Session
from tests.scripted import SteppedEngine
from tests.session.event_log import CONFIG, EventLog, session_on, settle
from tests.tui.books import long_book

FACTS = "atomic facts"
GRAPHREADER = replace(CONFIG, reader="graphreader")


def says(text: str) -> str:
    if FACTS in text:
        return (
            f"- This is paragraph {re.findall('paragraph ([0-9]+)', text)[0]} of the road. | "
            "road; river\n"
        )
    return "The road went on along the river."


def extractions(engine: SteppedEngine) -> Counter[str]:
    """How often the facts of each page were asked for."""
    return Counter(call.text for call in engine.calls if FACTS in call.text)


async def all_built(session: Session, log: EventLog) -> None:
    """The book is read, and nothing is left to build."""
    await log.until(lambda: log.of(events.ReadingEnded))
    await settle(session)
    await log.until(lambda: not session.building)


async def test_artifacts_of_the_reader_are_built_once_after_the_gists_and_stored(
    tmp_path: Path,
) -> None:
    for expected in ({1}, set()):
        engine = SteppedEngine(says=says)
        session, log = session_on(tmp_path, engine, long_book(40), GRAPHREADER)
        await session.use_model("fake")
        await all_built(session, log)
        assert set(extractions(engine).values()) == expected
        assert {call.priority for call in engine.calls if FACTS in call.text} <= {
            Priority.BACKGROUND
        }
        await session.close()


async def test_facts_that_cannot_be_saved_serve_this_session_and_a_notice_says_so(
    tmp_path: Path,
) -> None:
    for config in (replace(CONFIG, reader="gistread"), GRAPHREADER):
        session, log = session_on(
            tmp_path, SteppedEngine(says=says), long_book(40), config
        )
        await session.use_model("fake")
        await all_built(session, log)
        for memory in tmp_path.rglob("*.memory"):
            # where the file would be
            memory.with_suffix(".derived").mkdir(exist_ok=True)
        left = await artifacts_left(session)
        await session.close()
    assert left["facts"].complete
    notices = [notice for notice in log.of(events.Notice) if notice.is_problem]
    assert [notice.text.partition(". ")[2] for notice in notices] == [
        "New summaries and facts are not saved."
    ]


async def test_a_question_goes_first_and_nothing_is_built_twice(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    session, log = session_on(tmp_path, engine, long_book(40), GRAPHREADER)
    await session.use_model("fake")
    await log.until(
        lambda: session.activity.artifact and session.activity.artifact.done > 2
    )
    session.questions.start(session.question("Who walked the road?"))
    await log.until(lambda: log.of(events.QuestionEnded))
    assert not log.of(events.QuestionEnded)[0].problem
    await settle(session)
    await log.until(lambda: not session.building)
    # What was under way when the question came is asked for again, with the question's priority.
    assert (
        sum(count > 1 for count in extractions(engine).values()) <= engine.info.parallel
    )
    assert Priority.INTERACTIVE in {
        call.priority for call in engine.calls if FACTS in call.text
    }
    assert (await artifacts_left(session))["facts"].complete
    await session.close()


async def test_choosing_another_reader_stops_the_artifacts_of_the_first(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine(says=says)
    session, log = session_on(tmp_path, engine, long_book(40), GRAPHREADER)
    await session.use_model("fake")
    await log.until(
        lambda: session.activity.artifact and session.activity.artifact.done
    )
    await session.use_reader("readagent-s")
    assert session.activity.artifact is None
    known = sum(extractions(engine).values())
    await settle(session)
    await log.until(lambda: not session.building)
    assert sum(extractions(engine).values()) == known
    await session.use_reader("graphreader")
    await log.until(lambda: session.activity.artifact is not None)
    assert session.activity.artifact is not None
    assert session.activity.artifact.done > 0
    await session.close()


async def test_building_artifacts_can_be_paused_and_resumed(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    session, log = session_on(tmp_path, engine, long_book(40), GRAPHREADER)
    await session.use_model("fake")
    await log.until(
        lambda: session.activity.artifact and session.activity.artifact.done > 2
    )
    await session.pause()
    paused = session.activity.artifact
    assert paused is not None
    assert (paused.paused, session.building) == (True, False)
    session.resume()
    await settle(session)
    await log.until(lambda: not session.building)
    assert (await artifacts_left(session))["facts"].complete
    assert session.activity.artifact is None
    await session.close()
