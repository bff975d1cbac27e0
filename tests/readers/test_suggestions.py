"""Questions to begin with: from the names near a place, and nothing from behind it."""

import re

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.memory.model import GistMemory, PageSize
from gistread.people.index import index_of
from gistread.people.telling import telling_sentences
from gistread.readers.recap import suggestions
from gistread.sample import story_path
from tests.memory.books import make_book
from tests.readers.memories import make_memory

CALM = (
    "The wind went round to the north that night, and the gulls cried over the grey water as "
    "they always did. "
) * 4
STORY = (
    CALM,
    (
        "On Monday Mrs. Quill met Ferrand in Saltness. The keeper of the lamp, Mrs. Quill, said "
        "nothing to Ferrand."
    ),
    "Then Ferrand walked to Saltness, and Mrs. Quill saw Ferrand from the tower.",
)
SECRET = CALM + "And there stood Rosebud. " + "Nobody had seen Rosebud before. " * 6


def known(book: Book, upto: int | None = None) -> GistMemory:
    memory = GistMemory(book, PageSize(50, 150), "")
    return memory if upto is None else memory.upto(upto)


def test_they_are_about_the_names_near_the_place() -> None:
    questions = suggestions(known(make_book(STORY)))
    assert questions == (
        "Who is Ferrand?",
        "Who is Mrs. Quill?",
        "What has happened so far?",
    )


def test_nothing_behind_the_bound_is_suggested() -> None:
    book = make_book([*STORY, SECRET])
    assert any("Rosebud" in suggestion for suggestion in suggestions(known(book)))
    assert not any(
        "Rosebud" in suggestion
        for suggestion in suggestions(known(book, book.text.index(SECRET)))
    )
    memory = make_memory()
    bound = memory.entry(2).page.end
    assert not any(
        "Ferrand" in suggestion for suggestion in suggestions(memory.upto(bound))
    )


def test_the_sample_tells_who_everybody_is_that_a_suggestion_names() -> None:
    story = open_book(story_path())
    names = set()
    for paragraph in re.finditer(r"[^\n]+\n", story.text):
        memory = known(story, paragraph.end())
        index = index_of(memory.book)
        for question in suggestions(memory, plot=True):
            if name := re.fullmatch(r"Who is (.+)\?", question):
                forms = [
                    form for entity in index.find(name[1]) for form in entity.forms
                ]
                best = telling_sentences(name[1], forms, memory.book)[0]
                assert best.tells, (question, paragraph.end())
                names.add(name[1])
    assert len(names) > 2
