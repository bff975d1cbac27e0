"""No view of a book shows anything from behind the bound.

The views are names, cards, the story so far, and questions. Names that stand only behind the bound
are everywhere there: as people, in titles of chapters, in gists, summaries and facts. The book is
made once; its views are looked at for 50 places.
"""

import random

from gistread.book.model import Book
from gistread.memory import facts, tree
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.people.index import Index
from gistread.readers.introductions import introducing_sentences
from gistread.readers.recap import recap, suggestions
from gistread.store.model import NameCorrection
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book

PLACES = 50
_CHAPTERS = 6
_PEOPLE = ("Ada Brennan", "Tomas", "Mr. Penn", "Dr. Ames", "Mrs. Oake")


def telling_book() -> Book:
    """Of each paragraph, the last names say where it stands.

    `Zed3x2` is first named in the third of chapter 2.
    """
    chapters = []
    for chapter in range(_CHAPTERS):
        person, other = _PEOPLE[chapter % 5], _PEOPLE[(chapter + 2) % 5]
        texts = [f"# The Year of {_name(chapter, 0)}"]
        for number in range(4):
            new = _name(chapter, number)
            texts.append(
                f"{person} was there in March 18{chapter + 10}, and {new} looked at {person}. My "
                f"cousin, {new}, spoke. "
                f'"I know {new}," said {other}, and {new} went to the house. {person} was the same '
                f"as {new}."
            )
        chapters.append(texts)
    return make_book(*chapters, title="The Book of Zed")


def _name(chapter: int, number: int) -> str:
    return f"Zed{'abcdefghijkl'[chapter]}{'abcd'[number]}"


async def read(book: Book) -> GistMemory:
    memory = GistMemory(book, PageSize(50, 150), "fake")
    body = [paragraph for paragraph in book.paragraphs if not paragraph.level]
    for number, paragraph in enumerate(body, start=1):
        start = memory.read_until
        text = " ".join(book.text[paragraph.start : paragraph.end].split()[:24])
        page = Page(number, start, paragraph.end, 40)
        memory.entries.append(MemoryEntry(page, Gist(text, 24, GistSource.MODEL)))
    engine = FakeEngine(
        says=lambda prompt: " ".join(prompt.partition("\n---")[0].split()[-60:])
    )
    async for _ in tree.build(memory, engine, whole=True):
        pass
    async for _ in facts.build(memory, engine):
        pass
    return memory


async def test_no_view_shows_what_stands_behind_the_bound() -> None:
    book = telling_book()
    memory = await read(book)
    index = Index.from_book(book)
    names = [
        _name(chapter, number) for chapter in range(_CHAPTERS) for number in range(4)
    ]
    ends = {name: book.text.index(name) + len(name) for name in names}
    corrections = [
        NameCorrection("merge", ("Tomas",), _name(5, 3)),
        NameCorrection("hide", (_name(5, 0),)),
    ]
    dice = random.Random(7)
    for bound in (dice.randrange(len(book.text)) for _ in range(PLACES)):
        shown = shown_at(bound, memory, index, corrections)
        leaked = [name for name, end in ends.items() if end > bound and name in shown]
        assert not leaked, bound
    whole = index.upto(len(book.text))
    assert set(names) <= {entity.name for entity in whole.entities}


def shown_at(
    bound: int, memory: GistMemory, index: Index, corrections: list[NameCorrection]
) -> str:
    """All that the views show of a book that is known up to here."""
    view = index.upto(bound, corrections)
    known = memory.upto(bound)
    cards = [view.card(entity) for entity in view.entities]
    assert all(len(card.chapters) == len(view.book.chapters) for card in cards)
    quotes = [
        memory.book.text[start:end]
        for card in cards[:12]
        for start, end in introducing_sentences(card.entity, view.book)
    ]
    story = recap(known, corrections)
    assert not story.stopped or story.stopped[1] <= bound
    others = (suggestions(known, corrections), facts.known_facts(known))
    return repr([view.entities, cards, quotes, story, *others])
