"""`gistread ask`: the answer on standard output, everything else on standard error."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.cli.ask_template import FIELDS_OF_ALL, FIELDS_OF_ONE
from gistread.cli.models import check_results
from gistread.engine.protocol import NO_USAGE, Completion
from gistread.errors import ExitStatus, UsageError
from gistread.library.indexing import update_index
from gistread.memory.check_results import CheckResult
from gistread.memory.model import GistMemory
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from gistread.readers.bound import offset_of
from gistread.store.model import AskingChoice, BoundChoice
from gistread.store.user_data import UserData
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine

SIZE = ("--min-words", "60", "--max-words", "200")
QUESTION = "What did the keeper count?"
SUPPORTED = "He counted the stairs one by one."
SUPPORTED_TOO = "The glass was black."
RELIABLE = CheckResult(answers=True, abstains=True, line="good for reading")


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


def test_a_template_gets_the_fields_of_the_json(
    run: Run, indexed: Path, tmp_path: Path
) -> None:
    options = (QUESTION, "--reader", "readagent-s")
    document = run("ask", indexed, *options, "--json").json
    assert set(document) | {"question", "title"} == FIELDS_OF_ONE
    template = (
        "{{ title }}: {{ question }} {{ answer }}{% for c in citations %} {{ "
        "c.place }}{% endfor %}"
    )
    ran = run("ask", indexed, *options, "--template", template)
    assert ran.out.startswith(f"The Lamp: {QUESTION} He counted the stairs.")
    assert ran.out.count(" section ") == len(document["citations"]) > 0
    path = tmp_path / "answer.txt"
    path.write_text("{{ answer | upper }}\n{{ citations[0].pages }}")
    ran = run("ask", indexed, *options, "--template", path)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert "answer.txt, line 2: there is no field 'pages'." in ran.err


def test_a_template_gets_the_answer_from_all_books(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    run("books", "--add", book)
    update_index(default_paths())
    engine._says = lambda prompt: SUPPORTED
    document = run("ask", "--all", QUESTION, "--unread", "--json").json
    assert set(document) | {"question"} == FIELDS_OF_ALL
    template = "{{ question }} {{ answer }} {{ citations[0].title }}"
    ran = run("ask", "--all", QUESTION, "--unread", "--template", template)
    assert ran.out == f"{QUESTION} {SUPPORTED} The Lamp\n"


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ answr }}", "--template: there is no field 'answr'."),
        ("{{ answer", "--template, line 1: unexpected end of template"),
        ("answer.txt", "No such file: answer.txt"),
    ],
)
def test_a_wrong_template_is_told_before_a_model_is_asked(
    run: Run, indexed: Path, engine: FakeEngine, template: str, reason: str
) -> None:
    engine._says = lambda prompt: pytest.fail("the model was asked")
    ran = run("ask", indexed, QUESTION, "--template", template)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert reason in ran.err


def test_json_is_one_document_with_the_shape_of_the_design(
    run: Run, indexed: Path
) -> None:
    document = run("ask", indexed, QUESTION, "--reader", "readagent-s", "--json").json
    assert set(document) == {
        "answer",
        "choice",
        "found",
        "citations",
        "lookups",
        "steps",
        "reader",
        "model",
        "memory",
        "usage",
        "compression_rate",
        "context_tokens",
        "seen",
        "quoted",
        "finish",
        "marks",
        "upto",
    }
    assert "stairs" in document["answer"]
    assert document["reader"] == "readagent-s"
    assert document["lookups"] == [
        step["page"] for step in document["steps"] if step["action"] == "look_up"
    ]
    assert document["steps"][-1]["action"] == "stop"
    text = open_book(indexed).text
    for citation in document["citations"]:
        assert text[citation["start"] : citation["end"]] == citation["quote"]
    assert set(document["usage"]) == {"prefilled", "reused", "generated", "seconds"}


def test_a_question_with_options_is_answered_with_one_of_them(
    run: Run, indexed: Path
) -> None:
    choices = ["nobody", "the keeper"]
    options = [word for choice in choices for word in ("--choice", choice)]
    document = run(
        "ask", indexed, QUESTION, "--reader", "readagent-s", *options, "--json"
    ).json
    assert document["answer"] == choices[document["choice"]]
    refused = run("ask", indexed, QUESTION, "--choice", "nobody")
    assert refused.status == ExitStatus.USAGE
    assert "at least two different options" in refused.err


def test_the_answer_goes_to_stdout_and_the_steps_to_stderr(
    run: Run, indexed: Path
) -> None:
    ran = run("ask", indexed, QUESTION, "--reader", "readagent-s")
    assert ran.out.startswith("He counted the stairs")
    assert "① section 2" in ran.err
    assert "① section 2" not in ran.out


def test_the_book_is_asked_as_was_chosen_for_it_unless_an_option_says_otherwise(
    run: Run, indexed: Path
) -> None:
    choice = AskingChoice("readagent-p", max_pages=1)
    UserData(default_paths()).choose_asking(open_book(indexed).sha256, choice)
    own = run("ask", indexed, QUESTION, "--json")
    assert own.json["reader"] == "readagent-p"
    chosen = "readagent-p (`--reader` names another), at most 1 section looked up."
    assert f"Method, as chosen for this book: {chosen}" in own.err
    other = run(
        "ask", indexed, QUESTION, "--reader", "notes", "--max-pages", "2", "--json"
    )
    assert other.json["reader"] == "notes"
    assert "as chosen for this book" not in other.err
    assert run("ask", indexed, QUESTION, "--json").json["reader"] == "readagent-p", (
        "for one run"
    )


def test_events_are_those_of_the_reader(run: Run, indexed: Path) -> None:
    events = run("ask", indexed, QUESTION, "--events").events
    names = [event["event"] for event in events]
    assert names[0] == "started"
    assert "stopped" in names
    assert "".join(
        event["text"] for event in events if event["event"] == "answer_delta"
    ).startswith("He counted")
    assert names[-1] == "answered"


def test_what_a_short_question_sends_to_a_server_is_said(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    sends = re.compile(r"gistread sends about [\d,]+ tokens\.")
    assert not sends.search(run("ask", indexed, QUESTION, "--reader", "gistread").err)
    engine._info = replace(engine.info, is_remote=True)
    assert sends.search(run("ask", indexed, QUESTION, "--reader", "gistread").err)


def test_nothing_past_the_bound_reaches_the_model(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    engine.calls.clear()
    assert (
        run("ask", indexed, QUESTION, "--upto", "section:2").status == ExitStatus.DONE
    )
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
    half = offset_of("50%", memory, 0)
    assert half is not None
    assert book.text[half - 1].isspace(), "no word is cut"
    assert book.text[half : length // 2].isalpha()
    assert offset_of("section:2", memory, 0) == memory.entry(2).page.end
    assert offset_of("page:2", memory, 0) == book.page_start(3)
    assert offset_of("chapter:2", memory, 0) == book.chapters[1].end
    assert offset_of("chapter:the storm", memory, 0) == book.chapters[1].end
    assert offset_of("here", memory, 77) == 77
    assert offset_of("all", memory, 77) is None


def test_a_bound_at_a_chapter_includes_its_parts(indexed: Path) -> None:
    memory = memory_of(indexed)
    book = memory.book
    first, *others = book.chapters
    parts = [replace(chapter, level=2) for chapter in others]
    with_parts = replace(memory, book=replace(book, chapters=(first, *parts)))
    assert offset_of("chapter:1", with_parts, 0) == len(book.text)
    assert offset_of("chapter:1.1", with_parts, 0) == parts[0].end


def test_a_bound_that_the_book_lacks_is_refused(indexed: Path) -> None:
    memory = memory_of(indexed)
    with pytest.raises(UsageError, match="no chapter the strom") as misspelt:
        offset_of("chapter:the strom", memory, 0)
    assert "The Storm" in misspelt.value.hint
    for unknown in (
        "page:1000",
        "section:1000",
        "chapter:9",
        "chapter:1.1",
        "chapter:The Ship",
    ):
        with pytest.raises(UsageError):
            offset_of(unknown, memory, 0)


def test_an_answer_stops_at_the_furthest_place_read_unless_told_otherwise(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    book, user_data = open_book(indexed), UserData(default_paths())

    def shows_the_storm(*words: str) -> bool:
        engine.calls.clear()
        assert run("ask", indexed, QUESTION, *words).status == ExitStatus.DONE
        return any("The Storm" in call.text for call in engine.calls)

    assert shows_the_storm()  # It has not been read on screen.
    user_data.set_position(book.sha256, 0, read=[(0, book.text.index("The Storm"))])
    assert not shows_the_storm()
    assert "up to your place" in run("ask", indexed, QUESTION).err
    assert shows_the_storm("--upto", "all")
    user_data.choose_bound(book.sha256, BoundChoice(whole=True))
    assert shows_the_storm()
    assert not shows_the_storm("--upto", "here")


def test_the_question_is_saved_with_those_of_the_screen(
    run: Run, indexed: Path
) -> None:
    document = run("ask", indexed, QUESTION, "--json").json
    (kept,) = UserData(default_paths()).questions(open_book(indexed).sha256)
    assert (kept.question, kept.answer, kept.model) == (
        QUESTION,
        document["answer"],
        "fake",
    )
    assert list(kept.lookups) == document["lookups"]


def test_an_unread_book_is_reported_before_a_model_is_loaded(
    run: Run, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.llama.client.LlamaEngine", None)
    ran = run("ask", book, QUESTION, "--reader", "readagent-s")
    assert ran.status == ExitStatus.FAILED
    assert f"`gistread index '{book}'`" in ran.err
    assert "--index" in ran.err


def test_index_reads_first_and_then_answers(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    ran = run("ask", book, QUESTION, "--index", *SIZE, "--json")
    assert ran.status == ExitStatus.DONE
    assert ran.json["answer"]
    assert memory_of(book).complete


def test_an_unsupported_answer_of_a_weak_model_is_replaced_by_quotations(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    engine._says = lambda _: "It was Napoleon."
    assert run("ask", indexed, QUESTION, "--reader", "gistread").out.startswith(
        "It was Napoleon [not in the text].\n"
    )
    check_results().save(
        engine.info.fingerprint,
        None,
        CheckResult(answers=False, abstains=True, line="it guesses"),
    )
    answer, *quotes = run(
        "ask", indexed, QUESTION, "--reader", "gistread"
    ).out.splitlines()
    assert (
        answer
        == "The model gave no usable answer. The passages closest to the question:"
    )
    assert quotes
    assert all(
        quote.partition("“")[2].rstrip("”") in " ".join(indexed.read_text().split())
        for quote in quotes
    )


def test_a_name_that_the_text_lacks_is_marked(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    engine._says = lambda _: (
        f"{SUPPORTED} Napoleon paid Wellington for it. {SUPPORTED_TOO}"
    )
    ran = run("ask", indexed, QUESTION, "--reader", "gistread")
    assert (
        f"{SUPPORTED} Napoleon paid Wellington [not in the text] for it. {SUPPORTED_TOO}\n[1] "
        in ran.out
    )
    document = run("ask", indexed, QUESTION, "--reader", "gistread", "--json").json
    (mark,) = document["marks"]
    assert document["answer"][mark["start"] : mark["end"]] == "Wellington"
    assert (mark["kind"], mark["message"]) == ("name", "not in the text")
    text = open_book(indexed).text
    assert document["citations"]
    assert all(
        text[citation["start"] : citation["end"]] == citation["quote"]
        for citation in document["citations"]
    )


def test_all_books_are_asked_and_sources_name_them(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    assert "No books to search.\n" in run("ask", "--all", QUESTION).err
    run("books", "--add", book)
    update_index(default_paths())
    ran = run("ask", "--all", QUESTION)
    assert (ran.status, ran.out) == (ExitStatus.FAILED, "")
    assert ran.err == (
        "gistread: You have begun none of your books.\n1 unread book left out; --unread asks "
        "them too.\n"
    )
    engine._says = lambda prompt: SUPPORTED
    ran = run("ask", "--all", QUESTION, "--unread")
    assert ran.status == ExitStatus.DONE
    assert (
        "  The Lamp: 15 passages, “keeper”, “count”: “The Keeper stood before"
        in ran.err
    )
    assert ran.out.startswith(f"{SUPPORTED}\n[1] The Lamp · ")
    document = run("ask", "--all", QUESTION, "--unread", "--json").json
    assert document["books"][0]["title"] == "The Lamp"
    for cited in document["citations"]:
        assert open_book(book).text[cited["start"] : cited["end"]] == cited["quote"]
    assert run("ask", "--all", QUESTION, "--upto", "40%").status == ExitStatus.USAGE
    assert run("ask", "--all", " ", "--unread").status == ExitStatus.USAGE


def test_a_question_longer_than_the_window_is_called_so(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    engine._info = replace(engine._info, context_tokens=900)
    ran = run("ask", indexed, "and " * 950 + "why?")
    assert ran.status == ExitStatus.ENGINE
    assert "Ask a shorter question" in ran.err


def test_a_cut_answer_says_so_and_continue_goes_on_with_it(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    begun = "She found it missing. Then she"
    engine._says = lambda _: Completion(begun, "length", NO_USAGE)
    first = run("ask", indexed, QUESTION, "--reader", "gistread")
    assert first.out.startswith("She found it missing.")
    assert "Then she" not in first.out
    assert "--continue` goes on" in first.err
    engine._says = lambda _: "She prompted Ferrand."
    engine.calls.clear()
    further = run("ask", indexed, "--continue", "--reader", "gistread")
    assert further.out.startswith("She prompted Ferrand")
    assert "goes on" not in further.err
    prompted = next(call for call in engine.calls if call.kind == "complete")
    assert [message.role for message in prompted.prompt] == [
        "user",
        "assistant",
        "user",
    ]
    assert QUESTION in prompted.prompt[0].content
    assert prompted.prompt[1].content == "She found it missing."


def test_a_whole_answer_cannot_be_continued(run: Run, indexed: Path) -> None:
    run("ask", indexed, QUESTION, "--reader", "gistread")
    whole = run("ask", indexed, "--continue", "--reader", "gistread")
    assert whole.status == ExitStatus.USAGE
    assert "nothing to go on with" in whole.err


def test_a_bound_that_may_have_hidden_the_answer_is_told_also_when_quiet(
    run: Run, indexed: Path, engine: FakeEngine
) -> None:
    answered = run("ask", indexed, QUESTION, "--upto", "60%", "--quiet")
    assert (answered.status, answered.err) == (ExitStatus.DONE, "")
    engine._says = lambda prompt: "The book does not say."
    missing = run("ask", indexed, QUESTION, "--upto", "60%", "--quiet")
    assert "`--upto all` asks the whole book" in missing.err
