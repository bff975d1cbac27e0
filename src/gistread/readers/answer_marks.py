"""Marks names, numbers and quotations of an answer that the text lacks; no other wording is ever
marked.

A model that understands a text says it in words of its own, so shared words speak for a statement
and missing ones do not speak against it. Names, numbers and quotations are copied from the text,
and can be compared with it.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache, partial
from pathlib import Path

from gistread.book.model import Book, ParagraphKind
from gistread.book.numbers import numbers_in
from gistread.book.sentences import sentence_spans
from gistread.memory.guard import capitals_mark_names
from gistread.memory.passages import overlaps
from gistread.people.joining import first_names
from gistread.people.mentions import titles, word_set
from gistread.readers.phrases import pattern
from gistread.readers.thread import REFERENCE
from gistread.search.tokens import Terms, code_of, folded, language_of, stop_words
from gistread.store.model import AnswerMark, AnswerMarkKind

NOT_IN_TEXT = "not in the text"
_QUOTED_WORDS = 4  # Shorter quotations are terms or titles
_LEAST_NUMBER = 3  # Smaller numbers are counted ("the two of them")
_NEAR = 0.2  # Largest relative error of a number after "about"
_SIMILAR = 0.8  # Least similarity (`difflib`) of two spellings of a name
_TOLD_WORDS = 2  # Least words shared with what the book tells elsewhere of a number or a date
_NEARBY = 300  # Characters around a paragraph that belong to it
_BEGINNING = 200_000  # Characters of a book that show how it uses capitals
_BARE_WORDS = 3  # Most words of an answer that is only a name

_HEADING = ParagraphKind.HEADING
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ROMAN = re.compile(r"[IVXLCDM]+")
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_SPANS_OF_TIME = {
    re.compile(rf"\b{told}\b", re.IGNORECASE): number for told, number in _TABLES["spans"].items()
}
_CALENDAR, _IN_OTHER_LANGUAGES = (
    frozenset(_TABLES[name].split()) for name in ("dates", "other_languages")
)
_QUOTATION_MARKS = (
    "curly",
    "straight",
    "single_curly",
    "single_straight",
    "guillemets",
    "inward_guillemets",
)
_SPEECH_TAGS = [pattern(f"speech_tag_in_{marks}") for marks in _QUOTATION_MARKS]
_UNIT_NEAR = 40  # Characters between a number and its unit


def find_marks(
    answer: str, question: str, shown: str, book: Book, *, only_shown: bool = False
) -> tuple[AnswerMark, ...]:
    """Marks in the order of the answer. `shown`: all that the model saw of the book and of the
    conversation.

    Names and quotations may be anywhere in the book, numbers and dates where it tells of the same;
    unless `only_shown`.
    """
    said = REFERENCE.sub(lambda found: " " * len(found[0]), answer)
    text = _Text(f"{shown}\n{question}", book, "" if only_shown else book.text)
    language = language_of(said, text.language)
    quoted = pattern("quotation").finditer(said)
    quotations = [found for found in quoted if len(_WORD.findall(found[0])) >= _QUOTED_WORDS]
    lacking = [
        (found.span(), AnswerMarkKind.QUOTATION)
        for found in quotations
        if not text.has_quotation(found[0], language_of(found[0], language))
    ]
    outside = said
    for found in quotations:  # Checked as a whole
        outside = f"{outside[: found.start()]}{' ' * len(found[0])}{outside[found.end() :]}"
    names = _foreign_names(outside, question, text, language)
    lacking += [(span, AnswerMarkKind.NAME) for span in names]
    numbers = _foreign_numbers(
        outside, text
    )  # "Twenty Thousand Leagues" is marked once, as a name.
    lacking += [(span, AnswerMarkKind.NUMBER) for span in numbers if not overlaps(names, span)]
    lacking.sort(key=lambda one: one[0][0])
    return tuple(AnswerMark(*span, kind, NOT_IN_TEXT) for span, kind in lacking)


@dataclass
class _Text:
    """What an answer is compared with.

    The text that was shown, and the whole book within the bound.
    """

    shown: str
    book: Book
    whole: str

    @property
    def language(self) -> str:
        return code_of(self.book.language)

    @cached_property
    def words(self) -> str:
        book = self.book
        return "\n".join(map(fold, (self.shown, book.title, " ".join(book.authors), self.whole)))

    @cached_property
    def numbers(self) -> frozenset[int]:
        """Of the text shown, without headings: "Chapter 43" tells nothing of forty-three men."""
        headings = {
            self.book.text[paragraph.start : paragraph.end]
            for paragraph in self.book.paragraphs
            if paragraph.kind is _HEADING
        }
        return _numbers_told(
            "\n".join(line for line in self.shown.splitlines() if line.strip() not in headings)
        )

    @cached_property
    def names(self) -> set[str]:
        return {
            fold(word) for word in _WORD.findall(f"{self.shown}\n{self.whole}") if word[0].isupper()
        }

    def has_name(self, word: str, language: str) -> bool:
        """Whether the text has the word in some form: "Montresors", "Chicagoan".

        Or in a similar spelling.
        """
        plain = re.sub(r"'s?\Z", "", fold(word))
        if language != self.language and (
            plain in _IN_OTHER_LANGUAGES or any(plain[:4] == name[:4] for name in self.names)
        ):
            return True  # "Londres", "Cornouailles"
        stem = plain if len(plain) < 5 else plain[:-2]
        if re.search(rf"\b{re.escape(stem)}\w{{0,4}}\b", self.words):
            return True
        return bool(
            get_close_matches(
                plain, (name for name in self.names if name[0] == plain[0]), 1, _SIMILAR
            )
        )

    def tells_elsewhere(self, statement: str, has: Callable[[str], bool]) -> bool:
        """Whether a paragraph of the book `has` it, next to two of the statement's words."""
        terms = Terms(self.language or "en")
        left_out = terms.stop_words | titles().keys() | _CALENDAR
        words = [word for word in terms.words(statement) if word not in left_out]
        own = {terms.stem(word) for word in words if not any(numbers_in(word))}
        if not self.whole or len(own) < _TOLD_WORDS:
            return False
        for paragraph in self.book.paragraphs:
            if paragraph.kind is not _HEADING and has(
                self.book.text[paragraph.start : paragraph.end]
            ):
                near = self.book.text[max(0, paragraph.start - _NEARBY) : paragraph.end + _NEARBY]
                if len(own & {terms.stem(word) for word in terms.words(near)}) >= _TOLD_WORDS:
                    return True
        return False

    def has_measure(self, value: int, unit: str) -> bool:
        """Whether a number near this unit has the value."""
        is_unit = re.compile(
            r"f(?:ee|oo)t" if unit in ("foot", "feet") else rf"\b{unit}", re.IGNORECASE
        )
        for told in (self.shown, self.whole):
            for found in is_unit.finditer(told):
                before = told[max(0, found.start() - _UNIT_NEAR) : found.start()].rpartition("\n")[
                    2
                ]
                near = before + told[found.start() : found.end() + _UNIT_NEAR].partition("\n")[0]
                if value in _numbers_told(near):
                    return True
        return False

    def has_quotation(self, quotation: str, language: str) -> bool:
        """Whether the text has it, but for punctuation, speech tags and what an ellipsis leaves
        out, or a title.
        """
        if language != self.language:
            return True  # A translation
        words = _WORD.findall(quotation)
        if sum(word[0].isupper() for word in words) > len(words) / 2:
            return True
        pieces = [
            piece for part in pattern("omission").split(quotation) if (piece := _letters(part))
        ]
        texts = (*_letters_of(self.shown), *_letters_of(self.whole))
        return any(all(piece in letters for piece in pieces) for letters in texts)


@lru_cache(4)
def fold(text: str) -> str:
    """The text in lower case, without diacritics, with straight apostrophes."""
    text = text.casefold().replace("’", "'")
    return text.translate(
        {ord(one): folded(one) for one in set(text) if not one.isascii() and one.isalpha()}
    )


def _letters(text: str) -> str:
    """The letters alone, American and British spelling alike."""
    letters = re.sub(r"[\W_]+", "", fold(text))
    for british, american in _TABLES["spellings"].items():
        letters = letters.replace(british, american)
    return letters


@lru_cache(4)
def _letters_of(text: str) -> tuple[str, str]:
    """The letters of the text, and those without what a narrator says within a speech."""
    untagged = text
    for tags in _SPEECH_TAGS:
        untagged = tags.sub(" ", untagged)
    return _letters(text), _letters(untagged)


def _foreign_numbers(said: str, text: _Text) -> Iterator[tuple[int, int]]:
    """(start, end) of numbers, in digits or English words, that the text shown lacks."""
    for start, end, value in _numbers_of(said):
        before = said[:start]
        if said[start:end].lower() == "score":
            continue  # In a game; twenty is "a score of"
        unit = pattern("unit_of_measure").match(said, end) if text.language == "en" else None
        if value < _LEAST_NUMBER or (
            text.has_measure(value, unit[1].lower()) if unit else value in text.numbers
        ):
            continue
        is_told = partial(
            _has_era if pattern("era_suffix").match(said, end) else _has_number, value
        )
        if pattern("era_suffix").match(said, end) and any(
            _has_era(value, str(year)) for year in text.numbers
        ):
            continue
        if text.language != "en" and (value < 100 or not value % 100):
            continue  # The text may have it in words of its language
        is_label = re.search(r"(?:\A|\n)[ \t*-]*\Z", before) and re.match(r"[.)]\s+\S", said[end:])
        if is_label or pattern("numbered_thing").search(before):
            continue
        is_near = any(abs(value - number) <= _NEAR * value for number in text.numbers)
        if pattern("begins_a_list").match(said, end) or (
            is_near and pattern("approximately").search(before)
        ):
            continue
        if unit or not text.tells_elsewhere(_sentence_around(said, start), is_told):
            yield start, end


def _numbers_told(text: str) -> frozenset[int]:
    """The numbers of a text, also in other words: "the half of a century" is fifty years."""
    spans = frozenset(value for told, value in _SPANS_OF_TIME.items() if told.search(text))
    return spans | frozenset(part for _, parts in numbers_in(text) for part in parts)


def _has_number(value: int, text: str) -> bool:
    return any(value == number for number, _ in numbers_in(text))


def _has_era(value: int, text: str) -> bool:
    """Whether a year of this decade or century is told.

    1897 is one of the 1890s and of the 19th century.
    """
    return any(
        value in (number, number // 10 * 10, number // 100 + 1) for number, _ in numbers_in(text)
    )


def _sentence_around(said: str, at: int) -> str:
    return next((said[start:end] for start, end in sentence_spans(said) if start <= at < end), said)


def _numbers_of(said: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, value) of each number: runs of words that `numbers_in` understands."""
    runs: list[tuple[int, int]] = []
    for found in pattern("number_of_an_answer").finditer(said):
        is_number = any(numbers_in(found[0]))
        if (
            is_number
            and runs
            and re.fullmatch(r"[ -]+(?:and |a )?", said[runs[-1][1] : found.start()])
        ):
            runs[-1] = runs[-1][0], found.end()
        elif is_number:
            runs.append(found.span())
    for start, end in runs:
        numbers = list(numbers_in(said[start:end]))
        if len(numbers) == 1:
            yield start, end, numbers[0][0]


def _foreign_names(said: str, question: str, text: _Text, language: str) -> list[tuple[int, int]]:
    """(start, end) of names that neither the text nor the question has; neighbours together."""
    if language == "de" or not capitals_mark_names(text.book.text[:_BEGINNING]):
        return []  # Capitals mark all nouns.
    names: list[tuple[int, int]] = []
    for found in _WORD.finditer(said):
        if fold(found[0]) in _CALENDAR:
            is_foreign = _is_foreign_date(found, said, text, language)
        else:
            is_foreign = _is_name(found, said, question) and not text.has_name(found[0], language)
        place = pattern("in_a_place").search(said, 0, found.start())
        if not is_foreign or (place and text.has_name(place[1], language)):
            continue
        if any(text.has_name(part, language) for part in found[0].split("-")[:-1]):
            continue
        if names and not said[names[-1][1] : found.start()].strip():
            names[-1] = names[-1][0], found.end()
        else:
            names.append(found.span())
    return names


def _is_foreign_date(found: re.Match[str], said: str, text: _Text, language: str) -> bool:
    """Whether a month or day of the week is neither in the text shown nor told elsewhere of the
    same. English only.
    """
    word = found[0].lower()
    opens = word in ("march", "may") and pattern("opens_sentence").search(said, 0, found.start())
    if not found[0].istitle() or opens or not text.language == language == "en":
        return False
    is_named = re.compile(rf"(?i:\b{word}s?\b)|\b{word[:3].title()}[a-z]{{0,2}}\.")
    if is_named.search(text.shown):
        return False
    return not text.tells_elsewhere(
        _sentence_around(said, found.start()), lambda told: bool(is_named.search(told))
    )


def _is_name(found: re.Match[str], said: str, question: str) -> bool:
    """Whether a capitalised word is a name.

    Not a title or nationality, and seldom the first of a sentence.
    """
    word = found[0]
    plain = re.sub(r"'s?\Z", "", fold(word))
    if (
        not word[0].isupper()
        or len(plain) < 3
        or not word[0].isascii()
        or _ROMAN.fullmatch(word)
        or word.isupper()
    ):
        return False
    if plain in _not_names() or re.search(rf"\b{re.escape(plain)}\b", said):
        return False
    before = said[: found.start()]
    if not pattern("opens_sentence").search(before) or pattern("abbreviation").search(before):
        return not (
            pattern("abstract_ending").fullmatch(plain) or pattern("title_case").search(before)
        )
    if plain in first_names()[0]:
        return True
    if pattern("pronoun_or_plural").fullmatch(plain) or pattern("common_ending").fullmatch(plain):
        return False
    acts = bool(pattern("person_acts").match(said, found.end()))
    if pattern("asks_who_or_a_name").match(question) and not before.strip():
        is_bare = len(said.split()) <= _BARE_WORDS and len(_WORD.findall(said)) == 1
        return is_bare or acts or bool(pattern("acts").match(said, found.end()))
    return acts


def _not_names() -> frozenset[str]:
    listed = frozenset(f"{_TABLES['national']} {_TABLES['headings']}".split())
    return listed | titles().keys() | word_set("alone") | stop_words()["en"]
