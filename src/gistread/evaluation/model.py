"""What an evaluation is made of: documents with questions whose answers are known, and what a reader made of one.

Data alone. Where tasks come from, how a run goes and what a table shows, this does not know.
"""

from dataclasses import dataclass, field

from gistread.book.model import Book
from gistread.engine.protocol import NO_USAGE, Usage


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a document. Without `references` and `choices` there is nothing that an answer could match."""

    id: str
    """The same from run to run; one of its kind in the document."""
    text: str
    references: tuple[str, ...] = ()
    """Answers that people gave; any of them is right."""
    choices: tuple[str, ...] = ()
    """Of a question with options: all of them, in the order in which they are shown."""
    gold_choice: int | None = None
    """Index of the right one."""
    gold_places: tuple[tuple[int, int], ...] = ()
    """Where in `Document.book.text` the answer stands, as far as the task says: start and end, in order."""
    answerable: bool = True
    """False: the right answer is that the text does not say."""
    cell: tuple[float, float] | None = None
    """Of a needle: length of the text in tokens, and its depth in it from 0 to 1; of two, that of the first."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text and the questions about it."""

    id: str
    """The same from run to run; one of its kind in the task."""
    book: Book
    questions: tuple[Question, ...]
    preset: str = "fiction"
    """What kind of text it is, by the names of the gisting presets."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one reader made of one question, with all that is needed to check it by hand."""

    task: str
    document: str
    question: str
    """Its id."""
    reader: str
    text: str
    """The question as it was asked."""
    answer: str
    """Empty when it did not end."""
    found: bool
    """False: the reader says that the book does not say."""
    choice: int | None
    """Index of the option that was chosen, of a question with options."""
    lookups: tuple[int, ...]
    """Pages the reader asked for, in that order."""
    seen: tuple[tuple[int, int], ...]
    """The text of the book that stood before the model for the answer: start and end, in order."""
    citations: tuple[tuple[int, int], ...]
    context_tokens: int
    """Of book and gists in the prompt of the answer."""
    compression_rate: float
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    ended: bool = True
    error: str = ""
    """Why it did not end, in one line."""
    events: tuple[str, ...] = field(default=())
    """The steps, as the command line tells them."""
    scores: tuple[tuple[str, float], ...] = ()
    """By metric, those that apply."""
