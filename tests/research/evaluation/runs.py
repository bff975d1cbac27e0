"""Documents, questions and outcomes of runs, as tests need them."""

from dataclasses import replace
from pathlib import Path

from gistread.engine.protocol import Usage
from research.evaluation.model import Document, Outcome, Question
from research.evaluation.outcomes import AnsweredQuestion
from research.evaluation.tasks.registry import DEFAULT_TASK_OPTIONS, Task, TaskOptions
from tests.memory.books import make_book, prose


def make_document(name: str, questions: int = 2, *, words: int = 240) -> Document:
    """Some pages of invented words, and questions whose answer stands in the first paragraph."""
    seed = sum(name.encode())
    book = make_book([prose(60, seed=seed + i) for i in range(words // 60)], title=name)
    all_questions = tuple(
        Question(
            f"q{i}",
            f"What is w{seed}x{i + 1}?",
            references=(f"w{seed}x{i + 2}",),
            gold_places=((0, 40),),
        )
        for i in range(questions)
    )
    return Document(name, book, all_questions)


def make_task(
    *documents: Document, metrics: tuple[str, ...] = ("f1", "page-recall")
) -> Task:
    def load(
        path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS
    ) -> "list[Document]":
        return list(documents)

    return Task("test", "a test", "nowhere", "none", "none", metrics, load)  # type: ignore[arg-type]


def make_asked(
    document: str, question: str, reader: str, **scores: float
) -> AnsweredQuestion:
    """An outcome with these scores; an underscore stands for a hyphen."""
    outcome = Outcome(
        task="test",
        document=document,
        question=question,
        reader=reader,
        text="Who?",
        answer="Ann \u2028 “and” Bob",
        has_answer=True,
        choice=None,
        lookups=(2, 1),
        seen=((0, 10), (20, 30)),
        citations=((3, 9),),
        context_tokens=100,
        compression_rate=61.5,
        usage=Usage(10, 20, 3, 0.5),
        seconds=1.5,
        events=("1. page 2: why", "enough"),
        scores=tuple(
            (name.replace("_", "-"), float(value)) for name, value in scores.items()
        ),
    )
    return AnsweredQuestion(
        Question(question, "Who?", references=("Ann",), gold_places=((0, 5),)), outcome
    )


def unended(answered: AnsweredQuestion) -> AnsweredQuestion:
    return replace(
        answered,
        outcome=replace(
            answered.outcome, ended=False, answer="", error="It took longer than 1 s."
        ),
    )
