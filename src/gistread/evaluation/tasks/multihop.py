"""Questions over several paragraphs: HotpotQA (two of ten, Yang et al., 2018), MuSiQue (up to four of twenty, 2022).

HotpotQA's `supporting_facts` name sentences by title and number; a file that has `supporting_titles` alone names
paragraphs. MuSiQue's file `ans` has answerable questions alone; in `full` every other one cannot be answered.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from gistread.evaluation.model import Document
from gistread.evaluation.tasks.passages import Passage, Problem, document
from gistread.evaluation.tasks.records import Record, json_records, whole_number
from gistread.evaluation.tasks.registry import TaskOptions


def load_hotpotqa(path: Path, options: TaskOptions) -> Iterator[Document]:
    for number, record in enumerate(json_records(path), 1):
        yield document(_hotpotqa(record, number), "hotpotqa")


def load_musique(path: Path, options: TaskOptions) -> Iterator[Document]:
    for record in json_records(path):
        yield document(_musique(record), "musique")


def problem(record: Record, number: int) -> Problem:
    """The question of a record of either; `number` is its default identifier. Raises GistreadError."""
    return _musique(record) if "paragraphs" in record else _hotpotqa(record, number)


def _hotpotqa(record: Record, number: int) -> Problem:
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


def _musique(record: Record) -> Problem:
    passages = []
    for paragraph in record.records("paragraphs"):
        text = paragraph.text("paragraph_text")
        supports = paragraph.flag("is_supporting", default=False)
        passages.append(Passage(paragraph.text("title"), text, (text,) if supports else ()))
    if not passages:
        raise record.wrong("`paragraphs` is empty")
    answers = (record.text("answer"), *(record.texts("answer_aliases") if "answer_aliases" in record else ()))
    answerable = record.flag("answerable", default=True)
    return Problem(record.label("id"), record.text("question"), answers, tuple(passages), answerable)
