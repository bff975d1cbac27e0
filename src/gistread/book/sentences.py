"""Splits text into sentences in linear time.

Rules tell sentence ends from abbreviations, initials and numbers of common languages.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Longer sentences are split at white space, or anywhere if there is none
LONGEST_CHARACTERS = 4000

# Closing characters that may follow a sentence end.
_CLOSING = "\"'”’“‘»«›‹)\\]」』）】》〉"
# A possible end: ". ", '?" ', "。」" or an empty line. Possessive, and matches only at the start of
# a run: a page of dots takes linear time.
_END = re.compile(
    f"(?<![.!?…])[.!?…]++[{_CLOSING}]*+(?: »)?(?=\\s)"
    f"|(?<![。！？｡؟۔।॥])[。！？｡؟۔।॥]++(?P<closed>[{_CLOSING}]*+)"
    "|\\n\\n++"
)

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ABBREVIATIONS = frozenset(_TABLES["abbreviations"].split())
_MAY_END = frozenset(_TABLES["may_end"].split())
_BEFORE_NUMBER = frozenset(_TABLES["before_number"].split())
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«—–-]*$")
# "z. B.", "d. h.", "т. е.", "p. ej.": a letter and a stop, after or before another one.
_SPACED_BEFORE = re.compile(r"(?:^|[\s(«„])[^\W\d_]{1,2}\.\s$")
_SPACED_AFTER = re.compile(r"\s(?:[^\W\d_]|ej|ex|es|UU)\.")
_OF_THE_STATES = "EE"  # Spanish "EE. UU.", the United States
_MAY_END_SPACED = frozenset("дпa")  # и т. д., и т. п.; u. a.
# A German date or ordinal: "am 3. Januar", "der 2. Stock".
_BEFORE_ORDINAL = re.compile(
    r"\b(?:a[mnb]|de[rmns]|die|das|vo[mn]|zu[mr]|im|bis|seit|ins"
    r"|jede[mnrs]?|sein[emnrs]*|ihr[emnrs]*)\s$",
    re.IGNORECASE,
)
# "p.m" of "p.m."
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?$")
_AFTER_NAMES = frozenset(("jr", "sr"))
_SPANISH_ARTICLES = frozenset(("El", "Al", "Del", "Un", "Este"))
_DOTTED_NEVER_END = frozenset(("i.e", "e.g", "d.h", "z.b", "c.-à-d"))
_AFTER_SPEECH = frozenset("とっ、，,")
_LOOK_BACK = 24  # Characters
_LOOK_AHEAD = 8
_GAP = re.compile(r"\s*")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, without surrounding white space.

    At most `LONGEST_CHARACTERS` long.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if _is_sentence_end(text, match):
            spans += _pieces(text, start, match.end())
            start = match.end()
    spans += _pieces(text, start, len(text))
    return spans


def _is_sentence_end(text: str, match: re.Match[str]) -> bool:
    """Whether a match of `_END` ends a sentence."""
    end = match.end()
    first_sign = text[match.start()]
    if first_sign == ".":
        return _full_stop_ends(text, match.start(), end)
    if first_sign in "!?…":
        return not _continues(text, end)
    # A Japanese or Chinese sentence may continue after speech: 「はい。」と言った。
    continues_after_speech = match["closed"] and text[end : end + 1] in _AFTER_SPEECH
    return not continues_after_speech


def _continues(text: str, end: int) -> bool:
    """Whether the sentence continues after a mark inside it: "Oh!" said she."""
    return text[end : end + _LOOK_AHEAD].lstrip()[:1].islower()


def _full_stop_ends(text: str, dot: int, end: int) -> bool:
    """Whether the full stop at `dot` ends a sentence; dots and closing marks follow up to `end`."""
    if _continues(text, end):
        return False
    is_single = end - dot == 1
    if not is_single:
        # An ellipsis or a closing quotation mark; abbreviations rarely precede either.
        return True
    stop = _stop_at(text, dot, end)
    for rule in _RULES:
        ends = rule(stop)
        if ends is not None:
            return ends
    return True


@dataclass(slots=True)
class _Stop:
    """A full stop, and what stands around it."""

    word: str  # The word that it follows
    before_word: str  # The text before that word
    after: str  # The text after it, with the space between
    starts_line: bool  # Whether the word begins its line

    @property
    def begins_upper(self) -> bool:
        """Whether the text after it begins with a capital."""
        return self.after.lstrip()[:1].isupper()

    @property
    def previous_word(self) -> str:
        """The word before `word`."""
        words = self.before_word.split()
        if not words:
            return ""
        return words[-1]


def _stop_at(text: str, dot: int, end: int) -> _Stop:
    """The full stop at `dot`; the text after it begins at `end`."""
    before = text[max(0, dot - _LOOK_BACK) : dot]
    match = _LAST_WORD.search(before)
    word = match[0] if match else ""
    start = dot - len(word)
    return _Stop(
        word=word,
        before_word=before.removesuffix(word),
        after=text[end : end + _LOOK_AHEAD],
        starts_line=start <= 0 or text[start - 1] == "\n",
    )


# Whether the sentence ends at a full stop, by one rule; None if the rule does not apply.
_EndsHere = bool | None


def _spaced_abbreviation(stop: _Stop) -> _EndsHere:
    """An abbreviation of several parts: "z. B.", "d. h.", "т. е.", "p. ej."."""
    word = stop.word
    if len(word) > 2 or not word.isalpha():
        return None
    # "Ask IT. I did": two capitals are a word.
    is_capitals = len(word) > 1 and word.isupper() and word != _OF_THE_STATES
    if not is_capitals and _SPACED_AFTER.match(stop.after):
        return False
    is_lower_letter = len(word) == 1 and word.islower()
    if is_lower_letter and _SPACED_BEFORE.search(stop.before_word):
        return word in _MAY_END_SPACED and stop.begins_upper
    return None


def _initial(stop: _Stop) -> _EndsHere:
    """An initial, unless the sentence ends with the pronoun "I".

    After a name it is not the pronoun: "Charles I.", "J. I. Packer".
    """
    word = stop.word
    if len(word) != 1 or not word.isalpha() or not word.isupper():
        return None
    follows_name = stop.previous_word[:1].isupper()
    return word == "I" and not follows_name


def _numbered(stop: _Stop) -> _EndsHere:
    """An abbreviation before a number: "д. 5", "p. 12", "Art. 5"."""
    if not stop.after.lstrip()[:1].isdigit():
        return None
    word = stop.word
    is_letter = len(word) == 1 and word.islower()
    if is_letter or word.lower() in _BEFORE_NUMBER:
        return False
    return None


def _russian_town(stop: _Stop) -> _EndsHere:
    """The Russian "г.": before a name a town, after a number a year."""
    is_year = stop.before_word.rstrip()[-1:].isdigit()
    if stop.word == "г" and not is_year:
        return False
    return None


def _junior(stop: _Stop) -> _EndsHere:
    """The word "Jr." or "Sr.": after a name in English, before one in Spanish ("Sr. Pérez")."""
    if stop.word.lower() not in _AFTER_NAMES:
        return None
    name = stop.previous_word
    is_after_name = name[:1].isupper() and name not in _SPANISH_ARTICLES
    return stop.begins_upper and is_after_name


def _abbreviation(stop: _Stop) -> _EndsHere:
    """An abbreviation such as "Dr.", which never ends a sentence, or "etc.", which may."""
    word = stop.word.lower()
    if word not in _ABBREVIATIONS:
        return None
    return word in _MAY_END and stop.begins_upper


def _dotted(stop: _Stop) -> _EndsHere:
    """Letters with dots: "at 5 p.m. She left" ends; "the U.S. Army" and "e.g. This" do not."""
    word = stop.word
    if not _DOTTED.match(word):
        return None
    return word.islower() and word not in _DOTTED_NEVER_END and stop.begins_upper


def _ordinal(stop: _Stop) -> _EndsHere:
    """An ordinal such as "3. Kapitel" stays with its word; larger numbers end sentences."""
    word = stop.word
    if len(word) > 2 or not word.isdigit():
        return None
    if _BEFORE_ORDINAL.search(stop.before_word):
        return False
    # At the start of a line, it numbers an item or a chapter.
    if stop.starts_line and stop.after:
        return False
    return None


_RULES: tuple[Callable[[_Stop], _EndsHere], ...] = (
    _spaced_abbreviation,
    _initial,
    _numbered,
    _russian_town,
    _junior,
    _abbreviation,
    _dotted,
    _ordinal,
)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence without surrounding white space, cut where it is too long."""
    sentence = text[start:end]
    start += len(sentence) - len(sentence.lstrip())
    end = start + len(sentence.strip())
    while end - start > LONGEST_CHARACTERS:
        limit = start + LONGEST_CHARACTERS
        line_end = text.rfind("\n", start + 1, limit)
        space = text.rfind(" ", start + 1, limit)
        last_space = max(line_end, space)
        cut = last_space + 1 if last_space >= 0 else limit
        yield start, start + len(text[start:cut].rstrip())
        gap = _GAP.match(text, cut)
        start = gap.end() if gap else cut
    if start < end:
        yield start, end
