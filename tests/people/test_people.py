"""The index of names: finding them, joining those of a person, cutting the index at a place."""

import gc
import random
import tomllib
import tracemalloc
import weakref
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.book.open import open_book, open_bytes
from gistread.people.contexts import MentionContext, context_of
from gistread.people.index import Index, index_of
from gistread.people.joining import Entity
from gistread.people.kinds import Kind
from gistread.people.mentions import _count_lower_case_words, find_names, supports_names
from gistread.sample import story_path
from gistread.store.model import NameCorrection
from tests.benchmarks.names import DATA, MAIN_CHARACTERS, main_people
from tests.memory.books import make_book, with_chapter_titles

_NOVELS = tomllib.loads(MAIN_CHARACTERS.read_text("utf-8"))
needs_novels = pytest.mark.skipif(
    not (DATA / "litbank").is_dir(), reason="needs ../shared/data"
)

TEXT = """Chapter 1

Mr. Penn came to Hollow Farm in March, when the roads were wet and nobody went out who could stay
by the fire. "Good day, Lizzy," said Mr. Penn, and she gave him the key. But Elizabeth Kerr would
not speak to him of the money. They lived in Tidney, and the Kerrs had lived in Tidney for ever.
Elizabeth Kerr looked at Penn.

Mrs. Penn was at the window of the house in Tidney. Elizabeth saw her there, and thought no more
of it that day. "Mr. Emery and George are late," said Elizabeth. Then George came in, and Mr.
Emery and George sat down to eat. George Emery was a boy. Nobody knew what Mr. Emery and George
wanted there, and they did not say. George Emery ate.

Chapter 2

The Clerk was a tall man. "I'll ask the Clerk," said George. Will they ask? They will. So the
Clerk wrote to Dr. Ames and to Penn, and Mr. Penn told Lizzy. Penn was glad, he said, that it was
over and that nobody had been hurt. In the end Elizabeth became Mrs. Penn's guest in Tidney, and
that was the end of the long and foolish quarrel. Hollow Farm was sold in the Clerk's house, where
nobody saw Hollow Farm again.
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    path = tmp_path_factory.mktemp("people") / "Hollow Farm.txt"
    path.write_text(TEXT)
    return open_book(path)


@pytest.fixture(scope="module")
def index(book: Book) -> Index:
    return Index.from_book(book)


def test_finding_names_takes_little_more_memory_than_the_text() -> None:
    lines = [
        f"the small words of line {number} are many and Mr. Penn is there"
        for number in range(9_000)
    ]
    long_book = make_book(["# Chapter 1", *lines])
    find_names(long_book, len(long_book.text) - 50)  # What is compiled once
    tracemalloc.start()
    try:
        small = _count_lower_case_words(long_book.text, 0)
        assert tracemalloc.get_traced_memory()[1] < 2 * len(long_book.text)
    finally:
        tracemalloc.stop()
    assert (small["words"], small["many"], small["penn"]) == (9_000, 9_000, 0)


def test_the_index_of_an_earlier_place_is_not_kept(book: Book) -> None:
    earlier = book.upto(len(book.text) // 2)
    kept = index_of(earlier)
    assert index_of(earlier) is kept
    used = weakref.ref(earlier)
    del earlier, kept
    index_of(book.upto(len(book.text) - 100))
    gc.collect()
    assert used() is None


def forms(index: Index) -> dict[str, set[str]]:
    return {
        entity.name: {form.text for form in entity.forms} for entity in index.entities
    }


def test_forms_of_one_person_are_joined(index: Index) -> None:
    forms_of = forms(index)
    assert forms_of["Elizabeth Kerr"] == {"Elizabeth Kerr", "Elizabeth", "Lizzy"}
    assert forms_of["Mr. Penn"] == {"Mr. Penn", "Penn"}
    assert forms_of["Mrs. Penn"] == {"Mrs. Penn"}
    assert forms_of["the Clerk"] == {"Clerk"}
    assert forms_of["Dr. Ames"] == {"Dr. Ames"}, (
        "a title names a person who is mentioned once"
    )


@pytest.mark.parametrize(
    "names",
    [("Fosco Hill", "Captain Fosco Hill"), ("Captain Fosco Hill", "Fosco Hill")],
)
def test_a_title_makes_a_person_wherever_it_is_first_used(
    names: tuple[str, str],
) -> None:
    sentences = "The papers of {} lay there. The money of {} lay with it.".format(
        *names
    )
    entities = Index.from_book(
        make_book(
            [sentences, "The rain fell on the roof of the house and on the road."]
        )
    ).entities
    assert [(entity.name, entity.kind) for entity in entities] == [
        ("Fosco Hill", Kind.PERSON)
    ]


def test_two_who_stand_side_by_side_are_not_one(index: Index) -> None:
    assert forms(index)["Mr. Emery"] == {"Mr. Emery"}
    assert forms(index)["George Emery"] == {"George Emery", "George"}


def test_places_are_told_from_people_and_words_from_names(index: Index) -> None:
    kinds = {entity.name: entity.kind for entity in index.entities}
    assert kinds["Tidney"] is kinds["Hollow Farm"] is Kind.PLACE
    assert kinds["the Clerk"] is Kind.PERSON
    assert {kinds[name] for name in ("Mr. Penn", "Elizabeth Kerr", "George Emery")} == {
        Kind.PERSON
    }
    assert not {"March", "But", "Then", "I'll", "Will", "Chapter", "Kerrs"} & {
        form for each in forms(index).values() for form in each
    }


def test_a_dean_is_not_joined_with_his_town_nor_a_daughter_with_her_father() -> None:
    sentences = [
        "They went to Barnsey, and lived in Barnsey. Mr. Harding Dean of Barnsey sat in Barnsey.",
        "The Dean of Barnsey spoke, and then the Dean of Barnsey was old.",
        "So Dr Grant took his hat. Dr Grant put on his hat, for he was old."
        + 2 * " Dr Grant said he was old.",
        "Griselda Grant was here, and Griselda sat.",
    ]
    index = Index.from_book(make_book(sentences))
    entities = {entity.name: entity for entity in index.entities}
    assert entities["Barnsey"].kind is Kind.PLACE
    assert "Barnsey" not in entities["the Dean of Barnsey"].others
    assert entities["Dr Grant"].others == ()


def test_people_are_looked_up_by_any_form_case_or_accent(index: Index) -> None:
    assert [entity.name for entity in index.find("Penn")] == ["Mr. Penn"]
    assert [entity.name for entity in index.find("mrs penn")] == ["Mrs. Penn"]
    assert index.find("Pénn") == index.find("Penn")
    assert index.find("Lizzy") == index.find("Elizabeth") != []


def test_an_imprint_names_nobody() -> None:
    book = make_book(
        ["It rained."],
        ["Mr. Penn rang the bell, and Mr. Penn went home."],
        ["Made by Mr. Ames in Tidney. Mr. Ames of Tidney designed it."],
    )
    book = with_chapter_titles(book, "I", "II", "Colophon")
    assert [entity.name for entity in index_of(book).entities] == ["Mr. Penn"]


def test_a_card_has_places_chapters_and_company(index: Index, book: Book) -> None:
    (penn,) = index.find("penn")
    card = index.card(penn)
    assert book.text[card.entity.first :].startswith("Mr. Penn came")
    assert book.text[card.last :].startswith("Penn was glad")
    assert card.chapters == (3, 3)
    assert card.together[0][0].name == "Elizabeth Kerr"
    assert all(
        book.text.startswith(form.text, at) for form in penn.forms for at in form.starts
    )


def test_corrections_merge_and_hide(index: Index, book: Book) -> None:
    penn = NameCorrection("merge", ("Mr. Penn",), "Clerk")
    tidney = NameCorrection("hide", ("Not here", "Tidney"))
    corrected = forms(index.upto(len(book.text), (penn, tidney)))
    assert corrected["Mr. Penn"] == {"Mr. Penn", "Penn", "Clerk"}
    assert "Tidney" not in corrected
    before = index.upto(book.text.index("Chapter 2"), (penn,))
    assert forms(before)["Mr. Penn"] == {"Mr. Penn", "Penn"}, (
        "the clerk is not known yet"
    )


def test_a_view_knows_nothing_of_what_follows(index: Index, book: Book) -> None:
    end = book.text.index("Chapter 2")
    view = index.upto(end)
    assert not view.find("Clerk")
    assert not view.find("Dr. Ames")
    assert view.card(view.find("Mr. Penn")[0]).chapters == (3,)
    dice = random.Random(1)
    for end in [dice.randrange(len(book.text)) for _ in range(50)]:
        view = index.upto(end)
        for entity in view.entities:
            assert all(
                start + len(form.text) <= end
                for form in entity.forms
                for start in form.starts
            )
            assert entity.name.removeprefix("the ") in book.text[:end]


@pytest.mark.parametrize(("name", "covered"), [("en", True), ("de", False)])
def test_other_languages_are_not_covered(
    tmp_path: Path, name: str, covered: bool
) -> None:
    path = tmp_path / "a.html"
    path.write_text(f"<html lang={name}><title>A</title><p>{TEXT}</p></html>")
    assert supports_names(open_book(path)) is covered


@needs_novels
@pytest.mark.parametrize(
    "path",
    [
        name if "Pride" in name else pytest.param(name, marks=pytest.mark.slow)
        for name in _NOVELS
    ],
)
def test_the_main_people_of_a_novel_are_found_with_their_names_joined(
    path: str,
) -> None:
    people = main_people(DATA / path, _NOVELS[path]["people"])
    assert people.joined >= 0.7 * people.count
    assert people.wrong == 0


_PAST = "He had walked for an hour by the river, and it was late when the rain began. "


def entities_of(text: str) -> dict[str, Entity]:
    book = open_bytes(text.encode(), "story.txt")
    return {entity.name: entity for entity in Index.from_book(book).entities}


@pytest.mark.parametrize(
    ("small", "capital"),
    [
        ("d’Artagnan", "D’Artagnan"),
        ("al-Rashid", "Al-Rashid"),
        ("l’Estrange", "L’Estrange"),
    ],
)
def test_a_name_with_a_joined_particle_is_one_person(small: str, capital: str) -> None:
    spoken = f"“Come,” said {small}. {_PAST}{capital} laughed, and {small} went on. {_PAST}\n\n"
    people = entities_of("Chapter 1\n\n" + spoken * 9)
    assert list(people) == [small]
    assert people[small].count == 27


@pytest.mark.parametrize(
    "name",
    [
        "Otto von Trassen",
        "Maria de la Cruz",
        "Hassan bin Talal",
        "Piet ter Borch",
        "Sean O’Brien",
    ],
)
def test_a_particle_between_names_is_part_of_the_name(name: str) -> None:
    text = f"“Come,” said {name}. {_PAST}Then {name} laughed, and she saw {name}. {_PAST}\n\n"
    assert list(entities_of("Chapter 1\n\n" + text * 9)) == [name]


def test_one_who_is_gone_before_another_appears_is_not_joined_by_a_short_name() -> None:
    early = f"She spoke of her sister’s son, and Tom said no. {_PAST}So Tom laughed. {_PAST}\n\n"
    later = f"“Come,” said Thomas Marvel. {_PAST}And Thomas Marvel laughed. {_PAST}\n\n"
    people = entities_of("Chapter 1\n\n" + early + later * 9)
    assert people["Tom"].count == 2
    assert people["Thomas Marvel"].count == 18


_SPEAKS = "“Come,” said Ann Pell, and she looked at Mr. Penn. "


def kinds_of(*sentences: str, times: int = 6) -> dict[str, Kind]:
    text = " ".join(f"{_SPEAKS}{_PAST}{sentence}" for sentence in sentences)
    entities = entities_of("Chapter 1\n\n" + f"{text}\n\n" * times)
    return {name: entity.kind for name, entity in entities.items()}


@pytest.mark.parametrize(
    ("sentence", "name", "kind"),
    [
        ("They sailed from Orlay, and Orlay was far.", "Orlay", Kind.PLACE),
        ("They walked to the Kerran Hotel.", "the Kerran Hotel", Kind.PLACE),
        ("They prayed in St. Osyth that day.", "St. Osyth", Kind.PLACE),
        (
            "The crew of the Heron slept, and the Heron was old.",
            "the Heron",
            Kind.OTHER,
        ),
        ("It was a Velian tower, with a Velian roof.", "Velian", Kind.OTHER),
        ("They saw the Pells, and the Pells were old.", "the Pells", Kind.OTHER),
        ("By Fate they met; no fate was worse than Fate.", "Fate", Kind.OTHER),
        ("“Go,” said the Miller, and the Miller turned.", "the Miller", Kind.PERSON),
        ("Then Orlay nodded, and “Come, ” said Orlay.", "Orlay", Kind.PERSON),
        (
            "Then the Curate found a letter, and the Curate sat.",
            "the Curate",
            Kind.PERSON,
        ),
        ("They went to the West, and the West was far.", "the West", Kind.PLACE),
        ("They drank to the King, in the name of the King.", "the King", Kind.OTHER),
        ("“Go,” said the King, and they drank to the King.", "the King", Kind.PERSON),
        ("“Go,” said West, and West turned to his wife.", "West", Kind.PERSON),
        ("“Go,” said Edward Lane, and Edward Lane turned.", "Edward Lane", Kind.PERSON),
        ("They walked down Charles Street.", "Charles Street", Kind.PLACE),
    ],
)
def test_the_words_around_a_name_tell_its_kind(
    sentence: str, name: str, kind: Kind
) -> None:
    assert kinds_of(sentence)[name] is kind


def test_words_of_speech_and_days_are_no_names() -> None:
    names = kinds_of(
        "“I say, Eh, I Don’t,” said Ann Pell on Whit Monday to Monday Mr. Penn."
    )
    assert set(names) == {"Ann Pell", "Mr. Penn"}


def names_of(*sentences: str, times: int = 6) -> list[set[str]]:
    """The forms of each entity."""
    text = " ".join(f"{_PAST}{sentence} {_PAST}" for sentence in sentences)
    entities = entities_of("Chapter 1\n\n" + f"{text}\n\n" * times).values()
    return [{form.text for form in entity.forms} for entity in entities]


@pytest.mark.parametrize(
    ("sentence", "forms"),
    [
        (
            "So Mary-Ann laughed, though the rain had begun and it was late. Then he saw Mary.",
            {"Mary-Ann", "Mary"},
        ),
        (
            "So Colonel Wray Sahib spoke. Later Wray Sahib laughed, and Wray left.",
            {"Colonel Wray Sahib", "Wray Sahib", "Wray"},
        ),
        (
            f"So Jane Wray rose. {_PAST}Later he saw Miss Wray Miss Orr and others.",
            {"Jane Wray", "Miss Wray"},
        ),
        (
            "So Mattie Silver rose. Then Aunt Martha Pierce spoke. Later Mattie laughed.",
            {"Mattie Silver", "Mattie"},
        ),
        (
            "So Lord Henry Ware spoke. Later he saw that Harry was there.",
            {"Lord Henry Ware", "Harry"},
        ),
        (
            "So Colonel Ware spoke. Later the Colonel laughed.",
            {"Colonel Ware", "Colonel"},
        ),
        (
            "So Ilya Petrovitch laughed. Later Ilya Petrovitch Orlov spoke.",
            {"Ilya Petrovitch", "Ilya Petrovitch Orlov"},
        ),
        (
            "They lived in Marl Hall. Nobody left the Hall. They were at Marl.",
            {"Marl Hall", "Hall", "Marl"},
        ),
        (
            "So George Babbitt rose. Later Babbitt laughed. So Babbitt spoke of "
            "Babbitt-Thompson Hobbs again. He knew Brother Babbitt. He met Mr. Babbitt.",
            {"Babbitt", "Mr. Babbitt", "George Babbitt", "Brother Babbitt"},
        ),
    ],
)
def test_names_of_one_are_joined(sentence: str, forms: set[str]) -> None:
    assert forms in names_of(sentence)


@pytest.mark.parametrize(
    ("sentence", "forms"),
    [
        ("So Mr. Archibald Ware spoke. Later Dr. Ware laughed.", {"Dr. Ware"}),
        ("So Colonel Ware spoke. Later Judge Ware laughed.", {"Judge Ware"}),
        (
            "So Lord St. John spoke. Later he saw that John Canty was there.",
            {"John Canty"},
        ),
        ("They lived in Marl and saw Marl Castle, far from Marl.", {"Marl Castle"}),
        (
            f"So Ossa Marle rose. Later Ossa came, and she laughed. {_PAST}Then Mr. Marle spoke.",
            {"Mr. Marle"},
        ),
    ],
)
def test_names_of_two_are_kept_apart(sentence: str, forms: set[str]) -> None:
    assert forms in names_of(sentence)


def test_a_son_with_two_names_of_others_does_not_join_them() -> None:
    """Heathcliff and Linton are two, though there is a Linton Heathcliff."""
    together = (
        "So Orrin Ware was born. "
        + "Later Orrin spoke, and Ware rose before Orrin. " * 25
    )
    assert {"Ware"} in names_of(together, times=1)
    apart = (
        "So Orrin Ware was born. "
        + f"Later Orrin spoke. {_PAST}Then Ware rose. {_PAST}" * 25
    )
    assert {"Orrin Ware", "Orrin", "Ware"} in names_of(apart, times=1)


def test_mr_ware_is_not_his_brother_mr_orrin_ware_who_is_called_orrin() -> None:
    both = (
        f"So Mr. Ware spoke. {_PAST}" * 40 + f"Then Mr. Orrin Ware rose. {_PAST}" * 10
    )
    called = f"Later Orrin laughed. {_PAST}" * 10
    assert {"Mr. Ware"} in names_of(both + called, times=1)
    assert {"Mr. Ware", "Mr. Orrin Ware"} in names_of(both, times=1)


def test_a_daughter_with_a_name_of_men_is_not_her_father() -> None:
    """In My Ántonia, Tony Shimerda is not Mr. Shimerda."""
    father = f"So Mr. Ware spoke, and he sat. {_PAST}" * 25
    full = f"Then Tony Ware rose. {_PAST}"
    assert {"Mr. Ware"} in names_of(
        f"{father}{full}" + f"Later Tony spoke, and she ate. {_PAST}" * 25, times=1
    )
    assert {"Tony Ware", "Tony", "Mr. Ware"} in names_of(
        f"{father}{full}" + f"Later Tony spoke, and he ate. {_PAST}" * 25, times=1
    )


def test_the_king_of_many_tales_is_not_the_one_with_a_name() -> None:
    generic = "So King Orrin came. " * 10 + "Later the King laughed. " * 900
    assert {"King"} in names_of(generic, times=1)
    his = "So King Orrin came. " * 10 + "Later the King laughed. " * 90
    assert {"King Orrin", "King"} in names_of(his, times=1)


def test_who_is_spoken_to_by_another_name_is_not_two() -> None:
    text = "So Dorian Gray came. Later Dorian laughed. “Come, Mr. Gray!” she said to Dorian. "
    assert {"Dorian Gray", "Dorian", "Mr. Gray"} in names_of(text)
    described = "So George Ware came. Later George laughed. Then Mr. Ware and George went home. "
    assert {"Mr. Ware"} in names_of(described)


@pytest.mark.parametrize(("opening", "closing"), [("“", "”"), ('"', '"')])
def test_a_mention_is_spoken_until_its_speech_ends_however_long(
    opening: str, closing: str
) -> None:
    long = "and so on, " * 90
    speech = (
        f"He said, {opening}Come, {long}Anna, {long}{closing} and {long}Bertha left."
    )
    text = f"Before him {opening}nobody{closing} spoke.\n\n{speech}"
    spoken = {
        name: bool(
            context_of(text, text.index(name), text.index(name) + len(name))
            & MentionContext.SPOKEN
        )
        for name in ("Anna", "Bertha")
    }
    assert spoken == {"Anna": True, "Bertha": False}


def test_both_names_of_a_run_with_two_titles_are_mentioned() -> None:
    entities = entities_of("They saw Miss Wray Miss Orr and Miss Fenn there. " * 6)
    assert [
        entities[name].count for name in ("Miss Wray", "Miss Orr", "Miss Fenn")
    ] == [6, 6, 6]


def test_names_side_by_side_that_stand_alone_elsewhere_are_two() -> None:
    story = open_book(story_path())
    forms = {
        form.text for entity in Index.from_book(story).entities for form in entity.forms
    }
    assert {"Heron Stone", "Daniel Crane"} <= forms
    assert "Heron Stone Daniel Crane" not in forms
