"""Questions about paragraphs of Wikipedia: SQuAD, XQuAD (Rajpurkar et al., 2018), HotpotQA (2018), MuSiQue (2022).

SQuAD's articles are documents; half of the questions of 2.0 have no answer. HotpotQA takes two of ten paragraphs:
`supporting_facts` names sentences by title and number, `supporting_titles` paragraphs. MuSiQue takes up to four of
twenty; in its file `full` every other question cannot be answered.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gistread.book.builder import BookBuilder
from gistread.book.sentences import sentence_spans
from gistread.evaluation.model import Document, Place, Question
from gistread.evaluation.tasks.passages import PRESET, Passage, Problem, add_text, document
from gistread.evaluation.tasks.records import Record, distinct, json_document, json_records, references, whole_number
from gistread.evaluation.tasks.registry import TaskOptions

_XQUAD = re.compile(r"xquad\.(?P<language>[a-z]{2})\.json", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Paragraph:
    title: str  # The article's title
    text: str
    asked: tuple[Problem, ...]


def load_squad(path: Path, options: TaskOptions) -> Iterator[Document]:
    for title, paragraphs in squad_articles(path):
        builder = BookBuilder()
        found: list[tuple[Problem, Place]] = []
        for paragraph in paragraphs:
            place = add_text(builder, paragraph.text)
            found += [(asked, place) for asked in paragraph.asked if place]
        book = builder.build(title=title, language=language_of(path), source_format="squad")
        ids = distinct(asked.id for asked, _ in found)
        questions = tuple(_question(id_, asked, place) for id_, (asked, place) in zip(ids, found, strict=True))
        yield Document(title, book, questions, preset=PRESET)


def squad_articles(path: Path) -> Iterator[tuple[str, list[Paragraph]]]:
    for article in json_document(path).records("data"):
        title = article.text("title").replace("_", " ").strip()
        paragraphs = [_paragraph(record, title) for record in article.records("paragraphs")]
        if not any(paragraph.text.strip() and paragraph.asked for paragraph in paragraphs):
            raise article.wrong("no paragraph has a question")
        yield title, paragraphs


def language_of(path: Path) -> str:
    """English, or the language in the name of an XQuAD file."""
    named = _XQUAD.fullmatch(path.name)
    return named["language"].lower() if named else "en"


def _paragraph(record: Record, title: str) -> Paragraph:
    text = record.text("context")
    return Paragraph(title, text, tuple(_problem(qa, title, text) for qa in record.records("qas")))


def _problem(qa: Record, title: str, text: str) -> Problem:
    answers: list[str] = []
    support: tuple[str, ...] = ()
    for answer in qa.records("answers"):
        said, start = answer.text("text"), answer.number("answer_start")
        if not said.strip():
            raise answer.wrong("`text` is empty")
        if text[start : start + len(said)] != said and (start := text.find(said)) < 0:  # some offsets are wrong
            raise answer.wrong(f"{said!r} is not in `context`")
        end = start + len(said)
        support = support or tuple(text[a:b] for a, b in sentence_spans(text) if a < end and start < b)
        answers.append(said)
    answerable = not qa.flag("is_impossible", default=False)
    if answerable and not answers:
        raise qa.wrong("`answers` is empty")
    passage = Passage(title, text, support)
    return Problem(qa.label("id"), qa.text("question").strip(), tuple(answers), (passage,), answerable)


def _question(id_: str, asked: Problem, place: Place) -> Question:
    if not asked.answerable:
        return Question(id_, asked.question, answerable=False)
    return Question(id_, asked.question, references=references(asked.answers), gold_places=(place,))


def load_hotpotqa(path: Path, options: TaskOptions) -> Iterator[Document]:
    for number, record in enumerate(json_records(path), 1):
        yield document(_hotpotqa(record, number), "hotpotqa")


def load_musique(path: Path, options: TaskOptions) -> Iterator[Document]:
    for record in json_records(path):
        yield document(_musique(record), "musique")


def problem(record: Record, number: int) -> Problem:
    """Parse a record of HotpotQA or MuSiQue; `number` is the default identifier. Raises GistreadError."""
    return _musique(record) if "paragraphs" in record else _hotpotqa(record, number)


def _hotpotqa(record: Record, number: int) -> Problem:
    facts: dict[str, set[int]] = defaultdict(set)
    if "supporting_facts" in record:
        for fact in record.items("supporting_facts"):
            at = whole_number(fact[1]) if isinstance(fact, list) and len(fact) == 2 else None
            if at is None:
                raise record.wrong(f"`supporting_facts` is not a list of titles and sentence numbers: {fact!r}")
            facts[str(fact[0])].add(at)
    elif "supporting_titles" in record:
        facts.update((title, set()) for title in record.texts("supporting_titles"))
    else:
        raise record.lacks("supporting_facts", "a list")
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
