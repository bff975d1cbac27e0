"""Whether the first source of an answer tells it, and the tokens of a question, for each reader.

`python3 -m tests.benchmarks.sources [--tree PATH]… [--reader NAME]… [--statements NAME]`, where
each PATH is a checkout, as `git worktree add` makes one. A scripted reader behind a server
(`capable.py`) gives the answers of `sources.toml` about tales of about 2,000 words (`--statements
answers`: those of `answers.toml`). Gists and other artifacts are built before and do not count.
Tokens are counted by `tests.fake_engine.tokens_in`; what a prompt shares with an earlier one of the
question is evaluated once.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import tomllib
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gistread.readers.thread import REFERENCE
from tests.benchmarks.answers import DATA, story_of
from tests.benchmarks.capable import CapableReader
from tests.engine.remote.server import Kind, Server
from tests.replies import folded

_HERE = Path(__file__).parents[2]
READERS = (
    "gistread",
    "readagent-p",
    "readagent-s",
    "memwalker",
    "graphreader",
    "longagent",
    "notes",
)
_WINDOW = 32_768
# Opens a book or asks a question, as each line of JSON from the benchmark says
_ASK = """
import asyncio, json, sys
from pathlib import Path
from gistread import Config, Paths, Session, open_book

async def main():
    url, folder = sys.argv[1], Path(sys.argv[2])
    paths = Paths(*(folder / name for name in ("config", "data", "cache", "state")))
    session = None
    for line in iter(sys.stdin.readline, ""):
        order = json.loads(line)
        reply = {}
        if "book" in order:
            if session:
                await session.close()
            session = Session(open_book(order["book"]), model=url, config=Config(), paths=paths)
            await session.__aenter__()
            await session.read()
        else:
            answer = await session.ask(order["question"], reader=order["reader"])
            reply = {"answer": answer.text, "quotes": [each.quote for each in answer.citations]}
        print(json.dumps(reply), flush=True)
    await session.close()

asyncio.run(main())
"""


@dataclass(slots=True)
class Counts:
    """Of one reader of one tree."""

    questions: int = 0
    answered: int = 0
    first_tells: int = 0
    prefilled: int = 0
    generated: int = 0

    def line(self, name: str, first: "Counts") -> str:
        tokens = self.prefilled + self.generated
        others = first.prefilled + first.generated
        return (
            f"  {name:12} answered {self.answered} of {self.questions}, first source tells "
            f"{self.first_tells}, prefilled {self.prefilled / self.questions:,.0f}, decoded "
            f"{self.generated / self.questions:,.0f} a question, {tokens / others - 1:+.1%}"
        )


class Tree:
    """A process with the program of one checkout, asked through a server of its own."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.reader = CapableReader()
        self._folder = folder
        self._server = Server(
            Kind(obeys=(), entry={"max_model_len": _WINDOW}), self.reader
        )
        self._process: Process

    async def start(self) -> None:
        await self._server.open()
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.path / "src"),
            "PYTHONHASHSEED": "0",
        }
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _ASK,
            self._server.url,
            self._folder,
            env=environment,
            stdin=PIPE,
            stdout=PIPE,
            limit=2**20,
        )

    async def close(self) -> None:
        self._process.stdin.close()
        await self._process.wait()
        await self._server.close()

    async def order(self, **order: str) -> Any:
        """What the process replies. Raises ValueError if it ended."""
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        return json.loads(await self._process.stdout.readline())


async def measure(
    tree: Tree, stories: Sequence[Any], readers: Sequence[str], folder: Path
) -> dict[str, Counts]:
    counts = {name: Counts() for name in readers}
    await tree.start()
    for story in stories:
        book = folder / f"{folded(story['chapter']).replace(' ', '-')}.txt"
        await tree.order(book=str(book))
        for name in readers:
            first, *_ = story["fair"]
            tree.reader.ask(*first)
            await tree.order(reader=name, question=first[0])  # Builds artifacts
            for question, answer, tell in story["fair"]:
                tree.reader.ask(question, answer, tell)
                reply = await tree.order(reader=name, question=question)
                _count(counts[name], tree.reader, reply)
    await tree.close()
    return counts


def _count(counts: Counts, reader: CapableReader, reply: Any) -> None:
    counts.questions += 1
    counts.answered += folded(reader.answer) in folded(
        REFERENCE.sub("", reply["answer"])
    )
    first = folded(reply["quotes"][0]) if reply["quotes"] else ""
    counts.first_tells += any(words in first for words in reader.tell)
    counts.prefilled += reader.tokens.prefilled
    counts.generated += reader.tokens.generated


async def compare(
    trees: Sequence[Path], stories: Sequence[Any], readers: Sequence[str]
) -> None:
    first: dict[str, Counts] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for story in stories:
            story_of(story["file"], story["chapter"], folder)
        for number, path in enumerate(trees):
            counts = await measure(
                Tree(path, folder / str(number)), stories, readers, folder
            )
            first = first or counts
            print(path)
            for name, of_reader in counts.items():
                print(of_reader.line(name, first[name]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", action="append", default=[], type=Path)
    parser.add_argument("--reader", action="append", default=[], choices=READERS)
    parser.add_argument(
        "--statements", default="sources", choices=("sources", "answers")
    )
    parser.add_argument("--stories", type=int)
    options = parser.parse_args()
    file = Path(__file__).with_name(f"{options.statements}.toml")
    stories = tomllib.loads(file.read_text("utf-8"))["story"][: options.stories]
    for story in stories:
        story["fair"] = [*story.get("fair", ()), *story.get("held_fair", ())]
    if not all((DATA / story["file"]).exists() for story in stories):
        raise SystemExit(f"The books of {file.name} are not in {DATA}")
    asyncio.run(compare([_HERE, *options.tree], stories, options.reader or READERS))


if __name__ == "__main__":
    main()
