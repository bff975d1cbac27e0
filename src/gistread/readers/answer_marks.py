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
# Least words of a statement near a place of the book that tells the same number or date
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


def _whole_words(expression: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{expression})\b", re.IGNORECASE)


_NUMBERS_IN_WORDS = [
    _NumberInWords(value, _whole_words(words), _whole_words(_TABLES["units"][unit]))
    for unit, spans in _TABLES["spans"].items()
    for words, value in spans.items()
]
_CALENDAR = frozenset(_TABLES["dates"].split())
_IN_OTHER_LANGUAGES = frozenset(_TABLES["other_languages"].split())
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

    `shown`: all that the model saw of the book and of the conversation. Names and quotations are
    also looked for in the whole book, and numbers and dates in the parts that tell of the same;
    with `only_shown` they are not.
    """
    answer = _blank_out(answer, REFERENCE.finditer(answer))
    whole = "" if only_shown else book.text
    text = _Text(f"{shown}\n{question}", question, book, whole)
    # The language of a short answer is hard to tell; it is that of the question.
    language = language_of(answer, language_of(question, text.language))
    quotations = _long_quotations(answer)
    foreign_quotations = [
        quotation.span()
        for quotation in quotations
        if not text.has_quotation(quotation[0], language)
    ]
    # The words of a quotation are not checked one by one.
    unquoted = _blank_out(answer, quotations)
    names = _foreign_names(unquoted, question, text, language)
    # "Twenty Thousand Leagues" is marked once, as a name.
    numbers = [
        span for span in _foreign_numbers(unquoted, text) if not overlaps(names, span)
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


def foreign_numbers_and_dates(
    answer: str, question: str, shown: str, book: Book, *, only_shown: bool = False
) -> list[Span]:
    """The numbers, months and days of the answer that a text lacks.

    With `only_shown` also those that other parts of the book tell. Quotations are left out.
    """
    answer = _blank_out(answer, REFERENCE.finditer(answer))
    answer = _blank_out(answer, _long_quotations(answer))
    whole = "" if only_shown else book.text
    text = _Text(f"{shown}\n{question}", question, book, whole)
    language = language_of(answer, language_of(question, text.language))
    dates = [
        word.span()
        for word in ALPHABETIC.finditer(answer)
        if fold(word[0]) in _CALENDAR and _is_foreign_date(word, answer, text, language)
    ]
    return [*_foreign_numbers(answer, text), *dates]


def _long_quotations(answer: str) -> list[re.Match[str]]:
    quotations = pattern("quotation").finditer(answer)
    return [
        quotation
        for quotation in quotations
        if len(ALPHABETIC.findall(quotation[0])) >= _QUOTED_WORDS
    ]


def _blank_out(text: str, matches: Iterable[re.Match[str]]) -> str:
    """The text with blanks in place of the matches, so that offsets stay."""
    for match in matches:
        start, end = match.span()
        blanks = " " * (end - start)
        text = f"{text[:start]}{blanks}{text[end:]}"
    return text


@dataclass
class _Text:
    """What an answer is compared with: the text that was shown, and the book."""

    shown: str
    question: str
    book: Book
    whole: str  # The text of the book; empty if only the text that was shown counts

    @property
    def language(self) -> str:
        return code_of(self.book.language)

    @cached_property
    def words(self) -> str:
        """All that may have a word of the answer, as `fold` leaves it."""
        authors = " ".join(self.book.authors)
        texts = (self.shown, self.book.title, authors, self.whole)
        return "\n".join(map(fold, texts))

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The numbers of the text shown, without those of headings.

        "Chapter 43" says nothing about forty-three men.
        """
        headings = {
            self.book.text[paragraph.start : paragraph.end]
            for paragraph in self.book.paragraphs
            if paragraph.kind is _HEADING
        }
        lines = self.shown.splitlines()
        body = [line for line in lines if line.strip() not in headings]
        return _numbers_told("\n".join(body))

    @cached_property
    def names(self) -> set[str]:
        """The words that are always capitalised.

        "Hardly" is none of them, so that it does not count as a spelling of "Harry".
        """
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

        "Londres" may be London, and "Cornouailles" Cornwall.
        """
        if plain in _IN_OTHER_LANGUAGES:
            return True
        beginning = plain[:_COMMON_LETTERS]
        return any(beginning == name[:_COMMON_LETTERS] for name in self.names)

    def tells_elsewhere(self, statement: str, has: Callable[[str], bool]) -> bool:
        """Whether a paragraph of the book `has` it, next to two of the statement's words."""
        terms = Terms(self.language or "en")
        left_out = terms.stop_words | titles().keys() | _CALENDAR
        words = [word for word in terms.words(statement) if word not in left_out]
        stems = {terms.stem(word) for word in words if not any(numbers_in(word))}
        if not self.whole or len(stems) < _TOLD_WORDS:
            return False
        text = self.book.text
        for paragraph in self.book.paragraphs:
            if paragraph.kind is _HEADING:
                continue
            if not has(text[paragraph.start : paragraph.end]):
                continue
            near_start = max(0, paragraph.start - _NEARBY)
            near = text[near_start : paragraph.end + _NEARBY]
            shared = stems & {terms.stem(word) for word in terms.words(near)}
            if len(shared) >= _TOLD_WORDS:
                return True
        return False

    def has_measure(self, value: int, unit: str) -> bool:
        """Whether a number near this unit has the value."""
        spelling = r"f(?:ee|oo)t" if unit in ("foot", "feet") else rf"\b{unit}"
        unit_words = re.compile(spelling, re.IGNORECASE)
        for text in (self.shown, self.whole):
            for near in _lines_around(unit_words, text, _UNIT_NEAR):
                if value in _numbers_told(near):
                    return True
        return False

    def has_quotation(self, quotation: str, language: str) -> bool:
        """Whether the text has it, or it is a translation or a title.

        Punctuation, speech tags and what an ellipsis leaves out do not count. `language`: that of
        the answer.
        """
        is_translation = language_of(quotation, language) != self.language
        words = ALPHABETIC.findall(quotation)
        is_title = sum(word[0].isupper() for word in words) > len(words) / 2
        if is_translation or is_title:
            return True
        pieces = [_letters(piece) for piece in pattern("omission").split(quotation)]
        texts = (*_letters_of(self.shown), *_letters_of(self.whole))
        return any(all(piece in letters for piece in pieces) for letters in texts)


@lru_cache(4)
def fold(text: str) -> str:
    """The text in lower case, without diacritics, with straight apostrophes."""
    text = text.casefold().replace("’", "'")
    with_diacritics = {
        letter for letter in set(text) if letter.isalpha() and not letter.isascii()
    }
    return text.translate({ord(letter): folded(letter) for letter in with_diacritics})


def _without_genitive(word: str) -> str:
    """Remove the "'s" of "harry's", or the "'" of "montresors'"."""
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
    # "A score of" is twenty, "score" alone is not.
    is_score = answer[number.start : number.end].lower() == "score"
    if is_score or number.value < _LEAST_NUMBER:
        return True
    # "1. She left."
    begins_line = re.search(r"(?:\A|\n)[ \t*-]*\Z", before)
    if begins_line and re.match(r"[.)]\s+\S", answer[number.end :]):
        return True
    # "in chapter 3"
    if pattern("numbered_thing").search(before):
        return True
    # "Four men: A, B, C and D"
    return bool(pattern("begins_a_list").match(answer, number.end))


def _has_number(number: _Number, answer: str, text: _Text) -> bool:
    """Whether the text has a number of the answer, or may have it in other words."""
    value = number.value
    if _has_in_other_words(number, answer, text):
        return True
    if text.language == "en":
        unit = pattern("unit_of_measure").match(answer, number.end)
        if unit:
            return text.has_measure(value, unit[1].lower())
    if value in text.numbers:
        return True
    tells = _tells_year_of_era if _is_era(number, answer) else _tells_number
    sentence = _sentence_around(answer, number.start)
    return text.tells_elsewhere(sentence, partial(tells, value))


def _has_in_other_words(number: _Number, answer: str, text: _Text) -> bool:
    """Whether the text has the number as a span of time, a year of an era, or approximately.

    True also if another language may write it in words.
    """
    value = number.value
    counted = f"{text.question} {_sentence_around(answer, number.start)}"
    if _is_span_of_time(value, counted, text.shown):
        return True
    if _is_era(number, answer) and _is_era_of_any(text.numbers, value):
        return True
    is_small_or_round = value < _HUNDRED or value % _HUNDRED == 0
    if text.language != "en" and is_small_or_round:
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


def _is_era_of_any(years: Iterable[int], era: int) -> bool:
    return any(era in _eras_of(year) for year in years)


def _numbers_told(text: str) -> frozenset[int]:
    """All numbers of a text, and the numbers that these are composed of."""
    return frozenset(part for _, parts in numbers_in(text) for part in parts)


def _tells_number(value: int, text: str) -> bool:
    return any(value == number for number, _ in numbers_in(text))


def _tells_year_of_era(era: int, text: str) -> bool:
    return _is_era_of_any((number for number, _ in numbers_in(text)), era)


def _eras_of(year: int) -> frozenset[int]:
    """A year, its decade and its century: 1897, 1890 and 19."""
    decade = year // _DECADE * _DECADE
    century = year // _CENTURY + 1
    return frozenset((year, decade, century))


def _lines_around(words: re.Pattern[str], text: str, most: int) -> Iterator[str]:
    """The line of each match, cut to `most` characters on each side."""
    for match in words.finditer(text):
        before = text[max(0, match.start() - most) : match.start()]
        from_match = text[match.start() : match.end() + most]
        yield before.rpartition("\n")[2] + from_match.partition("\n")[0]


def _sentence_around(answer: str, offset: int) -> str:
    """The sentence at `offset`; the whole answer if there is none."""
    for start, end in sentence_spans(answer):
        if start <= offset < end:
            return answer[start:end]
    return answer


def _numbers_of(answer: str) -> Iterator[_Number]:
    """The numbers of an answer: runs of words that `numbers_in` understands."""
    runs: list[Span] = []
    for match in pattern("number_of_an_answer").finditer(answer):
        if not any(numbers_in(match[0])):
            continue
        if runs:
            run_start, run_end = runs[-1]
            between = answer[run_end : match.start()]
            # "twenty-five", "a hundred and two"
            if re.fullmatch(r"[ -]+(?:and |a )?", between):
                runs[-1] = run_start, match.end()
                continue
        runs.append(match.span())
    for start, end in runs:
        numbers = list(numbers_in(answer[start:end]))
        if len(numbers) == 1:
            value, _ = numbers[0]
            yield _Number(start, end, value)


def _foreign_names(
    answer: str, question: str, text: _Text, language: str
) -> list[Span]:
    """The names that neither the text nor the question has. Adjacent words are one name."""
    # German capitalises all nouns.
    if language == "de" or not capitals_mark_names(text.book.text[:_BEGINNING]):
        return []
    names: list[Span] = []
    for word in ALPHABETIC.finditer(answer):
        if not _is_foreign(word, answer, question, text, language):
            continue
        if names:
            name_start, name_end = names[-1]
            is_adjacent = not answer[name_end : word.start()].strip()
            if is_adjacent:
                names[-1] = name_start, word.end()
                continue
        names.append(word.span())
    return names


def _is_foreign(
    word: re.Match[str], answer: str, question: str, text: _Text, language: str
) -> bool:
    """Whether a word of the answer is a name or date that the text lacks."""
    if fold(word[0]) in _CALENDAR:
        is_foreign = _is_foreign_date(word, answer, text, language)
    else:
        is_name = _is_name(word, answer, question)
        is_foreign = is_name and not text.has_name(word[0], language)
    if not is_foreign:
        return False
    # "Kent" in "in Ramsgate, Kent" is common knowledge if the text has Ramsgate.
    place = pattern("in_a_place").search(answer, 0, word.start())
    is_around_known_place = place and text.has_name(place[1], language)
    return not is_around_known_place


def _is_foreign_date(
    match: re.Match[str], answer: str, text: _Text, language: str
) -> bool:
    """Whether the text shown lacks a month or day of the week, and the book where it tells of it.

    English only.
    """
    word = match[0].lower()
    is_english = text.language == "en" and language == "en"
    if not match[0].istitle() or not is_english:
        return False
    abbreviated = word[:_COMMON_LETTERS_OF_DATES].title()
    # "September", "Sept."
    names_it = re.compile(rf"(?i:\b{word}s?\b)|\b{abbreviated}[a-z]{{0,2}}\.")

    def has_date(paragraph: str) -> bool:
        return bool(names_it.search(paragraph))

    if has_date(text.shown):
        return False
    sentence = _sentence_around(answer, match.start())
    return not text.tells_elsewhere(sentence, has_date)


def _is_name(match: re.Match[str], answer: str, question: str) -> bool:
    """Whether a capitalised word is a name.

    A title or nationality is not, and the first word of a sentence seldom is.
    """
    plain = _without_genitive(fold(match[0]))
    if not _may_be_name(match[0]) or len(plain) < _LEAST_LETTERS:
        return False
    is_also_lower_case = re.search(rf"\b{re.escape(plain)}\b", answer)
    if plain in _not_names() or is_also_lower_case:
        return False
    before = answer[: match.start()]
    opens_sentence = pattern("opens_sentence").search(before)
    if not opens_sentence or pattern("abbreviation").search(before):
        return not pattern("title_case").search(before)
    if plain in first_names():
        return True
    return _is_name_at_first(match, plain, answer, question)


def _may_be_name(word: str) -> bool:
    """Whether a word is capitalised, and no abbreviation or Roman numeral."""
    is_capitalised = word[0].isupper() and word[0].isascii()
    return is_capitalised and not (word.isupper() or _ROMAN.fullmatch(word))


def _is_name_at_first(
    match: re.Match[str], plain: str, answer: str, question: str
) -> bool:
    """Whether the first word of a sentence is a name: it acts, or is the whole answer."""
    is_pronoun_or_plural = pattern("pronoun_or_plural").fullmatch(plain)
    if is_pronoun_or_plural or pattern("common_ending").fullmatch(plain):
        return False
    if pattern("person_acts").match(answer, match.end()):
        return True
    is_asked_for = pattern("asks_who_or_a_name").match(question)
    begins_answer = not answer[: match.start()].strip()
    if not is_asked_for or not begins_answer:
        return False
    is_only_word = len(ALPHABETIC.findall(answer)) == 1
    if is_only_word and len(answer.split()) <= _BARE_WORDS:
        return True
    return bool(pattern("acts").match(answer, match.end()))


def _not_names() -> frozenset[str]:
    listed = frozenset(f"{_TABLES['national']} {_TABLES['headings']}".split())
    return listed | titles().keys() | word_set("alone") | stop_words()["en"]
