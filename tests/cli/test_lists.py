"""Every item of a list, a count or a plot that a model tells reaches the user.

The model behind the server reads as a capable one does: it lists the items that stand in front of
it, as bullets, numbers, a table or a sentence.
"""

import asyncio
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.benchmarks.recall import DATA as ALL_DATA
from tests.cli.conftest import Run
from tests.engine.remote.server import Kind, RecordedRequest, Server
from tests.replies import folded

DATA = ALL_DATA / "books"
STORIES = tomllib.loads(Path(__file__).with_name("lists.toml").read_text("utf-8"))[
    "story"
]
QUESTIONS = [
    pytest.param(story["file"], question, items, id=question[:40])
    for story in STORIES
    for question, items in story["questions"]
]
FORMS = ("bullets", "numbers", "table", "sentence", "bold")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not DATA.exists(), reason="the books of the test data are not here"
    ),
]


@dataclass
class Reader:
    """Lists the items of the question that the text in front of it tells."""

    items: dict[str, str] = field(default_factory=dict)  # With the words that tell each
    form: str = "bullets"
    has_answered: bool = False

    def __call__(self, request: RecordedRequest) -> str:
        before, _, task = request.text.rpartition("\n---\n")
        if "tells this answer?" in task:
            return "1"
        if "Nothing new" in task:
            notes, _, text = before.partition("\n---\n")
            new = [
                item for item in self._items_in(text) if item not in f"{notes}\n{task}"
            ]
            return "\n".join(f"- {item}" for item in new) or "Nothing new."
        self.has_answered = True
        return written(self._items_in(before), self.form)

    def _items_in(self, text: str) -> list[str]:
        """The items that a text, or a note on it, tells."""
        shown = folded(text)
        return [
            item
            for item, words in self.items.items()
            if folded(words) in shown or folded(item) in shown
        ]


def written(items: list[str], form: str) -> str:
    """A list as a model writes it."""
    match form:
        case "bullets":
            return "\n".join(["There are these:", "", *(f"- {item}" for item in items)])
        case "numbers":
            return "\n".join(
                f"{number}. {item}" for number, item in enumerate(items, 1)
            )
        case "table":
            rows = (f"| {number} | {item} |" for number, item in enumerate(items, 1))
            return "\n".join(["| # | What |", "|---|---|", *rows])
        case "sentence":
            return f"There are {len(items)} in all: {', '.join(items)}."
        case _:
            return "\n".join(f"* **{item}**: told by the story." for item in items)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server in a loop of its own: the command line runs another."""
    server = Server(Kind(obeys=(), entry={"max_model_len": 32_768}))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.open(), loop).result()
    yield server
    asyncio.run_coroutine_threadsafe(server.close(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_there_are_forty_questions_about_six_stories() -> None:
    assert len(STORIES) == 6
    assert len(QUESTIONS) == 40


@pytest.mark.parametrize(("file", "question", "listed"), QUESTIONS)
def test_every_item_arrives(
    run: Run, server: Server, file: str, question: str, listed: list[str]
) -> None:
    book = DATA / file
    pairs = [item.partition("|") for item in listed]
    items = {item: words or item for item, _, words in pairs}
    number = next(at for at, param in enumerate(QUESTIONS) if question in param.values)
    reader = Reader(items, FORMS[number % len(FORMS)])
    server.says = reader
    printed = run("ask", book, question, "--upto", "all", "--model", server.url)
    assert printed.status == 0, printed.err
    assert reader.has_answered
    assert missing(items, printed.out) == [], printed.err
    document = run(
        "ask", book, question, "--upto", "all", "--model", server.url, "--json"
    ).json
    assert missing(items, document["answer"]) == []
    exported = run("export", book).out
    assert missing(items, exported) == []


def missing(items: dict[str, str], text: str) -> list[str]:
    return [item for item in items if folded(item) not in folded(text)]
