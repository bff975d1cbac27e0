"""HotpotQA with distractors: questions that take two paragraphs, among ten (Yang et al., 2018).

`supporting_facts` name sentences by title and number; a file that has `supporting_titles` alone names paragraphs.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from gistread.evaluation.model import Document
from gistread.evaluation.tasks.passages import Passage, Problem, document
from gistread.evaluation.tasks.records import Record, json_records, whole_number
from gistread.evaluation.tasks.task import DEFAULT_TASK_OPTIONS, TaskOptions


def load_hotpotqa(path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> Iterator[Document]:
    """One document for each question. See `Loader`."""
    for number, record in enumerate(json_records(path), 1):
        yield document(hotpotqa_problem(record, number), "hotpotqa")


def hotpotqa_problem(record: Record, number: int) -> Problem:
    """The question of a record; `number` is its default identifier. Raises GistreadError."""
    facts = _facts(record)
    passages = []
    for item in record.items("context"):
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], list)):
            raise record.wrong("`context` is not a list of titles with sentences")
        title, sentences = item
        numbers = facts.get(title)
        # A few numbers are past the end of their paragraph.
        named = [sentences[n] for n in sorted(numbers) if 0 <= n < len(sentences)] if numbers else []
        text = "".join(sentences)
        passages.append(Passage(title, text, tuple(named) or ((text,) if title in facts else ())))
    if not passages:
        raise record.wrong("`context` is empty")
    id_ = record.label_or(f"question-{number}", "_id", "id")
    return Problem(id_, record.text("question"), (record.text("answer"),), tuple(passages))


def _facts(record: Record) -> dict[str, set[int]]:
    """The numbers of supporting sentences by title; empty for all sentences."""
    facts: dict[str, set[int]] = defaultdict(set)
    if "supporting_facts" in record:
        for fact in record.items("supporting_facts"):
            number = whole_number(fact[1]) if isinstance(fact, list) and len(fact) == 2 else None
            if number is None:
                raise record.wrong(f"`supporting_facts` is not a list of titles and sentence numbers: {fact!r}")
            facts[str(fact[0])].add(number)
    elif "supporting_titles" in record:
        facts.update((title, set()) for title in record.texts("supporting_titles"))
    else:
        raise record.lacks("supporting_facts", "a list")
    return facts
