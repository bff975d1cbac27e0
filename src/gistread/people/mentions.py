"""Finds the names in a book: the offsets of each form, and hints from the words around it.

A name is one or more capitalised words. A word that begins a sentence counts only if it is also
capitalised inside sentences and seldom in lower case.
"""

import re
import tomllib
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from gistread.book.model import Book, ParagraphKind
from gistread.memory.front_matter import without_imprint_of
from gistread.memory.guard import capitals_mark_names
from gistread.people.contexts import context_of
from gistread.search.tokens import stop_words

# All capitals of Latin, Greek and Cyrillic
_UPPER = "".join(
    character for character in map(chr, range(0x530)) if character.isupper()
)
_LETTER = r"[^\W\d_]"
# "d'" in "d'Artagnan", "al-" in "al-Rashid"
_JOINED_PARTICLE = r"(?:[dl]['’]|(?:al|el|an|ar|as|ash|at|az)-)?"
_WORD = rf"{_JOINED_PARTICLE}[{_UPPER}]{_LETTER}*(?:['’-](?!(?:s|d|ll|ve|re|m)\b){_LETTER}+)*"
_ABBREVIATED = (
    rf"(?:[{_UPPER}]|Mrs?|Ms|Mme|Mlle|Drs?|St|Prof|Capt|Col|Maj|Gen|Lieut|Sergt?|"
    r"Rev|Hon|Esq|Jr)\."
)
PARTICLES = frozenset(
    "de du da di del della dei do dos das van von der den ter ten zu zum zur la le y al el "
    "bin ibn bint ben af av".split()
)
_PARTICLE = f"(?:{'|'.join(sorted(PARTICLES))})"
# "Duke of Wellington", but not "Dr. Bull of Syme's men".
_OF = (
    r"(?:Duke|Duchess|Earl|Count(?:ess)?|King|Queen|Knave|Prince(?:ss)?|Master|"
    r"Dean|Bishop|Archbishop|Marquis|Baron) of"
)
# Capitalised words, and what may be between: "Mr. Darcy", "Vasco da Gama", "Duke of Wellington"
_NAME = re.compile(
    rf"\b(?:(?:{_ABBREVIATED}|{_OF}|{_WORD}) (?:{_PARTICLE} )*"
    rf"(?={_JOINED_PARTICLE}[{_UPPER}]))*{_WORD}"
)
# "I'll", "don't", Roman numerals
_IS_NO_NAME = re.compile(r"i'.+|\w+n't|[ivxlcdm]+(?<!di|vi|ic|li|im|il|mi)")
_LOWER_CASE_WORD = re.compile(r"\b[^\W\d_A-Z][^\W\d_]*\b")
# The end of a text after which a sentence or a quotation begins: ". “"
_OPENS = re.compile(r"(?:^|[.!?…:;]|[“\"‘«—(\[*_-])[\s“\"‘’'«—(\[*_-]*\Z")
_OPENING = 8  # So many characters before a name show whether a sentence begins with it
_BEGINS_NAME = ("mr", "mrs", "miss")  # Also within a run: "Last Sunday Mr Arabin"
_LONGEST_ABBREVIATION = 3  # Letters of a name in capitals
_ARTICLE = "the "
_LEAST_ADJACENT = 2  # Least words of each of two adjacent names
_STRETCH = 50_000  # Characters whose words are in memory at once
_SAMPLE = 30_000  # Characters that show whether capitals mark names
# A word is no name if it is capitalised inside sentences less than a quarter as often as not.
_SELDOM = 0.25


@dataclass(slots=True)
class Form:
    """A name as written, and its mentions."""

    text: str
    # Ascending offsets of the book's text
    starts: "array[int]" = field(default_factory=lambda: array("I"))
    # A `MentionContext` for each of them
    contexts: "array[int]" = field(default_factory=lambda: array("H"))
    is_word: bool = False  # Whether the book also has its last word in lower case

    def upto(self, end: int) -> "Form":
        """The form with the mentions that end before this offset."""
        count = bisect_left(self.starts, end - len(self.text) + 1)
        return Form(self.text, self.starts[:count], self.contexts[:count], self.is_word)


def has_between(starts: Sequence[int], first: int, last: int) -> bool:
    """Whether one of these ascending offsets is from `first` to `last`."""
    index = bisect_left(starts, first)
    return index < len(starts) and starts[index] <= last


@cache
def word_tables() -> dict[str, dict[str, str]]:
    """The tables of `words.toml`."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


@cache
def word_set(table: str, key: str = "words") -> frozenset[str]:
    """The words of one entry of `words.toml`."""
    return frozenset(word_tables()[table][key].split())


@cache
def titles() -> dict[str, str]:
    """The kind of each title: man, wife, woman, anyone."""
    return {
        title: kind
        for kind, words in word_tables()["titles"].items()
        for title in words.split()
    }


@cache
def first_names() -> dict[str, str]:
    """The sex of each known first name or short form; empty if both sexes have it."""
    sexes: dict[str, str] = {}
    for sex, table in (("man", "men"), ("woman", "women")):
        for name, forms in _listed_names(table):
            for form in (name, *forms):
                is_unique = sexes.get(form, sex) == sex
                sexes[form] = sex if is_unique else ""
    return sexes


@cache
def short_forms() -> dict[str, frozenset[str]]:
    """The full names of each short form: Richard for "dick"."""
    full_names: dict[str, frozenset[str]] = {}
    for table in ("men", "women"):
        for name, forms in _listed_names(table):
            for form in forms:
                full_names[form] = full_names.get(form, frozenset()) | {name}
    return full_names


def _listed_names(table: str) -> Iterator[tuple[str, list[str]]]:
    """The names of a table with their short forms, from entries such as "richard=dick,rick"."""
    for entry in word_tables()[table]["names"].split():
        name, *forms = re.split("[=,]", entry)
        yield name, forms


def plain(word: str) -> str:
    """A word of a name as in the tables: lower case, without a full stop."""
    return word.lower().rstrip(".").replace("’", "'")


def supports_names(book: Book) -> bool:
    """Whether the rules know the book's language: English, where capitals mark names."""
    language, _, _ = book.language.lower().partition("-")
    if language not in ("", "en") or not book.text:
        return False
    return capitals_mark_names(book.text[:_SAMPLE])


def find_names(book: Book, start: int = 0) -> list[Form]:
    """The names in `book.text[start:]` by first mention. War and Peace takes about 2 s."""
    runs: list[_Run] = []
    for paragraph_start, paragraph_end in _prose(book, start):
        for match in _NAME.finditer(book.text, paragraph_start, paragraph_end):
            words = tuple(map(plain, match[0].split()))
            opens = _opens(book.text, match.start(), paragraph_start)
            runs.append(_Run(match, words, opens))
    all_runs = {run.words for run in runs}
    runs = [name for run in runs for name in _adjacent_names(run, all_runs)]
    lower_case = _count_lower_case_words(book.text, start)
    name_words = _name_words(runs, lower_case)
    forms: dict[str, Form] = {}
    for run in runs:
        offset, text = _name_in(run, name_words)
        if not text:
            continue
        form = forms.get(text)
        if form is None:
            last_word = plain(text.split()[-1])
            form = Form(text, is_word=lower_case[last_word] > 0)
            forms[text] = form
        form.starts.append(offset)
        form.contexts.append(context_of(book.text, offset, offset + len(text)))
    return list(forms.values())


def _count_lower_case_words(text: str, start: int) -> Counter[str]:
    """How often each word is written in lower case from `start` on.

    Counts one stretch after another: all words of a novel at once take several times the memory of
    its text.
    """
    counts: Counter[str] = Counter()
    while start < len(text):
        line_end = text.find("\n", start + _STRETCH)
        end = len(text) if line_end < 0 else line_end
        counts.update(_LOWER_CASE_WORD.findall(text, start, end))
        start = end
    return counts


@dataclass(frozen=True, slots=True)
class _Run:
    """Capitalised words in a row."""

    match: re.Match[str]
    words: tuple[str, ...]  # As in the tables (`plain`)
    opens: bool  # Whether a sentence or a quotation begins with it


def _adjacent_names(run: _Run, all_runs: Set[tuple[str, ...]]) -> tuple[_Run, ...]:
    """The names of a run, which may be several side by side.

    `all_runs`: the words of all runs of the book.
    """
    index = _second_name(run, all_runs)
    if index is None:
        return (run,)
    text = run.match.string
    start, end = run.match.span()
    words = list(re.finditer(r"\S+", run.match[0]))
    first_end = start + words[index - 1].end()
    first = _NAME.match(text, start, first_end)
    second = _NAME.match(text, first_end + 1, end)
    if first is None or second is None:
        return (run,)
    first_run = replace(run, match=first, words=run.words[:index])
    others = _Run(second, run.words[index:], opens=False)
    return (first_run, *_adjacent_names(others, all_runs))


def _second_name(run: _Run, all_runs: Set[tuple[str, ...]]) -> int | None:
    """Index of the word with which a second name begins; None without one.

    Either it has a title ("Miss Wray Miss Orr"), or the first has an article ("on the Heron Stone
    Daniel Crane was kneeling"). Then each of the two must have two words and stand alone elsewhere,
    unlike "Anna Mary Jane Smith".
    """
    titles_at = [index for index, word in enumerate(run.words) if word in _BEGINS_NAME]
    for index in titles_at[1:]:
        if index > titles_at[0] + 1:  # Not "Mr. Miss"
            return index
    start = run.match.start()
    before = run.match.string[max(0, start - len(_ARTICLE)) : start]
    if before.lower() != _ARTICLE:
        return None
    last_index = len(run.words) - _LEAST_ADJACENT
    for index in range(_LEAST_ADJACENT, last_index + 1):
        first, second = run.words[:index], run.words[index:]
        if first in all_runs and second in all_runs:
            return index
    return None


@dataclass(frozen=True, slots=True)
class _NameWords:
    """Which capitalised words of a book are names."""

    not_names: Set[str]
    opening: Set[str]  # Those that are names at the beginning of a sentence too

    def has(self, run: _Run, index: int) -> bool:
        """Whether the word at this index of a run is a name."""
        word = run.words[index]
        if run.opens and index == 0:
            return word in self.opening
        is_title = word in titles() and index + 1 < len(run.words)
        return is_title or word not in self.not_names

    def may_end(self, run: _Run, first: int, last: int) -> bool:
        """Whether a name that begins at the index `first` of a run may end at `last`."""
        if not self.has(run, last):
            return False
        if last == first:
            return True
        # A longer name ends neither with a title, except one such as "pasha", nor with "de".
        word = run.words[last]
        follows_names = word in word_set("following", "titles")
        precedes_names = word in titles() and not follows_names
        return not precedes_names and word not in PARTICLES


def _name_words(runs: Iterable[_Run], lower_case: Mapping[str, int]) -> _NameWords:
    """Decide by how often words are capitalised inside sentences, and how often `lower_case`."""
    capitalised: Counter[str] = Counter()
    for run in runs:
        # The first word of a sentence is capitalised in any case.
        capitalised.update(run.words[1:] if run.opens else run.words)
    never = word_set("never") | (stop_words()["en"] - titles().keys())
    never |= {word for word in capitalised if _IS_NO_NAME.fullmatch(word)}
    seldom: set[str] = set()
    often: set[str] = set()
    for word, count in capitalised.items():
        if count < _SELDOM * lower_case[word]:
            seldom.add(word)
        elif count > lower_case[word]:
            often.add(word)
    not_names = never | seldom
    known_titles = capitalised.keys() & titles().keys()
    return _NameWords(not_names, opening=(often - not_names) | known_titles)


def _prose(book: Book, start: int) -> Iterator[tuple[int, int]]:
    """The paragraphs from `start` on without headings, code and imprint."""
    part_start, part_end = without_imprint_of(book)
    first = max(start, part_start)
    for paragraph in book.paragraphs:
        is_prose = paragraph.kind not in (ParagraphKind.HEADING, ParagraphKind.CODE)
        if is_prose and first <= paragraph.start < part_end:
            yield paragraph.start, paragraph.end


def _opens(text: str, offset: int, paragraph_start: int) -> bool:
    """Whether a sentence or a quotation begins here."""
    if offset == paragraph_start:
        return True
    before = text[max(paragraph_start, offset - _OPENING) : offset]
    return bool(_OPENS.search(before))


def _name_in(run: _Run, words: _NameWords) -> tuple[int, str]:
    """Offset and text of the name in a run, without words before and after that are not names.

    The text is empty if there is no name.
    """
    first = _first_name_word(run, words)
    last = len(run.words) - 1
    while last >= first and not words.may_end(run, first, last):
        last -= 1
    days = word_set("alone", "days")
    if first > last or run.words[last] in days:  # "Whit Monday"
        return 0, ""
    matches = list(re.finditer(r"\S+", run.match[0]))
    start, end = matches[first].start(), matches[last].end()
    text = run.match[0][start:end].rstrip(".")
    if not _is_name(text):
        return 0, ""
    return run.match.start() + start, text


def _first_name_word(run: _Run, words: _NameWords) -> int:
    """Index of the word with which the name in a run begins; `len(run.words)` without one."""
    first = 0
    for index, word in enumerate(run.words):
        if word in _BEGINS_NAME:
            first = index
            break
    last = len(run.words) - 1
    days = word_set("alone", "days")
    while first < last and run.words[first] in days:  # "Saturday Dr. Penn came"
        first += 1
    while first <= last and not words.has(run, first):
        first += 1
    return first


def _is_name(text: str) -> bool:
    """Whether this is more than a letter, no common word, and not written in capitals."""
    if len(text) < 2:
        return False
    # A few capitals are an abbreviation that may be a name.
    is_in_capitals = text.isupper() and len(text) > _LONGEST_ABBREVIATION
    is_common = plain(text).replace(" ", "_") in word_set("alone")
    return not is_common and not is_in_capitals
