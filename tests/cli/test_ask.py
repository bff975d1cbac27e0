"""`gistread ask`: the answer on standard output, everything else on standard error."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.cli import decisions
from gistread.cli.model_check import check_results
from gistread.engine.protocol import Rates
from gistread.errors import ExitStatus, UsageError
from gistread.memory.check_results import CheckResult, Worth
from gistread.memory.model import GistMemory
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from gistread.readers.bound import offset_of
from gistread.readers.events import Proposed
from gistread.readers.text import describe_proposed
from gistread.user_data import UserData
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine

SIZE = ("--min-words", "60", "--max-words", "200")
QUESTION = "What did the keeper count?"
SUPPORTED = "He counted the stairs one by one."
SUPPORTED_TOO = "The glass was black."
RELIABLE = CheckResult(Worth.READING, "good for reading", chosen=6, choices=6)


@pytest.fixture
def indexed(run: Run, book: Path, engine: FakeEngine) -> Path:
    assert run("index", book, *SIZE).status == ExitStatus.DONE

    def look_at_page_2_then_stop(prompt: str, options: Sequence[str]) -> int | str:
        return "Page 2" if "Page 2" in options else len(options) - 1

    check_results().save(engine.info.fingerprint, None, RELIABLE)
    engine._chooses = look_at_page_2_then_stop
    engine._says = lambda prompt: "He counted the stairs."
    return book


def memory_of(book: Path) -> GistMemory:
    store, opened = MemoryStore(default_paths().memories), open_book(book)
    return store.load(opened, store.find(opened)[0])


def test_json_is_one_document_with_the_shape_of_the_design(run: Run, indexed: Path) -> None:
    document = run("ask", indexed, QUESTION, "--json").json
    assert set(document) == {
        *("answer", "choice", "found", "citations", "lookups", "steps", "reader", "model", "memory", "usage"),
        *("compression_rate", "context_tokens", "seen", "quoted", "statements", "upto"),
    }
    assert "stairs" in document["answer"]
    assert document["reader"] == "readagent-s"
    assert document["lookups"] == [step["page"] for step in document["steps"] if step["action"] == "look_up"]
    assert document["steps"][-1]["action"] == "stop"
    text = open_book(indexed).text
    for citation in document["citations"]:
        assert text[citation["start"] : citation["end"]] == citation["quote"]
    assert set(document["usage"]) == {"prefilled", "reused", "generated", "seconds"}


def test_a_question_with_options_is_answered_with_one_of_them(run: Run, indexed: Path) -> None:
    options = ["--choice", "nobody", "--choice", "the keeper"]
    document = run("ask", indexed, QUESTION, "--reader", "gists", *options, "--json").json
    assert (document["choice"], document["answer"]) in [(0, "nobody"), (1, "the keeper")]
    refused = run("ask", indexed, QUESTION, "--choice", "nobody")
    assert refused.status == ExitStatus.USAGE
    assert "at least two different options" in refused.err


def test_the_answer_goes_to_stdout_and_the_steps_to_stderr(run: Run, indexed: Path) -> None:
    ran = run("ask", indexed, QUESTION)
    assert ran.out.startswith("He counted the stairs")
    assert "1. page 2" in ran.err
    assert "1. page 2" not in ran.out


def test_events_are_those_of_the_reader(run: Run, indexed: Path) -> None:
    events = run("ask", indexed, QUESTION, "--events").events
    names = [event["event"] for event in events]
    assert names[0] == "started"
    assert "stopped" in names
    assert "".join(event["text"] for event in events if event["event"] == "answer_delta").startswith("He counted")
    assert names[-1] == "answered"


def test_expand_opens_pages_first(run: Run, indexed: Path) -> None:
    document = run("ask", indexed, QUESTION, "--expand", "3", "--max-pages", "0", "--json").json
    assert {"action": "expand", "page": 3} in document["steps"]
    assert document["lookups"] == []


@pytest.mark.parametrize("words", [("--expand", "999"), ("--upto", "page:999")])
def test_an_unknown_page_is_a_usage_error(run: Run, indexed: Path, words: tuple[str, str]) -> None:
    ran = run("ask", indexed, QUESTION, *words)
    assert ran.status == ExitStatus.USAGE
    assert "There is no page 999" in ran.err


def test_nothing_past_the_bound_reaches_the_model(run: Run, indexed: Path, engine: FakeEngine) -> None:
    engine.calls.clear()
    assert run("ask", indexed, QUESTION, "--upto", "page:2").status == ExitStatus.DONE
    assert engine.calls
    for call in engine.calls:
        assert "The Storm" not in call.text
        assert "The Letter" not in call.text


def test_every_form_of_a_bound_is_applied(indexed: Path) -> None:
    memory = memory_of(indexed)
    book = memory.book
    length = len(book.text)
    assert offset_of("100", memory, 0) == 100
    assert offset_of(str(10**9), memory, 0) == length
    assert offset_of("50%", memory, 0) == length // 2
    assert offset_of("page:2", memory, 0) == memory.entry(2).page.end
    assert offset_of("chapter:2", memory, 0) == book.chapters[1].end
    assert offset_of("chapter:the storm", memory, 0) == book.chapters[1].end
    assert offset_of("here", memory, 77) == 77
    assert offset_of("all", memory, 77) is None
    for unknown in ("page:1000", "chapter:9", "chapter:The Ship"):
        with pytest.raises(UsageError):
            offset_of(unknown, memory, 0)


def test_an_answer_stops_at_the_furthest_place_read_unless_told_otherwise(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    book, user_data = open_book(indexed), UserData(default_paths().books)

    def shows_the_storm(*words: str) -> bool:
        engine.calls.clear()
        assert run("ask", indexed, QUESTION, *words).status == ExitStatus.DONE
        return any("The Storm" in call.text for call in engine.calls)

    assert shows_the_storm()  # It has not been read on screen.
    user_data.set_position(book.sha256, 0, read=[(0, book.text.index("The Storm"))])
    assert not shows_the_storm()
    assert "up to your place" in run("ask", indexed, QUESTION).err
    assert shows_the_storm("--upto", "all")
    user_data.set_whole_book(book.sha256, True)
    assert shows_the_storm()
    assert not shows_the_storm("--upto", "here")


def test_a_question_up_to_a_place_before_the_text_says_so(run: Run, indexed: Path) -> None:
    said = "The text begins after this place; `--upto all` asks the whole book."
    assert said in run("ask", indexed, QUESTION, "--upto", "here").err  # Nothing has been read on screen.
    assert said not in run("ask", indexed, QUESTION, "--upto", "50%").err


def test_the_question_is_saved_with_those_of_the_screen(run: Run, indexed: Path) -> None:
    document = run("ask", indexed, QUESTION, "--json").json
    (kept,) = UserData(default_paths().books).questions(open_book(indexed).sha256)
    assert (kept.question, kept.answer, kept.model) == (QUESTION, document["answer"], "fake")
    assert list(kept.lookups) == document["lookups"]


def test_another_model_can_answer_over_the_memory(run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = FakeEngine(name="other", fingerprint="other-1", says=["The stairs, says another."], chooses=lambda *_: -1)
    monkeypatch.setattr("gistread.engine.llama.client.LlamaEngine", lambda path, **options: other)
    assert "another" in run("ask", indexed, QUESTION).out


def test_an_unread_book_is_reported_before_a_model_is_loaded(
    run: Run, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.llama.client.LlamaEngine", None)
    ran = run("ask", book, QUESTION, "--reader", "readagent-s")
    assert ran.status == ExitStatus.FAILED
    assert f"`gistread index '{book}'`" in ran.err
    assert "--index" in ran.err


def test_index_reads_first_and_then_answers(run: Run, book: Path, engine: FakeEngine) -> None:
    ran = run("ask", book, QUESTION, "--index", *SIZE, "--json")
    assert ran.status == ExitStatus.DONE
    assert ran.json["answer"]
    assert memory_of(book).complete


def test_an_empty_question_is_a_usage_error(run: Run, book: Path) -> None:
    assert run("ask", book, " ").status == ExitStatus.USAGE


def test_not_found_by_an_unreliable_model_does_not_count(run: Run, indexed: Path, engine: FakeEngine) -> None:
    nothing = "The book does not say."
    engine._says = lambda prompt: nothing if nothing in prompt else "He counted the stairs."
    asked = ("ask", indexed, QUESTION, "--reader", "gistread", "--json")
    assert run(*asked).json["answer"] == "Not found in the text that was looked at."
    check_results().save(engine.info.fingerprint, None, CheckResult(Worth.SOME, "it guesses", chosen=2, choices=6))
    assert run(*asked).json["answer"] == "He counted the stairs."


def test_an_unsupported_answer_is_replaced_by_quotations(run: Run, indexed: Path, engine: FakeEngine) -> None:
    engine._says = lambda _: "It was Napoleon."
    answer, *quotes = run("ask", indexed, QUESTION, "--reader", "gistread").out.splitlines()
    assert answer == "The model gave no usable answer. The passages closest to the question:"
    assert quotes
    assert all(quote.partition("“")[2].rstrip("”") in " ".join(indexed.read_text().split()) for quote in quotes)


def test_an_unsupported_statement_is_marked(run: Run, indexed: Path, engine: FakeEngine) -> None:
    engine._says = lambda _: f"{SUPPORTED} Napoleon paid Wellington for it. {SUPPORTED_TOO}"
    ran = run("ask", indexed, QUESTION, "--reader", "gistread")
    assert f"{SUPPORTED} Napoleon paid Wellington for it. [Not supported by the text] {SUPPORTED_TOO}\n" in ran.out
    statements = run("ask", indexed, QUESTION, "--reader", "gistread", "--json").json["statements"]
    assert [statement["supported"] for statement in statements] == [True, False, True]
    assert statements[1]["foreign"] == ["Wellington"]
    text = open_book(indexed).text
    for quote in (statement["quote"] for statement in statements if statement["quote"]):
        assert text[quote["start"] : quote["end"]] == quote["quote"]


def test_an_unknown_model_is_reported_before_an_unread_book(run: Run, book: Path) -> None:
    ran = run("ask", book, QUESTION, "--model", "no-such-model")
    assert ran.status == ExitStatus.ENGINE
    assert "no-such-model" in ran.err


def test_quiet_prints_only_the_answer(run: Run, book: Path, engine: FakeEngine) -> None:
    assert run("index", book, "-q").err == ""
    ran = run("ask", book, QUESTION, "--quiet", "--reader", "gists")
    assert (ran.status, ran.err) == (ExitStatus.DONE, "")
    assert ran.out
    assert "gistread: " in run("ask", book, " ", "-q").err


def test_words_of_the_book_are_asked_about_without_a_memory(run: Run, book: Path, engine: FakeEngine) -> None:
    engine._says = lambda prompt: "He counted the stairs."
    passage = "as the sea below went on"
    ran = run("ask", book, "What does this mean?", "--passage", passage, "--reader", "readagent-s")
    assert ran.status == ExitStatus.DONE
    assert ran.out.startswith("He counted the stairs")
    assert "stand at 42 places; asked about the first, in Chapter 1: The Keeper" in ran.err
    assert f"About “{passage}”: What does this mean?" in engine.calls[-1].text
    (saved,) = UserData(default_paths().books).questions(open_book(book).sha256)
    assert saved.question == f"“{passage}”: What does this mean?"
    refused = run("ask", book, "What does this mean?", "--passage", "no such words")
    assert refused.status == ExitStatus.USAGE
    assert "does not have “no such words”" in refused.err
    opened = open_book(book)
    UserData(default_paths().books).set_position(opened.sha256, opened.text.rindex(passage))
    last = opened.chapters[-1].title
    ran = run("ask", book, "What does this mean?", "--passage", passage, "--upto", "all")
    assert f"asked about the one nearest to your place, in {last}" in ran.err


def test_a_long_answer_is_announced_with_a_quick_one(run: Run, indexed: Path, engine: FakeEngine) -> None:
    assert "takes about" not in run("ask", indexed, QUESTION).err
    engine._info = replace(engine.info, rates=Rates(2.0, ((1, 100.0),)))
    ran = run("ask", indexed, QUESTION, "--reader", "graphreader")
    assert re.search(r"graphreader takes about .*\. `--reader dos` takes about ", ran.err)
    assert "takes about" not in ran.out


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A terminal as standard input; what is called with is typed there."""
    person, terminal = os.openpty()
    monkeypatch.setattr("sys.stdin", os.fdopen(terminal))
    yield lambda text: os.write(person, text.encode())
    os.close(person)


def test_every_look_up_is_decided_on_the_terminal(
    run: Run, indexed: Path, typing: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ["no\n", "perhaps\n1\n", "back\n", "+3\n", "\n", ""]
    proposals: list[str] = []

    def format_prompt(proposed: Proposed, length: int) -> str:
        proposals.append(describe_proposed(proposed, length))
        typing(answers[len(proposals) - 1] if len(proposals) <= len(answers) else "\n")
        return decisions.format_prompt(proposed, length)

    monkeypatch.setattr("gistread.cli.ask.format_prompt", format_prompt)
    ran = run("ask", indexed, QUESTION, "--steps", "ask", "--reader", "readagent-s")
    assert ran.status == ExitStatus.DONE
    assert proposals[0] == "Wants page 2: He counted the stairs"
    assert "page 2 refused by you" in ran.err
    assert "Enter a page number, no, back or answer" in ran.err
    assert "page 1, opened by you" in ran.err
    assert "[Enter: answer, a page number, no, back]" in ran.err


def test_a_decision_needs_a_terminal_and_the_setting_none(run: Run, indexed: Path, home: Path) -> None:
    refused = run("ask", indexed, QUESTION, "--steps", "ask")
    assert refused.status == ExitStatus.USAGE
    assert refused.err == "gistread: `--steps ask` needs a terminal: standard input is none.\n"
    config = home / "XDG_CONFIG_HOME" / "gistread" / "config.toml"
    config.write_text(config.read_text() + 'steps = "ask"\n')
    assert run("ask", indexed, QUESTION).status == ExitStatus.DONE
