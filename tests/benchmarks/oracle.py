"""Whether finding or reading limits a model: each question over the passage that tells its answer.

    python3 -m tests.benchmarks.oracle MODEL.gguf --out FILE.jsonl [--sets held] [--kinds why,how]

The passage lies around the `evidence` of `questions_dev.tsv` and `questions_held.tsv`, about 250
words. The model is asked as over a single passage of a long book: a fact in few words, all else by
the kind of question. Each answer is a line of FILE, so a stopped run goes on where it was;
`python3 -m tests.benchmarks.models --show FILE` prints the table again.
"""

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from gistread import prompts
from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.models import find_source, new_engine
from gistread.engine.protocol import Engine, Sampling
from gistread.memory.passages import Passage, sentence_at
from gistread.memory.sizes import unread_memory
from gistread.paths import default_paths
from gistread.readers.absence import says_not_found
from gistread.readers.answering import SHORT_TOKENS, Asking, ReaderOptions
from gistread.readers.kinds import Kind, kind_of
from gistread.readers.model_class import SMALL
from gistread.readers.steering import Steering
from tests.benchmarks.figures import as_text
from tests.benchmarks.models import (
    UNANSWERABLE,
    Asked,
    PlainQuestion,
    is_right,
    novels_of,
    read_outcomes,
    table_of,
)

_AROUND = 600  # Characters before and after the evidence


def passage_around(evidence: str, book: Book) -> Passage:
    """Whole sentences around these words, which may be broken into lines in another way."""
    words = r"\s+".join(map(re.escape, evidence.split()))
    place = re.search(words, book.text)
    assert place is not None, f"{book.title} lacks: {evidence}"
    first = max(0, place.start() - _AROUND)
    last = min(len(book.text) - 1, place.end() + _AROUND)
    return sentence_at(book, first)[0], sentence_at(book, last)[1]


async def ask(
    question: PlainQuestion, book: Book, set_name: str, engine: Engine
) -> Asked:
    """Ask over the passage alone, as the program asks over one passage."""
    start, end = passage_around(question.evidence, book)
    text = book.text[start:end].strip()
    options = ReaderOptions(model=SMALL)
    asking = Asking(question.text, unread_memory(book), engine, Steering(), options)
    is_fact = kind_of(question.text) is Kind.FACT
    prompt = asking.answer_prompt(
        "answer_passages",
        must_answer=is_fact,
        task="task_brief" if is_fact else "",
        text=text,
        opening=prompts.load("opening_part").text,
    )
    most_tokens = SHORT_TOKENS if is_fact else asking.answer_tokens
    began = time.monotonic()
    answer = await asking.complete(prompt, Sampling(most_tokens, repeat_penalty=1.1))
    seconds = round(time.monotonic() - began, 2)
    return Asked(
        set_name,
        question.group,
        question.kind,
        question.text,
        answer.strip(),
        has_answer=not says_not_found(answer),
        score=float(is_right(answer, question.accepted)),
        in_text=is_right(text, question.accepted),
        first_word_s=seconds,
        last_word_s=seconds,
        prefilled=asking.usage.prefilled,
        generated=asking.usage.generated,
        method="oracle",
    )


async def ask_all(
    model: str,
    set_names: Sequence[str],
    kinds: Collection[str],
    threads: int,
    out: Path,
) -> None:
    """Ask what `out` does not have yet, and append each answer to it."""
    known = {(outcome.set, outcome.question) for outcome in read_outcomes(out)}
    engine = new_engine(
        find_source(model), Config(threads=threads or None), default_paths()
    )
    await engine.start()
    try:
        with out.open("a", encoding="utf-8") as lines:
            for set_name in set_names:
                for book, questions in novels_of(set_name):
                    for question in questions:
                        is_known = (set_name, question.text) in known
                        is_wanted = not kinds or question.kind in kinds
                        if is_known or not is_wanted or question.kind == UNANSWERABLE:
                            continue
                        outcome = await ask(question, book, set_name, engine)
                        lines.write(
                            json.dumps(asdict(outcome), ensure_ascii=False) + "\n"
                        )
                        lines.flush()
                        sign = "+" if outcome.score else "-"
                        print(
                            sign,
                            outcome.question,
                            "|",
                            outcome.answer[:120],
                            flush=True,
                        )
    finally:
        await engine.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.benchmarks.oracle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model")
    parser.add_argument("--out", type=Path, metavar="FILE", required=True)
    parser.add_argument("--sets", default="held", help="of: dev, held")
    parser.add_argument(
        "--kinds", default="", help="of questions, such as why,how; all"
    )
    parser.add_argument("--threads", type=int, default=0, help="of the model; usual")
    options = parser.parse_args()
    set_names = options.sets.split(",")
    kinds = set(filter(None, options.kinds.split(",")))
    asyncio.run(ask_all(options.model, set_names, kinds, options.threads, options.out))
    for set_name, of_set in groupby(
        read_outcomes(options.out), key=lambda outcome: outcome.set
    ):
        print(as_text(table_of(f"{options.out.stem}: {set_name}", list(of_set))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
