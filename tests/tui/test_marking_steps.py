"""The caret moves by words, sentences and paragraphs without skipping any."""

from gistread.book.model import Book, Chapter, Paragraph
from gistread.memory.passages import sentence_at
from gistread.tui.marking import caret as steps
from gistread.tui.marking.caret_commands import Unit
from tests.tui.books import small_book

BOOK = small_book()


def as_book(*paragraphs: str) -> Book:
    text, parts = "", []
    for words in paragraphs:
        parts.append(Paragraph(len(text), len(text) + len(words)))
        text += words + "\n\n"
    text = text.rstrip("\n")
    return Book(text, "", tuple(parts), (Chapter("", 0, len(text)),))


def walk(book: Book, step: object, unit: Unit, first: tuple[int, int]) -> list[str]:
    ranges = [first]
    while (following := step(unit, book, ranges[-1])) != ranges[-1]:
        ranges.append(following)
    return [book.text[slice(*place)] for place in ranges]


def test_every_word_is_stepped_on_forward_and_back() -> None:
    words = walk(BOOK, steps.next_unit, Unit.WORD, steps.word_at(BOOK, 0))
    assert " ".join(words[:6]) == "I The Lamp Ada Brennan kept"
    last = steps.word_at(BOOK, len(BOOK.text))
    assert walk(BOOK, steps.previous_unit, Unit.WORD, last)[::-1] == words


def test_every_sentence_is_stepped_on_forward_and_back() -> None:
    first = sentence_at(BOOK, 0)
    sentences = walk(BOOK, steps.next_unit, Unit.SENTENCE, first)
    assert "".join("".join(sentences).split()) == "".join(BOOK.text.split())
    last = sentence_at(BOOK, len(BOOK.text) - 1)
    assert walk(BOOK, steps.previous_unit, Unit.SENTENCE, last)[::-1] == sentences


def test_apostrophes_and_hyphens_stay_in_a_word_and_characters_without_spaces_are_words() -> (
    None
):
    book = as_book("mother-in-law’s lamp", "灯台の光 и лампа")
    words = walk(book, steps.next_unit, Unit.WORD, steps.word_at(book, 0))
    assert words == ["mother-in-law’s", "lamp", "灯", "台", "の", "光", "и", "лампа"]


def test_a_range_that_begins_or_ends_inside_a_word_takes_the_whole_word() -> None:
    book = as_book("He said, “the lucid lamp.” And went.")
    for words, whole in (
        ("cid la", "lucid lamp"),
        (" lucid ", "lucid"),
        ("lamp.”", "lamp.”"),
        ("“the", "“the"),
        (", “", ", “"),
        (" ", " "),
    ):
        start = book.text.index(words)
        widened = steps.whole_words(book, (start, start + len(words)))
        assert book.text[slice(*widened)] == whole, words
