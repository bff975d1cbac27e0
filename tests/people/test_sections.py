"""Who enters in each section, by what has been read."""

from gistread.people.index import Index
from gistread.people.sections import SectionNames, names_of_sections
from tests.memory.books import make_book

FIRST = (
    "Ada Brennan kept the lamp in Tidney. “Good day,” said Ada Brennan to Mr. Penn. They lived in "
    "Tidney for ever. Mr. Penn was glad. "
)
SECOND = (
    "Finch was small. “I am here,” said Finch to Ada Brennan. Then Finch slept, and Ada Brennan "
    "looked at him. "
)
THIRD = "“Come,” said Finch. Dr. Ames came with Finch. “I am late,” said Dr. Ames. "
SECOND_AT = len(FIRST)
THIRD_AT = len(FIRST + SECOND)
SECTIONS = (
    (0, SECOND_AT),
    (SECOND_AT, THIRD_AT),
    (THIRD_AT, len(FIRST + SECOND + THIRD)),
)


def test_a_section_names_who_enters_and_who_was_known() -> None:
    index = Index.from_book(make_book([FIRST + SECOND + THIRD]))
    first, second, third = names_of_sections(index, SECTIONS).values()
    assert first == SectionNames(("Ada Brennan", "Mr. Penn"), ("Tidney",))
    assert first.title == "Ada Brennan, Mr. Penn\u00a0· Tidney"
    assert second == SectionNames(("Finch",), (), ("Ada Brennan",))
    assert third == SectionNames(("Dr. Ames",), (), ("Finch",))


def test_a_section_has_no_names_of_the_gap_behind_it() -> None:
    index = Index.from_book(make_book([FIRST + SECOND + THIRD]))
    first, last = names_of_sections(index, (SECTIONS[0], SECTIONS[2])).values()
    assert first == SectionNames(("Ada Brennan", "Mr. Penn"), ("Tidney",))
    assert last == SectionNames(("Dr. Ames",), (), ("Finch",)), (
        "Finch entered in the gap"
    )


def test_nothing_behind_the_end_of_the_view_is_named() -> None:
    index = Index.from_book(make_book([FIRST + SECOND + THIRD]))
    view = index.upto(SECOND_AT + len("Finch was small."))
    names = names_of_sections(view, SECTIONS)
    assert list(names) == [0, SECOND_AT]
    assert "Finch" not in str(names), "he has been named once"
    assert names[0].people == ("Ada Brennan", "Mr. Penn")
