"""How much of what holds the answer is found by meaning: gold pages by an embedding model, against those by words.

Takes the only embedding model on this machine; questions and pages are those of `recall.py`, and so is `--quick`.
"""

import itertools
from collections.abc import AsyncIterator

from gistread.engine.llama.embedder import LlamaEmbedder
from gistread.engine.models import find_embedding_model
from gistread.engine.protocol import TextKind
from gistread.errors import EngineError
from gistread.evaluation.model import pages_with
from gistread.evaluation.tasks.registry import TASKS
from gistread.memory.vectors import Vectors, build
from gistread.readers.gistread import rank
from gistread.search.ranked import Ranker
from tests.benchmarks.figures import Finding, Skipped
from tests.benchmarks.recall import AIMED, DATA, FILES, Values, even_pages, memory_of, table_of
from tests.benchmarks.setting import Setting

_AT = (1, 3, 5)


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    try:
        embedder = LlamaEmbedder(find_embedding_model("", "dense"))
        name = (await embedder.start()).name
    except EngineError as error:
        yield Skipped("gold pages by meaning", error.message)
        return
    try:
        for task in AIMED:
            if not (DATA / FILES[task]).exists():
                yield Skipped(f"gold pages of {task}", f"{DATA / FILES[task]} is not there")
                continue
            documents = list(itertools.islice(TASKS[task].load(DATA / FILES[task]), 2 if setting.quick else None))
            recalls: dict[tuple[str, int], Values] = {}
            for document in documents:
                memory, pages = memory_of(document), even_pages(document)
                found = [event async for event in build(memory, embedder)][-1]
                assert isinstance(found, Vectors)
                by_words = Ranker([document.book.text[start:end] for start, end in pages], document.book.language)
                questions = [question for question in document.questions if question.gold_places]
                asked = await embedder.embed([question.text for question in questions], TextKind.QUERY)
                for question, query in zip(questions, asked.vectors, strict=True):
                    scores = found.page_scores(query)
                    ways = {
                        "bm25": [index + 1 for index in by_words.top(question.text, len(pages))],
                        "gistread": rank(question.text, memory).pages,
                        "dense": sorted(scores, key=lambda number: -scores[number]),
                    }
                    gold = pages_with(question.gold_places, pages)
                    for (way, ranked), most in itertools.product(ways.items(), _AT):
                        share = len(gold & set(ranked[:most])) / len(gold)
                        recalls.setdefault((way, most), {})[document.id, question.id] = share
            yield table_of(f"gold pages by meaning with {name}, {task}", "pages", "bm25", recalls, documents)
    finally:
        await embedder.close()
