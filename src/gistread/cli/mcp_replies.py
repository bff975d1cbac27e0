"""What the tools of `gistread mcp` return; clients see these types as JSON schemas. Offsets are in characters.

Without slots: the SDK would take them for default values.
"""

from dataclasses import dataclass

from gistread.readers.recap import RecapSentence
from gistread.store.model import AnswerMark


@dataclass(frozen=True)
class BookListed:
    id: str
    number: int
    title: str
    authors: tuple[str, ...]
    tags: tuple[str, ...]
    words: int | None
    progress: float  # Share read, from 0 to 1
    available: bool


@dataclass(frozen=True)
class ChapterListed:
    number: str
    title: str
    start: int
    end: int


@dataclass(frozen=True)
class Contents:
    id: str
    title: str
    readable: int  # Where the readable text ends
    bounded: bool
    chapters: tuple[ChapterListed, ...]
    sections: int  # Of the gist memory


@dataclass(frozen=True)
class Passage:
    book: str  # Its id
    title: str
    chapter: str
    start: int
    end: int
    text: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Found:
    hits: tuple[Passage, ...]
    total: int


@dataclass(frozen=True)
class Excerpt(Passage):
    next: int | None = None  # Where to go on


@dataclass(frozen=True)
class NameFound:
    name: str
    kind: str
    forms: dict[str, int]  # With the number of mentions
    mentions: int
    first: int
    last: int
    together: dict[str, int]  # People mentioned nearby, and how often
    introduced: tuple[Passage, ...]


@dataclass(frozen=True)
class StorySoFar:
    before: tuple[RecapSentence, ...]
    chapter: str
    told: tuple[RecapSentence, ...]
    people: tuple[str, ...]
    sections: int  # Gists used; 0: the sentences are the chapter's own


@dataclass(frozen=True)
class Answer:
    answer: str
    found: bool  # False: not in the text that was read
    quoted: bool  # The citations are the answer
    marks: tuple[AnswerMark, ...]
    citations: tuple[Passage, ...]
    steps: tuple[str, ...]
    model: str
