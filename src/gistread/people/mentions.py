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
from itertools import islice
from pathlib import Path

from gistread.book.model import Book, ParagraphKind
from gistread.memory.front_matter import front_matter_end
from gistread.memory.guard import capitals_mark_names
from gistread.people.contexts import context_of
from gistread.search.tokens import stop_words

_UPPER = "".join(
    character for character in map(chr, range(0x530)) if character.isupper()
)
_LETTER = r"[^\W\d_]"
# "d'Artagnan", "al-Rashid": written small and joined to the name.
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
_NAME = re.compile(
    rf"\b(?:(?:{_ABBREVIATED}|{_OF}|{_WORD}) (?:{_PARTICLE} )*"
    rf"(?={_JOINED_PARTICLE}[{_UPPER}]))*{_WORD}"
)
# I'll; don't; Roman numbers
_IS_NO_NAME = re.compile(r"i'.+|\w+n't|[ivxlcdm]+(?<!di|vi|ic|li|im|il|mi)")
_SMALL_WORD = re.compile(r"\b[^\W\d_A-Z][^\W\d_]*\b")
_OPENS = re.compile(r"(?:^|[.!?…:;]|[“\"‘«—(\[*_-])[\s“\"‘’'«—(\[*_-]*\Z")
_OPENING = 8  # Characters before a name that tell whether a sentence begins with it
_BEGINS_NAME = ("mr", "mrs", "miss")  # Also within a run: "Last Sunday Mr Arabin"
_LONGEST_ABBREVIATION = 3  # Letters of a name in capitals
_ARTICLE = "the "
_PARTED = 2  # Least words of two names that stand side by side
_STRETCH = 50_000  # Characters whose words are held at once
_SAMPLE = 30_000  # Characters that show whether capitals mark names
_SELDOM = 0.25  # Share of lower-case uses below which a capitalised word is a name


@dataclass(slots=True)
class Form:
    """A name as written, and its mentions."""

    text: str
    # Ascending offsets of the book's text
    starts: "array[int]" = field(default_factory=lambda: array("I"))
    # A `MentionContext` for each of them
    contexts: "array[int]" = field(default_factory=lambda: array("H"))
    is_word: bool = False  # Whether the book writes its last word small too

    def upto(self, end: int) -> "Form":
        """The form with the mentions that end before this offset."""
        count = bisect_left(self.starts, end - len(self.text) + 1)
        return Form(self.text, self.starts[:count], self.contexts[:count], self.is_word)


def has_between(starts: Sequence[int], first: int, last: int) -> bool:
    """Whether one of these ascending offsets is from `first` to `last`."""
    at = bisect_left(starts, first)
    return at < len(starts) and starts[at] <= last


@cache
def word_tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


@cache
def word_set(table: str, key: str = "words") -> frozenset[str]:
    return frozenset(word_tables()[table][key].split())


@cache
def titles() -> dict[str, str]:
    """The kind of each title: man, wife, woman, anyone."""
    return {
        title: kind
        for kind, listed in word_tables()["titles"].items()
        for title in listed.split()
    }


@cache
def first_names() -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """The sex of each known first name, and the full names of each short form."""
    sexes: dict[str, str] = {}
    short: dict[str, set[str]] = {}
    for sex, table in (("man", "men"), ("woman", "women")):
        for entry in word_tables()[table]["names"].split():
            name, *forms = re.split("[=,]", entry)
            for each in forms:
                short.setdefault(each, set()).add(name)
            for each in (name, *forms):
                sexes[each] = "" if sexes.get(each, sex) != sex else sex
    return sexes, {form: frozenset(names) for form, names in short.items()}


def plain(word: str) -> str:
    """A word of a name as in the tables: lower case, without a full stop."""
    return word.lower().rstrip(".").replace("’", "'")


def supports_names(book: Book) -> bool:
    """Whether the rules know the book's language: English, where capitals mark names."""
    english = book.language.lower().partition("-")[0] in ("", "en")
    return english and bool(book.text) and capitals_mark_names(book.text[:_SAMPLE])


def find_names(book: Book, start: int = 0) -> list[Form]:
    """The names in `book.text[start:]` by first mention. War and Peace takes about 2 s."""
    runs = [
        _Run(
            match,
            tuple(map(plain, match[0].split())),
            _opens(book.text, match.start(), begin),
        )
        for begin, end in _prose(book, start)
        for match in _NAME.finditer(book.text, begin, end)
    ]
    alone = {run.words for run in runs}
    runs = [part for run in runs for part in _parted(run, alone)]
    small = _count_small_words(book.text, start)
    words = _name_words(runs, small)
    forms: dict[str, Form] = {}
    for run in runs:
        at, text = _name_in(run, words)
        if not text:
            continue
        form = forms.get(text)
        if form is None:
            is_word = small[plain(text.split()[-1])] > 0
            form = forms[text] = Form(text, is_word=is_word)
        form.starts.append(at)
        form.contexts.append(context_of(book.text, at, at + len(text)))
    return list(forms.values())


def _count_small_words(text: str, start: int) -> Counter[str]:
    """How often each word is written small from `start` on.

    Stretch by stretch: all words of a novel at once take several times the memory of its text.
    """
    counts: Counter[str] = Counter()
    while start < len(text):
        line_end = text.find("\n", start + _STRETCH)
        end = len(text) if line_end < 0 else line_end
        counts.update(_SMALL_WORD.findall(text, start, end))
        start = end
    return counts


@dataclass(frozen=True, slots=True)
class _Run:
    """Capitalised words in a row."""

    match: re.Match[str]
    words: tuple[str, ...]  # As in the tables (`plain`)
    opens: bool  # Whether a sentence or a quotation begins with it


def _parted(run: _Run, alone: Set[tuple[str, ...]]) -> tuple[_Run, ...]:
    """The names of a run that only stand side by side. `alone`: all runs of the book."""
    at = _second_name(run, alone)
    if at is None:
        return (run,)
    text = run.match.string
    start, end = run.match.span()
    *_, last = islice(re.finditer(r"\S+", run.match[0]), at)
    first = _NAME.match(text, start, start + last.end())
    second = _NAME.match(text, start + last.end() + 1, end)
    if first is None or second is None:
        return (run,)
    rest = _Run(second, run.words[at:], opens=False)
    return (replace(run, match=first, words=run.words[:at]), *_parted(rest, alone))


def _second_name(run: _Run, alone: Set[tuple[str, ...]]) -> int | None:
    """Index of the word with which a second name begins; None without one.

    "Miss Wray Miss Orr"; "on the Heron Stone Daniel Crane was kneeling": each has two words and
    stands alone elsewhere, and the first has an article, unlike "Anna Mary Jane Smith".
    """
    beginnings = [at for at, word in enumerate(run.words) if word in _BEGINS_NAME]
    for at in beginnings[1:]:
        if at > beginnings[0] + 1:  # Not "Mr. Miss"
            return at
    begin = run.match.start()
    if run.match.string[max(0, begin - len(_ARTICLE)) : begin].lower() != _ARTICLE:
        return None
    for at in range(_PARTED, len(run.words) - _PARTED + 1):
        if run.words[:at] in alone and run.words[at:] in alone:
            return at
    return None


@dataclass(frozen=True, slots=True)
class _NameWords:
    """Which capitalised words of a book are names."""

    not_names: Set[str]
    opening: Set[str]  # Names at the beginning of a sentence too

    def has(self, run: _Run, at: int) -> bool:
        """Whether the word at this index of a run is one."""
        word = run.words[at]
        if run.opens and at == 0:
            return word in self.opening
        is_title = word in titles() and at + 1 < len(run.words)
        return is_title or word not in self.not_names

    def may_end(self, run: _Run, first: int, last: int) -> bool:
        """Whether a name may begin and end with the words at these indices of a run."""
        word = run.words[last]
        precedes_names = word in titles() and word not in word_set(
            "following", "titles"
        )
        is_part = precedes_names or word in PARTICLES
        return self.has(run, last) and not (is_part and last > first)


def _name_words(runs: Iterable[_Run], small: Mapping[str, int]) -> _NameWords:
    """By how often words are capitalised inside sentences, and how often `small`."""
    inside = Counter(word for run in runs for word in run.words[run.opens :])
    never = word_set("never") | (stop_words()["en"] - titles().keys())
    never |= {word for word in inside if _IS_NO_NAME.fullmatch(word)}
    not_names = never | {
        word for word in inside if inside[word] < _SELDOM * small[word]
    }
    opening = {
        word
        for word in inside
        if word in titles() or (word not in not_names and inside[word] > small[word])
    }
    return _NameWords(not_names, opening)


def _prose(book: Book, start: int) -> Iterator[tuple[int, int]]:
    begins = max(start, front_matter_end(book))
    for paragraph in book.paragraphs:
        if paragraph.start >= begins and paragraph.kind not in (
            ParagraphKind.HEADING,
            ParagraphKind.CODE,
        ):
            yield paragraph.start, paragraph.end


def _opens(text: str, at: int, start: int) -> bool:
    """Whether a sentence or a quotation begins here."""
    return at == start or bool(_OPENS.search(text[max(start, at - _OPENING) : at]))


def _name_in(run: _Run, words: _NameWords) -> tuple[int, str]:
    """Offset and text of the name in a run, cut at its ends.

    "" if there is none.
    """
    first = next((at for at, word in enumerate(run.words) if word in _BEGINS_NAME), 0)
    last = len(run.words) - 1
    days = word_set("alone", "days")
    while first < last and run.words[first] in days:
        first += 1
    while first <= last and not words.has(run, first):
        first += 1
    while last >= first and not words.may_end(run, first, last):
        last -= 1
    if first > last or run.words[last] in days:  # "Whit Monday"
        return 0, ""
    spans = [word.span() for word in re.finditer(r"\S+", run.match[0])]
    start, end = spans[first][0], spans[last][1]
    text = run.match[0][start:end].rstrip(".")
    return run.match.start() + start, text if _is_name(text) else ""


def _is_name(text: str) -> bool:
    """Whether this is more than a letter, no common word, and not written in capitals."""
    is_shouted = text.isupper() and len(text) > _LONGEST_ABBREVIATION
    is_common = plain(text).replace(" ", "_") in word_set("alone")
    return len(text) > 1 and not is_common and not is_shouted
