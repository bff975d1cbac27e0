"""The sample story opens, and its answers are where the questions say."""

import unicodedata

import pytest

from gistread import sample
from gistread.book.model import Book, ParagraphKind
from gistread.book.open import open_book
from gistread.errors import StorageError
from gistread.sample import QuestionKind, SampleQuestion

CHAPTERS = (
    "Chapter 1. Apologies for Absence",
    "Chapter 2. Minutes of the Last Meeting",
    "Chapter 3. Correspondence",
    "Chapter 4. Declarations of Interest",
    "Chapter 5. The Surveyor’s Report",
    "Chapter 6. Inspection of Works",
    "Chapter 7. Fuel and Plant",
    "Chapter 8. Matters Arising",
    "Chapter 9. Any Other Business",
    "Chapter 10. Date of Next Meeting",
)
QUESTIONS = sample.questions()


def of_kind(kind: QuestionKind) -> list[SampleQuestion]:
    return [question for question in QUESTIONS if question.kind is kind]


@pytest.fixture(scope="module")
def story() -> Book:
    return open_book(sample.story_path())


def test_the_story_opens_with_its_title_and_all_its_chapters(story: Book) -> None:
    assert story.title == "Fourteen Inches"
    assert tuple(chapter.title for chapter in story.chapters if chapter.title in CHAPTERS) == CHAPTERS
    assert story.notices == ()


def test_the_story_is_long_enough_for_a_memory_and_short_enough_for_a_first_evening(story: Book) -> None:
    assert 6_000 <= story.words <= 8_000


def test_no_chapter_is_a_scrap_or_a_lump(story: Book) -> None:
    for chapter in story.chapters:
        if chapter.title in CHAPTERS:
            assert 500 <= len(story.text[chapter.start : chapter.end].split()) <= 1_150, chapter.title


def test_the_story_has_more_than_prose_to_show(story: Book) -> None:
    assert sum(paragraph.kind is ParagraphKind.BREAK for paragraph in story.paragraphs) == 2
    assert sum(paragraph.kind is ParagraphKind.VERSE for paragraph in story.paragraphs) == 6
    assert "LINES ON THE LATE INUNDATION" in story.text
    assert story.authors == ("The gistread authors",)


def test_a_paragraph_stands_on_one_line_and_verse_is_set_in() -> None:
    lines = sample.story_path().read_text(encoding="utf-8").split("\n")
    set_in = [line for line in lines if line.startswith(" ")]
    assert all(line.startswith("    ") and line[4] != " " for line in set_in)
    assert any("porpoise swam up Tidney Street" in line for line in set_in)
    assert max(map(len, lines)) > 500
    assert not any(line != line.rstrip() or "\t" in line for line in lines)


def test_the_story_is_set_in_typographic_quotes_and_composed_letters() -> None:
    text = sample.story_path().read_text(encoding="utf-8")
    assert not set("\"'\r\t") & set(text)
    assert unicodedata.is_normalized("NFC", text)
    assert text.count("“") == text.count("”")


def test_there_are_twenty_different_questions() -> None:
    assert len({question.question for question in QUESTIONS}) == len(QUESTIONS) == 20
    assert all(question.question.endswith("?") and question.answer and question.also for question in QUESTIONS)


def test_some_questions_need_two_places_and_some_have_no_answer() -> None:
    assert 4 <= len(of_kind(QuestionKind.TWO_PLACES)) <= 6
    assert len(of_kind(QuestionKind.NOT_SAID)) == 2


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.question[:40])
def test_every_quote_stands_at_its_offsets(story: Book, question: SampleQuestion) -> None:
    for place in question.places:
        assert story.text[place.start : place.end] == place.quote, f"now at {story.text.find(place.quote)}"
    assert [place.start for place in question.places] == sorted(place.start for place in question.places)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.question[:40])
def test_every_quote_is_found_once_in_the_book(story: Book, question: SampleQuestion) -> None:
    assert all(story.text.count(place.quote) == 1 for place in question.places)


def test_an_answer_of_one_place_stands_in_one_chapter(story: Book) -> None:
    for question in of_kind(QuestionKind.SINGLE):
        assert len({story.chapter_index(place.start) for place in question.places}) == 1, question.question


def test_the_two_places_are_chapters_apart(story: Book) -> None:
    for question in of_kind(QuestionKind.TWO_PLACES):
        first, last = question.places[0], question.places[-1]
        assert story.chapter_index(last.start) - story.chapter_index(first.start) >= 2, question.question
        assert len(story.text[first.end : last.start].split()) > 1_000, question.question


def test_what_is_not_said_has_no_place() -> None:
    assert all(question.places == () for question in of_kind(QuestionKind.NOT_SAID))


def test_damaged_questions_are_an_error_a_person_can_read(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    (tmp_path / "questions.json").write_text('[{"question": "Who?"}]', encoding="utf-8")
    monkeypatch.setattr(sample, "_FOLDER", tmp_path)
    sample.questions.cache_clear()
    try:
        with pytest.raises(StorageError, match="cannot be read"):
            sample.questions()
    finally:
        sample.questions.cache_clear()
