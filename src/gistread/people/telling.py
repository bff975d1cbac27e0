"""Chooses the sentence that tells who somebody is, among all that name them.

A sentence tells if it says what the person is: "X was the daughter of …", "X, the lawyer", "my
uncle, X", "a sailor named X". Phrases are weighed by how much they say, and early ones count more.
The rules are English.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from string import Template

from gistread.book.model import Book
from gistread.memory.passages import Passage, sentences_of
from gistread.people.contexts import MentionContext
from gistread.people.index import Index
from gistread.people.joining import Entity
from gistread.people.mentions import Form, has_between, plain, titles, word_set

_AFTER = 260  # Characters after a name that are searched
_BEFORE = 140
_CLOSING = ',.;:!?)”"—’'
_MOST_MENTIONS = 4_000
_EARLY = 12  # People are introduced early: so many mentions count more
_FIRST = 4.0  # What they count more
_AS_ASKED = 3.0  # Weight of a mention by the name asked for
_LONGER = 1.5  # The same by that name with more words
_IN_SPEECH = 1.0  # What speech counts less
_BY_TITLE = 5.0  # Weight of a title that the name asked for lacks
_ASKED = 80  # Characters in front of a question mark that are not told but asked
_LISTED = 8.0  # What an item of a list counts less
_LISTED_WITHIN = 20  # Characters before a name in which a list shows
_MAY_TELL_WITHIN = 45  # The same for a phrase that tells
_ENDING = 3  # Characters at the end of a sentence in which a question mark stands
_LEAST_LETTERS = 3  # Of a word that is compared without its ending
# Pronouns that show a sex; with the four of `joining.py`, seven of 2,400 people are told worse
_LEAST_PRONOUNS = 6
_LEAST = 4.0  # Weight from which a phrase tells what somebody is


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence about somebody, and how clearly it tells what they are."""

    place: Passage
    weight: float
    tells: bool  # Whether it says what they are, and does not only name them


def telling_sentences(name: str, forms: Iterable[Form], book: Book) -> list[Told]:
    """The sentences that name somebody, the most telling first. About 0.1 ms a mention."""
    forms = list(forms)
    nearness = _nearness(name, forms)
    lengths = sorted((start, len(form.text)) for form in forms for start in form.starts)
    mentions = lengths[:_MOST_MENTIONS]
    first = {start for start, _ in mentions[:_EARLY]}
    candidates = {_sentence(start, 0, book): _Candidate() for start in sorted(first)}
    text = _marked(book.text)
    sex = _sex(forms)
    clues = [
        clue
        for start, length in mentions
        for clue in _clues(_Mention(text, start, start + length, sex))
    ]
    for clue in [*clues, *_clues_of_titles(name, forms)]:
        place = _sentence(clue.start, clue.until, book)
        bonus = nearness[clue.start] + _FIRST * (clue.start in first)
        candidate = candidates.setdefault(place, _Candidate(bonus=bonus))
        candidate.weight = max(candidate.weight, clue.weight)
        candidate.bonus = max(candidate.bonus, bonus)
        is_asked = _asks(place, book) and place[1] - clue.until < _ASKED
        candidate.tells = candidate.tells or (clue.weight >= _LEAST and not is_asked)
    sentences = [
        Told(
            place,
            _weight(candidate.weight, place, book) + candidate.bonus,
            candidate.tells,
        )
        for place, candidate in candidates.items()
    ]
    return sorted(
        sentences,
        key=lambda sentence: (-sentence.tells, -sentence.weight, sentence.place),
    )


@dataclass(slots=True)
class _Candidate:
    """A sentence that may tell who somebody is."""

    weight: float = 0.0  # Of its best clue
    bonus: float = 0.0  # For an early mention, or one by the name asked for
    tells: bool = False


def _nearness(name: str, forms: Iterable[Form]) -> dict[int, float]:
    """How near each mention is to the name asked for."""
    words_asked = _without_titles(name)
    nearness: dict[int, float] = {}
    for form in forms:
        words = _without_titles(form.text)
        if words == words_asked:
            worth = _AS_ASKED
        elif words > words_asked:
            worth = _LONGER
        elif words & words_asked:
            worth = 0.0
        else:
            worth = -_AS_ASKED
        nearness |= dict.fromkeys(form.starts, worth)
    return nearness


def _clues_of_titles(name: str, forms: Iterable[Form]) -> Iterator["_Clue"]:
    """The mentions with a title that the name lacks: "Lieutenant D’Arnot" tells who D’Arnot is."""
    ranks = word_set("roles", "work") & titles().keys()
    for word in map(plain, name.split()):
        if word in ranks or titles().get(word) == "anyone":
            return
    for form in forms:
        if plain(form.text.split()[0]) in ranks:
            yield from (_Clue(start, _BY_TITLE, "", start) for start in form.starts)


def _without_titles(name: str) -> frozenset[str]:
    """The words of a name; its titles only if it has nothing else."""
    words = frozenset(map(plain, name.split()))
    return words - titles().keys() or words


def role_in(words: Iterable[str]) -> str:
    """The first of these words that says what somebody is; "" without one."""
    return next((word for word in words if word.lower() in _role_weights()), "")


def find_holder(role: str, others: Collection[str], index: Index) -> Told | None:
    """The sentence that names who has a role: "Who is the captain (of the brig)?".

    `others`: further words asked for. None unless a sentence says it of somebody, and has all the
    other words or is alone in saying it.
    """
    text = index.book.text
    beginnings = [_beginning(word) for word in others]
    holders: list[_Holder] = []
    for entity, clue in _clues_of_role(role, index):
        place = _sentence(clue.start, clue.until, index.book)
        sentence = text[slice(*place)].lower()
        missing = sum(beginning not in sentence for beginning in beginnings)
        holders.append(
            _Holder(entity, place, _weight(clue.weight, place, index.book), missing)
        )
    if not holders:
        return None
    best = max(holders, key=lambda holder: (-holder.missing, holder.weight))
    is_doubtful = best.missing > 0 and len({holder.entity for holder in holders}) > 1
    if best.weight < _LEAST or is_doubtful:
        return None
    return Told(best.place, best.weight, tells=True)


@dataclass(frozen=True, slots=True)
class _Holder:
    """Somebody of whom a sentence says that they have a role."""

    entity: Entity
    place: Passage
    weight: float
    missing: int  # Of the other words asked for


def _beginning(word: str) -> str:
    """A word in lower case without its last letter, which may be an ending."""
    return word.lower()[: max(_LEAST_LETTERS, len(word) - 1)]


def _clues_of_role(role: str, index: Index) -> Iterator[tuple[Entity, "_Clue"]]:
    """The best clue of each mention that has this role beside it."""
    text = index.book.text
    near = [
        match.start()
        for match in re.finditer(rf"\b{re.escape(role)}\b", text, re.IGNORECASE)
    ]
    for entity in index.entities if near else ():
        sex = _sex(entity.forms)
        for form in entity.forms:
            for start in form.starts:
                if not has_between(near, start - _BEFORE, start + _AFTER):
                    continue
                mention = _Mention(_marked(text), start, start + len(form.text), sex)
                clues = [clue for clue in _clues(mention) if clue.role == role.lower()]
                if clues:
                    yield entity, max(clues, key=lambda clue: clue.weight)


def _weight(clue: float, place: Passage, book: Book) -> float:
    """Speech tells less."""
    paragraph = book.paragraphs[book.paragraph_index(place[0])]
    before = book.text[paragraph.start : place[0] + 1]
    is_speech = before.count("“") > before.count("”") or before.count('"') % 2
    return clue - _IN_SPEECH * is_speech


def _asks(place: Passage, book: Book) -> bool:
    """Whether a sentence ends with a question mark, perhaps before quotation marks."""
    end = place[1]
    return "?" in book.text[end - _ENDING : end]


def _sex(forms: Iterable[Form]) -> str:
    """man or woman, by a title or the pronouns after the name; "" if unknown."""
    kinds = {titles().get(plain(form.text.split()[0]), "") for form in forms}
    if "man" in kinds or kinds & {"wife", "woman"}:
        return "man" if "man" in kinds else "woman"
    contexts = [context for form in forms for context in form.contexts]
    he, she = (
        sum(1 for context in contexts if context & kind.value)
        for kind in (MentionContext.HE, MentionContext.SHE)
    )
    if he + she < _LEAST_PRONOUNS:
        return ""
    if he > 2 * she:
        return "man"
    return "woman" if she > 2 * he else ""


@dataclass(frozen=True, slots=True)
class _Clue:
    start: int  # Of the name
    weight: float
    role: str  # The word that says what somebody is; "" without one
    until: int  # Offset in the sentence that tells, which may follow that of the name


# Stands for the space in front of a word that says what somebody is (`_marked`)
_MARK = "\x01"


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What `telling.toml` says, as patterns for a marked text."""

    after: tuple[tuple[float, re.Pattern[str]], ...]  # With their weights
    anything: re.Pattern[str]
    before: tuple[tuple[float, re.Pattern[str], str], ...]  # With weights and kinds
    hints: dict[str, re.Pattern[str]]


@cache
def _patterns() -> _Patterns:
    """Compiled at first use, which saves 30 ms at the start."""
    phrases = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    parts: dict[str, str] = {}
    for name, part in phrases["parts"].items():
        parts[name] = Template("".join(part)).substitute(parts)

    def compiled(phrase: str | list[str], end: str = "") -> re.Pattern[str]:
        pattern = Template("".join(phrase)).substitute(parts) + end
        return re.compile(pattern.replace(" ", f"[ {_MARK}]"))

    return _Patterns(
        after=tuple(
            (weight, compiled(phrase)) for weight, phrase in phrases["after"]["phrases"]
        ),
        anything=compiled(phrases["after"]["anything"]),
        before=tuple(
            (weight, compiled(phrase, r"\Z"), kind)
            for kind, (weight, phrase) in phrases["before"].items()
        ),
        hints={name: compiled(phrase) for name, phrase in phrases["hints"].items()},
    )


def _hint(name: str) -> re.Pattern[str]:
    return _patterns().hints[name]


# In front of a name, found quickly
_MAY_TELL = re.compile(rf"{_MARK}|name|called|known|was|\bis\b")
_VAGUE = 0.45
_WEIGHTS = {
    "man": 1.0,
    "woman": 1.0,
    "kin": 1.0,
    "work": 1.0,
    "other": 0.75,
    "vague": _VAGUE,
}
_WORD_OR_COMPOUND = re.compile(r"[\w’]+(?:-\w+)*(?!['’]s|\w)")


@cache
def _role_weights() -> dict[str, float]:
    return {
        role: weight
        for kind, weight in _WEIGHTS.items()
        for role in word_set("roles", kind)
    }


def _role_of(word: str) -> str:
    """The role in a word or compound: "gentleman-farmer" is a farmer."""
    word = word.lower()
    parts = (word, word.rpartition("-")[2])
    return next((part for part in parts if part in _role_weights()), "")


def _sex_of(role: str) -> str:
    """man or woman, if only one of them has the role; else ""."""
    kind = titles().get(role, "")
    if (
        role in word_set("roles", "woman")
        or kind in ("wife", "woman")
        or role.endswith(("ess", "woman", "maid"))
    ):
        return "woman"
    return "man" if role in word_set("roles", "man") or kind == "man" else ""


def free_marked_text() -> None:
    """Free what was last searched, twice the size of its book; it is made anew in a moment."""
    _marked.cache_clear()


@lru_cache(maxsize=1)
def _marked(text: str) -> str:
    """The text with a mark for the space in front of each role.

    So patterns find roles without a list of them. Line by line: all words of a novel at once would
    take ten times the memory.
    """

    @cache
    def with_space(token: str) -> str:
        word = _WORD_OR_COMPOUND.match(token)
        space = _MARK if word and _role_of(word[0]) else " "
        return f"{space}{token}"

    def marked_line(line: str) -> str:
        first, *others = line.split(" ")
        return first + "".join(map(with_space, others))

    return "\n".join(map(marked_line, text.split("\n")))


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A phrase beside a name that may tell who it is."""

    weight: float
    match: re.Match[str]
    # Of one before the name: `apposition`, `joined` …; empty for one after it
    kind: str = ""

    @property
    def role(self) -> str:
        return _role_of(self.match.groupdict().get("role") or "")

    @property
    def pronoun(self) -> str:
        return (self.match.groupdict().get("pronoun") or "").lower()


class _Mention:
    """A name in a marked text, `text[start:end]`, and the phrases beside it."""

    def __init__(self, text: str, start: int, end: int, sex: str) -> None:
        """`sex`: man or woman, "" if unknown."""
        self.text = text
        self.start = start
        self.end = end
        self.sex = sex
        lead = text[max(0, start - _BEFORE) : start]
        self._lead = lead[lead.rfind("\n\n") + 1 :]

    def phrases(self) -> Iterator[_Phrase]:
        until = self.end + _AFTER
        for weight, pattern in _patterns().after:
            match = pattern.match(self.text, self.end, until)
            if match:
                yield _Phrase(weight, match)
        if not self.sex:
            match = _patterns().anything.match(self.text, self.end, until)
            if match:
                yield _Phrase(_LEAST, match)
        if not _MAY_TELL.search(self._lead, max(0, len(self._lead) - _MAY_TELL_WITHIN)):
            return
        for weight, pattern, kind in _patterns().before:
            match = pattern.search(self._lead)
            if match:
                yield _Phrase(weight, match, kind)

    def is_of_other_sex(self, phrase: _Phrase) -> bool:
        if not self.sex:
            return False
        other, pronoun = ("woman", "she") if self.sex == "man" else ("man", "he")
        return _sex_of(phrase.role) == other or phrase.pronoun == pronoun

    def is_told_before(self, phrase: _Phrase, worth: float) -> bool:
        """Whether a phrase before the name is about it. `worth`: of its role."""
        following = self.text[self.end : self.end + 1]
        if phrase.kind == "joined":
            has_article = _hint("plain_article").match(phrase.match[0])
            return not (worth <= _VAGUE and has_article)
        if phrase.kind != "apposition":
            return True
        # "With the cardinal, Kitty knew nothing"; "save me from the lion, Esmeralda!"; "the younger
        # man D’Arnot"
        is_indefinite = _hint("indefinite").match(phrase.match[0])
        may_address = worth < 1 or following in ("!", "?") or is_indefinite
        is_called = may_address and _hint("called").match(self.text, self.end)
        return not is_called and following in _CLOSING

    def is_told_after(self, phrase: _Phrase, worth: float) -> bool:
        """Whether a phrase after the name is about it. `worth`: of its role."""
        if not _hint("addressed").search(self.text, max(0, self.start - 2), self.start):
            return True
        # "I could not give you up, Nancy."
        follows_comma = self.text[self.start - 2] == ","
        ends_sentence = self.text.startswith((".", "!", "?"), self.end)
        return worth > _VAGUE and not (follows_comma and ends_sentence)

    def is_listed(self, phrase: _Phrase) -> bool:
        """Whether name and phrase are items: "Lucie, Mr. Lorry, the solicitor, and …"."""
        if phrase.kind:
            follows = _hint("listed_after").match(self.text, self.end)
            return phrase.kind == "apposition" and bool(follows)
        if phrase.match[0][0] != "," or phrase.pronoun:
            return False
        near = max(0, self.start - _LISTED_WITHIN)
        if _hint("listed_before").search(self.text, near, self.start):
            return True
        return bool(_hint("listed_after").match(self.text, phrase.match.end()))


def _clues(mention: _Mention) -> Iterator[_Clue]:
    """What the words around a name say."""
    for phrase in mention.phrases():
        role = phrase.role
        worth = _role_weights().get(role, 1.0)
        if mention.is_of_other_sex(phrase) or (role == "head" and not _heads(phrase)):
            continue
        is_told = mention.is_told_before if phrase.kind else mention.is_told_after
        if not is_told(phrase, worth):
            continue
        weight = phrase.weight
        if mention.is_listed(phrase):
            weight -= _LISTED
        until = mention.start if phrase.kind else phrase.match.end()
        yield _Clue(mention.start, weight * worth, role, until)


def _heads(phrase: _Phrase) -> bool:
    """Whether somebody is the head of something: "X was the head of the firm"."""
    match = phrase.match
    return not phrase.kind and match.string.startswith(" of ", match.end("role"))


def _sentence(start: int, until: int, book: Book) -> Passage:
    """The sentence of a name, up to the end of the next one if that tells."""
    paragraph = book.paragraphs[book.paragraph_index(start)]
    spans = [
        span
        for span in sentences_of(book, paragraph.start, paragraph.end)
        if span[0] < max(until, start + 1)
    ]
    first = next((span for span in reversed(spans) if span[0] <= start), spans[0])
    return first[0], spans[-1][1]
