"""The story so far against what people wrote, four answers to each story.

The question is "What is the plot of the story?" of SQuALITY (dev). ROUGE against the likest of
them, words, and the share of sentences that the text around their place bears out, by the check of
answers. The gists are sentences of even pages; of a few stories, the model writes gists and
summaries. Then tales, with good gists: `recap_tales`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import mean

from gistread.book.open import open_book
from gistread.memory import tree
from gistread.memory.extractive import extract
from gistread.memory.gisting import wanted_words
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry
from gistread.memory.reading import read_book
from gistread.memory.sizes import PAGE_SIZES, unread_memory
from gistread.memory.writer import MemoryWriter
from gistread.readers.recap import recap
from gistread.readers.support import check
from gistread.words import count_words
from research.evaluation.metrics import ROUGE_KINDS, rouge
from research.evaluation.model import Document
from tests.benchmarks.figures import Finding, Skipped, Table
from tests.benchmarks.recall import DATA, FILES, memory_of
from tests.benchmarks.recap_tales import tales_table
from tests.benchmarks.setting import Setting, engine_over

_FILE = DATA / "squality" / "squality_dev.jsonl"
_QUICK = 3
_MODEL_STORIES = 3
_AROUND = 1_500  # Characters on each side of a sentence's place that bear it out
_COLUMNS = (
    "drawn from",
    "stories",
    *(f"{kind} [%]" for kind in ROUGE_KINDS),
    "words",
    "sentences borne out [%]",
)


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    if not _FILE.exists():
        yield Skipped("the story so far", f"{_FILE} is not there")
        return
    stories = list(islice(_stories(setting.folder), _QUICK if setting.quick else None))
    unread = [(unread_memory(story.book), plots) for story, plots in stories]
    with_gists = [(_with_gists(story), plots) for story, plots in stories]
    rows = [
        _row("the story's own sentences", unread),
        _row("gists, of the pages' sentences", with_gists),
    ]
    if not setting.quick:
        async with engine_over(setting) as engine:
            read: list[tuple[GistMemory, Sequence[str]]] = []
            for story, plots in stories[:_MODEL_STORIES]:
                memory = GistMemory(story.book, PAGE_SIZES["quality"], "model")
                with MemoryWriter(memory, None) as writer:
                    async for _ in read_book(writer, engine):
                        pass
                async for _ in tree.build(memory, engine, whole=True):
                    pass
                read.append((memory, plots))
        rows.append(_row("the model's gists and summaries", read))
        rows.append(
            _row("the pages' sentences, these stories", with_gists[:_MODEL_STORIES])
        )
    yield Table(
        "The story so far at the end of a story (SQuALITY)", _COLUMNS, tuple(rows)
    )
    tales = DATA / FILES["fairytaleqa"]
    if tales.exists():
        yield await asyncio.to_thread(
            tales_table, tales, _QUICK if setting.quick else None
        )
    else:
        yield Skipped("what happened in tales", f"{tales} is not there")


def _stories(folder: Path) -> Iterator[tuple[Document, Sequence[str]]]:
    for number, line in enumerate(_FILE.read_text("utf-8").splitlines()):
        record = json.loads(line)
        path = folder / f"story {number}.txt"
        path.write_text(record["document"], "utf-8")
        plots = [
            response["response_text"]
            for response in record["questions"][0]["responses"]
        ]
        yield Document(str(number), open_book(path), ()), plots


def _with_gists(document: Document) -> GistMemory:
    memory = memory_of(document)

    def entry(original: MemoryEntry) -> MemoryEntry:
        text = extract(memory.text_of(original.page), wanted_words(original.page.words))
        return MemoryEntry(
            original.page, Gist(text, count_words(text), GistSource.EXTRACTIVE)
        )

    memory.entries[:] = map(entry, memory.entries)
    return memory


def _row(
    drawn_from: str, stories: Sequence[tuple[GistMemory, Sequence[str]]]
) -> tuple[str | float, ...]:
    figures = [_figures(memory, plots) for memory, plots in stories]
    return (
        drawn_from,
        float(len(stories)),
        *(mean(column) for column in zip(*figures, strict=True)),
    )


def _figures(memory: GistMemory, references: Sequence[str]) -> tuple[float, ...]:
    story = recap(memory)
    sentences = (*story.before, *story.chapter)
    text = " ".join(sentence.text for sentence in sentences)
    likest = [
        max(rouge(text, reference)[kind] for reference in references)
        for kind in ROUGE_KINDS
    ]
    places = (
        (
            max(0, sentence.start - _AROUND),
            min(len(memory.book.text), sentence.start + _AROUND),
        )
        for sentence in sentences
    )
    borne = [
        all(
            statement.supported
            for statement in check(sentence.text, "", memory, [place])
        )
        for sentence, place in zip(sentences, places, strict=True)
    ]
    return (
        *(100 * share for share in likest),
        float(count_words(text)),
        100 * mean(borne),
    )
