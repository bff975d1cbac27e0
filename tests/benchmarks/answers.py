"""What becomes of the answers of a model that reads well: kept, marked, cited.

The model behind the server is unchecked, as every server's. It gives each answer of `answers.toml`
twice: as it is, and with the number of a passage that tells it, which the prompt asks for. Where
the program is in doubt which sentence tells an answer, and asks, the model names one that does, if
it is offered.
"""

import tomllib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gistread import Session, open_book
from gistread.book.model import Book
from gistread.config import Config
from gistread.paths import Paths
from gistread.session.questions import Answer
from tests.benchmarks.figures import Finding, Skipped, Table, Target
from tests.benchmarks.recall import DATA as BOOKS
from tests.benchmarks.setting import Setting
from tests.engine.remote.server import Kind, Server
from tests.replies import Prepared, folded

PAIRS = Path(__file__).with_suffix(".toml")
DATA = BOOKS
_WINDOW = 32_768


@dataclass
class _Counts:
    fair: int = 0
    lost: int = 0
    marked: int = 0
    first: int = 0
    first_cited: int = 0
    wrong: int = 0
    caught: int = 0

    def row(self, name: str) -> tuple[str | float, ...]:
        shares = (
            self.marked / self.fair,
            self.first / self.fair,
            self.first_cited / self.fair,
            self.caught / self.wrong,
        )
        return (
            name,
            float(self.fair),
            float(self.lost),
            *(100 * share for share in shares),
        )


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    stories = tomllib.loads(PAIRS.read_text("utf-8"))["story"][
        :: 5 if setting.quick else 1
    ]
    if not all((DATA / story["file"]).exists() for story in stories):
        yield Skipped("answers", f"the books of {PAIRS.name} are not in {DATA}")
        return
    both, parts = _Counts(), {"": _Counts(), "held_": _Counts()}
    for story in stories:
        book = story_of(story["file"], story["chapter"], setting.folder)
        for part, counts in parts.items():
            fair, wrong = (story.get(f"{part}{kind}", ()) for kind in ("fair", "wrong"))
            if fair:
                await _ask(book, fair, wrong, setting.folder, (counts, both))
    columns = (
        "pairs",
        "fair",
        "lost",
        "marked [%]",
        "first citation right [%]",
        "with numbers [%]",
        "wrong marked [%]",
    )
    rows = (parts[""].row("made with"), parts["held_"].row("held"), both.row("all"))
    yield Table("Fair and wrong answers of a model that reads well", columns, rows)
    yield Target("fair answers lost or replaced", float(both.lost), at_most=0.0)
    yield Target(
        "fair answers with a mark [%]", 100 * both.marked / both.fair, at_most=1.0
    )
    yield Target(
        "first citation right, passages numbered [%]",
        100 * both.first_cited / both.fair,
        at_least=85.0,
    )
    yield Target(
        "wrong answers marked [%]", 100 * both.caught / both.wrong, at_least=85.0
    )


def story_of(file: str, chapter: str, folder: Path) -> Book:
    """One chapter as a book of its own."""
    book = open_book(DATA / file)
    titles = [each.title for each in book.chapters]
    index = next(index for index, title in enumerate(titles) if chapter in title)
    ends = [*(each.start for each in book.chapters), len(book.text)]
    path = folder / f"{folded(chapter).replace(' ', '-')}.txt"
    path.write_text(book.text[ends[index] : ends[index + 1]], "utf-8")
    return open_book(path)


async def _ask(
    book: Book,
    fair: Sequence[Sequence[str]],
    wrong: Sequence[Sequence[str]],
    folder: Path,
    all_counts: Sequence[_Counts],
) -> None:
    telling = {question: tell for question, _, tell in fair}
    prepared = Prepared(
        {question: answer for question, answer, _ in (*fair, *wrong)}, telling
    )
    cited = replace(prepared, cites=True)
    async with Server(Kind(obeys=(), entry={"max_model_len": _WINDOW})) as server:
        paths = Paths(*(folder / name for name in ("config", "data", "cache", "state")))
        async with Session(
            book, model=server.url, config=Config(), paths=paths
        ) as session:
            for question, answer, tell in fair:
                server.says = prepared
                plain = await session.ask(question)
                server.says = cited
                numbered = await session.ask(question)
                for counts in all_counts:
                    counts.fair += 1
                    counts.lost += plain.text != answer or not numbered.text.startswith(
                        answer
                    )
                    counts.marked += bool(plain.marks or numbered.marks)
                    counts.first += _tells(plain, tell)
                    counts.first_cited += _tells(numbered, tell)
            server.says = prepared
            for question, _, words in wrong:
                claim = await session.ask(question)
                start = claim.text.find(words)
                caught = any(
                    mark.start < start + len(words) and start < mark.end
                    for mark in claim.marks
                )
                for counts in all_counts:
                    counts.wrong += 1
                    counts.caught += caught


def _tells(answer: Answer, tell: str) -> bool:
    """Whether the first citation has the words that tell the answer."""
    return bool(answer.citations) and any(
        folded(words) in folded(answer.citations[0].quote) for words in tell.split("|")
    )
