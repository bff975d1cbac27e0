"""Valid and invalid command lines."""

import pytest

from gistread.cli.parser import parse
from gistread.errors import ExitStatus
from gistread.readers.bound import Bound, parse_bound
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("words", "command", "book"),
    [
        ([], "read", None),
        (["book.txt"], "read", "book.txt"),
        (["./index"], "read", "./index"),
        (["sampler.txt"], "read", "sampler.txt"),
        (["-"], "read", "-"),
        (["--model", "m", "book.txt"], "read", "book.txt"),
        (["book.txt", "--model", "m"], "read", "book.txt"),
        (["index", "book.txt"], "index", "book.txt"),
        (["index", "index"], "index", "index"),
        (["ask", "-", "Who?"], "ask", "-"),
        (["pages", "ask"], "pages", "ask"),
    ],
)
def test_a_first_word_is_a_command_or_a_book(
    words: list[str], command: str, book: str | None
) -> None:
    arguments = parse(words)
    assert (arguments.command, arguments.book) == (command, book)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("12000", Bound("offset", 12000)),
        ("0", Bound("offset", 0)),
        ("40%", Bound("percent", 40)),
        ("12.5%", Bound("percent", 12.5)),
        ("section:12", Bound("section", 12)),
        ("chapter:3.1", Bound("chapter", "3.1")),
        ("chapter:The Storm", Bound("chapter", "The Storm")),
        ('chapter:"The Storm"', Bound("chapter", "The Storm")),
        ("here", Bound("here")),
        ("all", Bound("all")),
    ],
)
def test_upto_takes_an_offset_a_share_a_page_or_a_chapter(
    text: str, bound: Bound
) -> None:
    assert parse_bound(parse(["ask", "b", "q", "--upto", text]).upto) == bound


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ask", "b", "q", "--upto", bound], "not a place in a book")
        for bound in (
            "",
            "x",
            "-3",
            "101%",
            "%",
            "nan%",
            "inf%",
            "page:0",
            "page:x",
            "chapter:",
            "1.5",
            "12 %%",
        )
    ]
    + [
        (["index"], "required: BOOK"),
        (["ask", "-"], "The question is empty."),
        (["index", "b", "--max-words", "1"], "'1' is not a whole number of at least 2"),
        (["index", "b", "--min-words", "many"], "'many' is not a whole number"),
        (["index", "b", "--context", "100"], "at least 256"),
        (["search", "b", "words", "--regex", "--ranked"], "not allowed with"),
        (["index", "b", "--reading", "fast"], "invalid choice: 'fast'"),
        (["index", "b", "--colour"], "Unrecognized arguments: --colour"),
        (["index", "b", "--max"], "Unrecognized arguments: --max"),
        (["models", "use"], "required: NAME"),
        (["models", "--jsonn"], "Unrecognized arguments: --jsonn"),
        (["models", "fetch"], "invalid choice: 'fetch'"),
        (["indx", "b"], "Did you mean `gistread index`?"),
        (["--model", "starter", "ask", "b", "Who?"], "ask is a command, and comes"),
        (["help", "indx"], "Did you mean index?"),
        (["help", "nothing"], "nothing is not a command."),
        (["book.txt", "--limit"], "See `gistread --help`."),
        (["a.txt", "b.txt"], "Unrecognized arguments: b.txt"),
    ],
)
def test_a_wrong_command_line_is_two_lines_and_status_2(
    run: Run, words: list[str], message: str
) -> None:
    ran = run(*words)
    assert ran.status == ExitStatus.USAGE
    assert message in ran.err
    assert ran.out == ""
    assert ran.err.count("\n") <= 2


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["index"],
        ["ask"],
        ["pages"],
        ["books"],
        ["sample"],
        ["models"],
        ["paths"],
        ["last"],
        ["serve"],
        ["keys"],
        ["completion"],
    ],
)
def test_every_command_has_help_with_an_example(run: Run, command: list[str]) -> None:
    ran = run(*command, "--help")
    assert ran.status == ExitStatus.DONE
    assert "examples:" in ran.out
    assert "gistread" in ran.out.partition("examples:")[2]
    assert ran.err == ""


@pytest.mark.parametrize("word", ["--version", "-V", "version"])
def test_version(run: Run, word: str) -> None:
    ran = run(word)
    assert (ran.status, ran.err) == (ExitStatus.DONE, "")
    assert ran.out.startswith("gistread 0")


@pytest.mark.parametrize(
    "words",
    [
        ["people", "b", "a", "c", "--all"],
        ["people", "b", "--all", "a", "c"],
        ["people", "--all", "b", "a", "c"],
        ["people", "b", "a", "--all", "c"],
    ],
)
def test_options_may_stand_between_arguments(words: list[str]) -> None:
    arguments = parse(words)
    assert (arguments.book, arguments.name, arguments.all) == ("b", ["a", "c"], True)


def test_a_mistyped_option_gets_a_hint(run: Run) -> None:
    assert "Put -- before a name" in run("pages", "a.txt", "--colour").err


@pytest.mark.parametrize("command", ["books", "mcp", "search", "models"])
def test_prose_of_help_wraps_at_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    prose = [
        line
        for line in run("help", command).out.splitlines()
        if not line.startswith((" ", "usage:"))
    ]
    assert max(map(len, prose)) <= 60
