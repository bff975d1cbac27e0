"""Marks names, numbers and quotations of an answer that the text lacks, and no other wording.

A model that understands a text says it in words of its own, so shared words speak for a statement
and missing ones do not speak against it. Names, numbers and quotations are copied from the text,
and can be compared with it.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache, partial
from pathlib import Path

from gistread.book.model import Book, ParagraphKind
from gistread.book.numbers import numbers_in
from gistread.book.sentences import sentence_spans
from gistread.memory.guard import capitals_mark_names
from gistread.memory.passages import Span, overlaps
from gistread.people.mentions import first_names, titles, word_set
from gistread.readers.phrases import pattern
from gistread.readers.thread import REFERENCE
from gistread.search.tokens import Terms, code_of, folded, language_of, stop_words
from gistread.store.model import AnswerMark, AnswerMarkKind
from gistread.word_patterns import ALPHABETIC

NOT_IN_TEXT = "not in the text"
_QUOTED_WORDS = 4  # Shorter quotations are terms or titles
_LEAST_NUMBER = 3  # Smaller numbers are counted ("the two of them")
_NEAR = 0.2  # Largest relative error of a number after "about"
_SIMILAR = 0.8  # Least similarity (`difflib`) of two spellings of a name
_COMMON_LETTERS = 4  # With which a name begins in two languages
_LEAST_LETTERS = 3  # Of a name
_COMMON_LETTERS_OF_DATES = 3  # Of a month or day and its abbreviation
_HUNDRED = 100  # Other languages write smaller and round numbers in words of their own
_DECADE = 10  # Years
_CENTURY = 100  # Years
# Least words shared with what the book tells elsewhere of a number or a date
_TOLD_WORDS = 2
_NEARBY = 300  # Characters around a paragraph that belong to it
_BEGINNING = 200_000  # Characters of a book that show how it uses capitals
_BARE_WORDS = 3  # Most words of an answer that is only a name

_HEADING = ParagraphKind.HEADING
_ROMAN = re.compile(r"[IVXLCDM]+")
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class _NumberInWords:
    """A number that a text has in other words, counted in a unit: "a fortnight" is 14 days."""

    value: int
    words: re.Pattern[str]
    unit: re.Pattern[str]  # As the question or the answer names it


_NUMBERS_IN_WORDS = [
    _NumberInWords(
        value,
        re.compile(rf"\b(?:{words})\b", re.IGNORECASE),
        re.compile(rf"\b(?:{_TABLES['units'][unit]})\b", re.IGNORECASE),
    )
    for unit, spans in _TABLES["spans"].items()
    for words, value in spans.items()
]
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
    """Marks in the order of the answer.

    `shown`: all that the model saw of the book and of the conversation. Names and quotations may
    be anywhere in the book, numbers and dates where it tells of the same; unless `only_shown`.
    """
    answer = _blank_out(answer, REFERENCE.finditer(answer))
    text = _Text(
        f"{shown}\n{question}", question, book, "" if only_shown else book.text
    )
    # The question is longer than a short answer, which is in its language.
    language = language_of(answer, language_of(question, text.language))
    matches = pattern("quotation").finditer(answer)
    quotations = [
        match for match in matches if len(ALPHABETIC.findall(match[0])) >= _QUOTED_WORDS
    ]
    foreign_quotations = [
        quotation.span()
        for quotation in quotations
        if not text.has_quotation(quotation[0], language_of(quotation[0], language))
    ]
    outside = _blank_out(answer, quotations)  # They are checked as a whole.
    names = _foreign_names(outside, question, text, language)
    # "Twenty Thousand Leagues" is marked once, as a name.
    numbers = [
        span for span in _foreign_numbers(outside, text) if not overlaps(names, span)
    ]
    spans_by_kind = (
        (AnswerMarkKind.QUOTATION, foreign_quotations),
        (AnswerMarkKind.NAME, names),
        (AnswerMarkKind.NUMBER, numbers),
    )
    marks = [
        AnswerMark(start, end, kind, NOT_IN_TEXT)
        for kind, spans in spans_by_kind
        for start, end in spans
    ]
    return tuple(sorted(marks, key=lambda mark: mark.start))


def _blank_out(text: str, matches: Iterable[re.Match[str]]) -> str:
    """The text with blanks in place of the matches, so that offsets stay."""
    for match in matches:
        start, end = match.span()
        blanks = " " * (end - start)
        text = f"{text[:start]}{blanks}{text[end:]}"
    return text


@dataclass
class _Text:
    """What an answer is compared with.

    The text that was shown, and the whole book within the bound.
    """

    shown: str
    question: str
    book: Book
    whole: str

    @property
    def language(self) -> str:
        return code_of(self.book.language)

    @cached_property
    def words(self) -> str:
        book = self.book
        return "\n".join(
            map(fold, (self.shown, book.title, " ".join(book.authors), self.whole))
        )

    @cached_property
    def numbers(self) -> frozenset[int]:
        """Of the text shown, without headings: "Chapter 43" tells nothing of forty-three men."""
        headings = {
            self.book.text[paragraph.start : paragraph.end]
            for paragraph in self.book.paragraphs
            if paragraph.kind is _HEADING
        }
        lines = (
            line for line in self.shown.splitlines() if line.strip() not in headings
        )
        return _numbers_told("\n".join(lines))

    @cached_property
    def names(self) -> set[str]:
        """The words that are always capitalised: "Hardly" is no name that Harry resembles."""
        words = ALPHABETIC.findall(f"{self.shown}\n{self.whole}")
        capitalised = {fold(word) for word in words if word[0].isupper()}
        return capitalised - {fold(word) for word in words if word[0].islower()}

    def has_name(self, word: str, language: str) -> bool:
        """Whether the text has the word, or a name in another form or spelling."""
        plain = _without_genitive(fold(word))
        if language != self.language and self._has_translation(plain):
            return True
        return self._has_word(plain) or self._has_similar_name(plain)

    def _has_word(self, plain: str) -> bool:
        """Whether the text has the word, capitalised or not, also with another ending."""
        if re.search(rf"\b{re.escape(plain)}\b", self.words):
            return True
        stem = Terms(self.language or "en").stem
        beginning = re.escape(plain[:_LEAST_LETTERS])
        words = set(re.findall(rf"\b{beginning}\w*", self.words))
        return stem(plain) in map(stem, words)

    def _has_similar_name(self, plain: str) -> bool:
        """Whether a name of the text is alike: "Montresor" and "Montresors"."""
        names = [name for name in self.names if name[0] == plain[0]]
        return bool(get_close_matches(plain, names, 1, _SIMILAR))

    def _has_translation(self, plain: str) -> bool:
        """Whether a word may be a name of the text in another language.

        "Londres", "Cornouailles"
        """
        beginning = plain[:_COMMON_LETTERS]
        return plain in _IN_OTHER_LANGUAGES or any(
            beginning == name[:_COMMON_LETTERS] for name in self.names
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
            if paragraph.kind is _HEADING:
                continue
            if not has(self.book.text[paragraph.start : paragraph.end]):
                continue
            near = self.book.text[
                max(0, paragraph.start - _NEARBY) : paragraph.end + _NEARBY
            ]
            if (
                len(own & {terms.stem(word) for word in terms.words(near)})
                >= _TOLD_WORDS
            ):
                return True
        return False

    def has_measure(self, value: int, unit: str) -> bool:
        """Whether a number near this unit has the value."""
        spelling = r"f(?:ee|oo)t" if unit in ("foot", "feet") else rf"\b{unit}"
        return any(
            value in _numbers_told(near)
            for text in (self.shown, self.whole)
            for near in _lines_around(
                re.compile(spelling, re.IGNORECASE), text, _UNIT_NEAR
            )
        )

    def has_quotation(self, quotation: str, language: str) -> bool:
        """Whether the text has it, or it is a translation or a title.

        Punctuation, speech tags and what an ellipsis leaves out do not count.
        """
        is_translation = language != self.language
        words = ALPHABETIC.findall(quotation)
        is_title = sum(word[0].isupper() for word in words) > len(words) / 2
        if is_translation or is_title:
            return True
        pieces = list(filter(None, map(_letters, pattern("omission").split(quotation))))
        texts = (*_letters_of(self.shown), *_letters_of(self.whole))
        return any(all(piece in letters for piece in pieces) for letters in texts)


@lru_cache(4)
def fold(text: str) -> str:
    """The text in lower case, without diacritics, with straight apostrophes."""
    text = text.casefold().replace("’", "'")
    return text.translate(
        {
            ord(letter): folded(letter)
            for letter in set(text)
            if not letter.isascii() and letter.isalpha()
        }
    )


def _without_genitive(word: str) -> str:
    return re.sub(r"'s?\Z", "", word)


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


@dataclass(frozen=True, slots=True)
class _Number:
    """A number of an answer, in digits or English words: `answer[start:end]`."""

    start: int
    end: int
    value: int


def _foreign_numbers(answer: str, text: _Text) -> Iterator[Span]:
    """The numbers of an answer that the text lacks."""
    for number in _numbers_of(answer):
        if not (_states_nothing(number, answer) or _has_number(number, answer, text)):
            yield number.start, number.end


def _states_nothing(number: _Number, answer: str) -> bool:
    """Whether a number is small, or the label of an item or thing."""
    before = answer[: number.start]
    # Twenty is "a score of".
    is_score = answer[number.start : number.end].lower() == "score"
    if is_score or number.value < _LEAST_NUMBER:
        return True
    begins_line = re.search(r"(?:\A|\n)[ \t*-]*\Z", before)
    if begins_line and re.match(r"[.)]\s+\S", answer[number.end :]):
        return True
    if pattern("numbered_thing").search(before):
        return True
    return bool(pattern("begins_a_list").match(answer, number.end))


def _has_number(number: _Number, answer: str, text: _Text) -> bool:
    """Whether the text has a number of the answer, or may have it in other words."""
    value = number.value
    unit = None
    if text.language == "en":
        unit = pattern("unit_of_measure").match(answer, number.end)
    is_shown = (
        text.has_measure(value, unit[1].lower()) if unit else value in text.numbers
    )
    if is_shown or _has_in_other_words(number, answer, text):
        return True
    if unit:
        return False
    tells = _tells_year_of_era if _is_era(number, answer) else _tells_number
    return text.tells_elsewhere(
        _sentence_around(answer, number.start), partial(tells, value)
    )


def _has_in_other_words(number: _Number, answer: str, text: _Text) -> bool:
    """As a span of time, as a year of an era, in another language, or about so many."""
    value = number.value
    counted = f"{text.question} {_sentence_around(answer, number.start)}"
    if _is_span_of_time(value, counted, text.shown):
        return True
    if _is_era(number, answer) and any(
        value in _eras_of(year) for year in text.numbers
    ):
        return True
    if text.language != "en" and (value < _HUNDRED or not value % _HUNDRED):
        return True
    if not pattern("approximately").search(answer[: number.start]):
        return False
    return any(abs(value - other) <= _NEAR * value for other in text.numbers)


def _is_span_of_time(value: int, counted: str, text: str) -> bool:
    """Whether the text has the number in other words, and in the unit that is counted."""
    return any(
        number.value == value
        and number.unit.search(counted)
        and number.words.search(text)
        for number in _NUMBERS_IN_WORDS
    )


def _is_era(number: _Number, answer: str) -> bool:
    return bool(pattern("era_suffix").match(answer, number.end))


def _numbers_told(text: str) -> frozenset[int]:
    return frozenset(part for _, parts in numbers_in(text) for part in parts)


def _tells_number(value: int, text: str) -> bool:
    return any(value == number for number, _ in numbers_in(text))


def _tells_year_of_era(era: int, text: str) -> bool:
    return any(era in _eras_of(number) for number, _ in numbers_in(text))


def _eras_of(year: int) -> frozenset[int]:
    """The decade and the century of a year, and itself: 1897 is of the 1890s and the 19th."""
    return frozenset((year, year // _DECADE * _DECADE, year // _CENTURY + 1))


def _lines_around(words: re.Pattern[str], text: str, most: int) -> Iterator[str]:
    """What stands on the line of each match, at most so many characters to each side."""
    for match in words.finditer(text):
        before = text[max(0, match.start() - most) : match.start()].rpartition("\n")[2]
        after = text[match.start() : match.end() + most].partition("\n")[0]
        yield before + after


def _sentence_around(answer: str, offset: int) -> str:
    sentences = (
        answer[start:end]
        for start, end in sentence_spans(answer)
        if start <= offset < end
    )
    return next(sentences, answer)


def _numbers_of(answer: str) -> Iterator[_Number]:
    """The numbers of an answer: runs of words that `numbers_in` understands."""
    runs: list[Span] = []
    for match in pattern("number_of_an_answer").finditer(answer):
        if not any(numbers_in(match[0])):
            continue
        between = answer[runs[-1][1] : match.start()] if runs else "\n"
        if re.fullmatch(r"[ -]+(?:and |a )?", between):
            runs[-1] = runs[-1][0], match.end()
        else:
            runs.append(match.span())
    for start, end in runs:
        numbers = list(numbers_in(answer[start:end]))
        if len(numbers) == 1:
            yield _Number(start, end, numbers[0][0])


def _foreign_names(
    answer: str, question: str, text: _Text, language: str
) -> list[Span]:
    """The names that neither the text nor the question has; neighbours together."""
    if language == "de" or not capitals_mark_names(text.book.text[:_BEGINNING]):
        return []  # Capitals mark all nouns.
    names: list[Span] = []
    for word in ALPHABETIC.finditer(answer):
        if not _is_foreign(word, answer, question, text, language):
            continue
        if names and not answer[names[-1][1] : word.start()].strip():
            names[-1] = names[-1][0], word.end()
        else:
            names.append(word.span())
    return names


def _is_foreign(
    word: re.Match[str], answer: str, question: str, text: _Text, language: str
) -> bool:
    """Whether a word of the answer is a name or date that the text lacks."""
    if fold(word[0]) in _CALENDAR:
        is_foreign = _is_foreign_date(word, answer, text, language)
    else:
        is_foreign = _is_name(word, answer, question) and not text.has_name(
            word[0], language
        )
    if not is_foreign:
        return False
    place = pattern("in_a_place").search(answer, 0, word.start())
    return not (place and text.has_name(place[1], language))


def _is_foreign_date(
    match: re.Match[str], answer: str, text: _Text, language: str
) -> bool:
    """Whether the text lacks a month or day of the week, shown or told elsewhere of the same.

    English only.
    """
    word = match[0].lower()
    if not match[0].istitle() or not text.language == language == "en":
        return False
    abbreviated = word[:_COMMON_LETTERS_OF_DATES].title()
    names_it = re.compile(rf"(?i:\b{word}s?\b)|\b{abbreviated}[a-z]{{0,2}}\.")
    if names_it.search(text.shown):
        return False
    sentence = _sentence_around(answer, match.start())
    return not text.tells_elsewhere(
        sentence, lambda paragraph: bool(names_it.search(paragraph))
    )


def _is_name(match: re.Match[str], answer: str, question: str) -> bool:
    """Whether a capitalised word is a name.

    Not a title or nationality, and seldom the first of a sentence.
    """
    plain = _without_genitive(fold(match[0]))
    if not _may_be_name(match[0]) or len(plain) < _LEAST_LETTERS:
        return False
    if plain in _not_names() or re.search(rf"\b{re.escape(plain)}\b", answer):
        return False
    before = answer[: match.start()]
    if pattern("opens_sentence").search(before) and not pattern("abbreviation").search(
        before
    ):
        return plain in first_names()[0] or _is_name_at_first(
            match, plain, answer, question
        )
    return not pattern("title_case").search(before)


def _may_be_name(word: str) -> bool:
    """Whether a word is capitalised, and no abbreviation or Roman numeral."""
    is_capitalised = word[0].isupper() and word[0].isascii()
    return is_capitalised and not (word.isupper() or _ROMAN.fullmatch(word))


def _is_name_at_first(
    match: re.Match[str], plain: str, answer: str, question: str
) -> bool:
    """Whether the first word of a sentence is a name: it acts, or is the whole answer."""
    if pattern("pronoun_or_plural").fullmatch(plain) or pattern(
        "common_ending"
    ).fullmatch(plain):
        return False
    if pattern("person_acts").match(answer, match.end()):
        return True
    is_asked_for = pattern("asks_who_or_a_name").match(question)
    if not is_asked_for or answer[: match.start()].strip():
        return False
    is_bare = (
        len(answer.split()) <= _BARE_WORDS and len(ALPHABETIC.findall(answer)) == 1
    )
    return is_bare or bool(pattern("acts").match(answer, match.end()))


def _not_names() -> frozenset[str]:
    listed = frozenset(f"{_TABLES['national']} {_TABLES['headings']}".split())
    return listed | titles().keys() | word_set("alone") | stop_words()["en"]
