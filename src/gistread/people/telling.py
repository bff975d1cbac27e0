"""Chooses the sentence that tells who somebody is, among all that name them.

A sentence tells if it says what the person is: "X was the daughter of …", "X, the lawyer", "my
uncle, X", "a sailor named X". Phrases are weighed by how much they say, and early ones count more.
The rules are English.
"""

import re
import tomllib
from collections import Counter
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
from gistread.people.kinds import count_of
from gistread.people.mentions import Form, has_between, plain, titles, word_set

_AFTER = 260  # Characters after a name that are searched
_BEFORE = 140  # The same before a name
_CLOSING = ',.;:!?)”"—’'
_MOST_MENTIONS = 4_000
_LEAST = 4.0  # Least weight of a phrase that tells what somebody is
_EARLY = 12  # So many first mentions count more, because people are introduced early
_FIRST = 4.0  # Bonus of such a mention
_AS_ASKED = 3.0  # Bonus of a mention by the name asked for
_LONGER = 1.5  # Bonus of a mention by that name with more words
_BY_TITLE = 5.0  # Weight of a title that the name asked for lacks
_IN_SPEECH = 1.0  # Subtracted for a sentence in speech
_LISTED = 8.0  # Subtracted for an item of a list
_ASKED = 80  # A phrase that is nearer to a question mark asks instead of telling
_LISTED_WITHIN = 20  # A list shows in so many characters before a name
_MAY_TELL_WITHIN = 45  # A phrase that tells is in so many characters before a name
_ENDING = 3  # A question mark is in so many characters at the end of a sentence
_LEAST_LETTERS = 3  # Of a word that is compared without its ending
# Least pronouns that show a sex; with 4, as in `groups.py`, 7 of 2,400 people are told worse
_LEAST_PRONOUNS = 6


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence about somebody, and how clearly it tells what they are."""

    span: Passage
    weight: float
    tells: bool  # Whether it says what they are, and does not only name them


def telling_sentences(name: str, forms: Iterable[Form], book: Book) -> list[Told]:
    """The sentences that name somebody, the most telling first. About 0.1 ms a mention."""
    forms = list(forms)
    nearness = _nearness(name, forms)
    all_mentions = [
        (start, start + len(form.text)) for form in forms for start in form.starts
    ]
    mentions = sorted(all_mentions)[:_MOST_MENTIONS]
    early = [start for start, _ in mentions[:_EARLY]]
    # The sentences of early mentions are candidates even without a clue.
    candidates = {_sentence(start, 0, book): _Candidate() for start in early}
    text = _marked(book.text)
    sex = _sex(forms)
    clues: list[_Clue] = []
    for start, end in mentions:
        clues += _clues(_Mention(text, start, end, sex))
    clues += _clues_of_titles(name, forms)
    for clue in clues:
        span = _sentence(clue.start, clue.until, book)
        bonus = nearness[clue.start]
        if clue.start in early:
            bonus += _FIRST
        candidate = candidates.setdefault(span, _Candidate(bonus=bonus))
        candidate.weight = max(candidate.weight, clue.weight)
        candidate.bonus = max(candidate.bonus, bonus)
        if clue.weight >= _LEAST and not _is_asked(clue, span, book):
            candidate.tells = True
    sentences: list[Told] = []
    for span, candidate in candidates.items():
        weight = _weight(candidate.weight, span, book) + candidate.bonus
        sentences.append(Told(span, weight, candidate.tells))
    return sorted(
        sentences,
        key=lambda sentence: (-sentence.tells, -sentence.weight, sentence.span),
    )


@dataclass(slots=True)
class _Candidate:
    """A sentence that may tell who somebody is."""

    weight: float = 0.0  # Of its best clue
    bonus: float = 0.0  # For an early mention, or one by the name asked for
    tells: bool = False


def _nearness(name: str, forms: Iterable[Form]) -> dict[int, float]:
    """By offset, a bonus for each mention whose form is near to the name asked for."""
    words_asked = _without_titles(name)
    nearness: dict[int, float] = {}
    for form in forms:
        words = _without_titles(form.text)
        if words == words_asked:
            bonus = _AS_ASKED
        elif words > words_asked:
            bonus = _LONGER
        elif words & words_asked:
            bonus = 0.0
        else:
            bonus = -_AS_ASKED
        nearness |= dict.fromkeys(form.starts, bonus)
    return nearness


def _clues_of_titles(name: str, forms: Iterable[Form]) -> Iterator["_Clue"]:
    """The mentions with a title that the name lacks: "Lieutenant D’Arnot" tells who D’Arnot is.

    Nothing if the name asked for has such a title itself.
    """
    ranks = word_set("roles", "work") & titles().keys()
    for word in map(plain, name.split()):
        if word in ranks or titles().get(word) == "anyone":
            return
    for form in forms:
        if plain(form.text.split()[0]) in ranks:
            for start in form.starts:
                yield _Clue(start, _BY_TITLE, role="", until=start)


def _without_titles(name: str) -> frozenset[str]:
    """The words of a name; its titles only if it has nothing else."""
    words = frozenset(map(plain, name.split()))
    return words - titles().keys() or words


def role_in(words: Iterable[str]) -> str:
    """The first of these words that says what somebody is; "" without one."""
    for word in words:
        if word.lower() in _role_weights():
            return word
    return ""


def find_holder(role: str, others: Collection[str], index: Index) -> Told | None:
    """The sentence that names who has a role: "Who is the captain (of the brig)?".

    `others`: further words asked for. None unless a sentence says it of somebody, and has all the
    other words or is alone in saying it. Of a "man" or a "stranger" a sentence must have them all,
    and there must be some: many people are men.
    """
    holders = list(_holders(role, others, index))
    if not holders:
        return None
    best = max(holders, key=lambda holder: (-holder.missing, holder.weight))
    if role.lower() in word_set("roles", "vague"):
        is_doubtful = best.missing > 0 or not others
    else:
        entities = {holder.entity for holder in holders}
        is_doubtful = best.missing > 0 and len(entities) > 1
    if best.weight < _LEAST or is_doubtful:
        return None
    return Told(best.span, best.weight, tells=True)


@dataclass(frozen=True, slots=True)
class _Holder:
    """Somebody of whom a sentence says that they have a role."""

    entity: Entity
    span: Passage
    weight: float
    missing: int  # How many of the other words asked for the sentence lacks


def _holders(role: str, others: Iterable[str], index: Index) -> Iterator[_Holder]:
    """The sentences that say of somebody that they have this role."""
    beginnings = [_beginning(word) for word in others]
    for entity, clue in _clues_of_role(role, index):
        start, end = _sentence(clue.start, clue.until, index.book)
        sentence = index.book.text[start:end].lower()
        missing = sum(beginning not in sentence for beginning in beginnings)
        weight = _weight(clue.weight, (start, end), index.book)
        yield _Holder(entity, (start, end), weight, missing)


def _beginning(word: str) -> str:
    """A word in lower case without its last letter, which may be an ending."""
    length = max(_LEAST_LETTERS, len(word) - 1)
    return word.lower()[:length]


def _clues_of_role(role: str, index: Index) -> Iterator[tuple[Entity, "_Clue"]]:
    """The best clue of each mention that has this role beside it."""
    text = index.book.text
    expression = re.compile(rf"\b{re.escape(role)}\b", re.IGNORECASE)
    role_starts = [match.start() for match in expression.finditer(text)]
    if not role_starts:
        return
    for entity in index.entities:
        sex = _sex(entity.forms)
        for form in entity.forms:
            for start in form.starts:
                if not has_between(role_starts, start - _BEFORE, start + _AFTER):
                    continue
                mention = _Mention(_marked(text), start, start + len(form.text), sex)
                clues = [clue for clue in _clues(mention) if clue.role == role.lower()]
                if clues:
                    yield entity, max(clues, key=lambda clue: clue.weight)


def _weight(clue_weight: float, span: Passage, book: Book) -> float:
    """The weight of a sentence by that of its clue: speech tells less."""
    start, _ = span
    paragraph = book.paragraphs[book.paragraph_index(start)]
    # With the first character of the sentence, which may be its quotation mark
    before = book.text[paragraph.start : start + 1]
    is_in_curly_quotes = before.count("“") > before.count("”")
    is_in_straight_quotes = before.count('"') % 2 == 1
    if is_in_curly_quotes or is_in_straight_quotes:
        return clue_weight - _IN_SPEECH
    return clue_weight


def _is_asked(clue: "_Clue", span: Passage, book: Book) -> bool:
    """Whether a clue is near the end of a sentence that is a question."""
    _, end = span
    is_question = "?" in book.text[end - _ENDING : end]
    return is_question and end - clue.until < _ASKED


def _sex(forms: Iterable[Form]) -> str:
    """man or woman, by a title or the pronouns after the name; "" if unknown."""
    forms = list(forms)
    kinds = {titles().get(plain(form.text.split()[0]), "") for form in forms}
    if "man" in kinds:
        return "man"
    if "wife" in kinds or "woman" in kinds:
        return "woman"
    contexts = Counter(context for form in forms for context in form.contexts)
    he = count_of(contexts, MentionContext.HE)
    she = count_of(contexts, MentionContext.SHE)
    if he + she < _LEAST_PRONOUNS:
        return ""
    if he > 2 * she:
        return "man"
    if she > 2 * he:
        return "woman"
    return ""


@dataclass(frozen=True, slots=True)
class _Clue:
    """What the words around a name say about it."""

    start: int  # Of the name
    weight: float
    role: str  # The word that says what somebody is; "" without one
    until: int  # Where the phrase ends, perhaps in the sentence after that of the name


# Stands in place of the space before a word that says what somebody is (`_marked`)
_MARK = "\x01"


@dataclass(frozen=True, slots=True)
class _PhrasePattern:
    """A phrase that tells who somebody is."""

    weight: float
    expression: re.Pattern[str]
    kind: str = ""  # Of a phrase before the name: `apposition`, `joined` …


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The phrases of `telling.toml` as regular expressions for a marked text."""

    after: tuple[_PhrasePattern, ...]
    anything: re.Pattern[str]
    before: tuple[_PhrasePattern, ...]
    hints: dict[str, re.Pattern[str]]


@cache
def _patterns() -> _Patterns:
    """All patterns. They are compiled at first use, which saves 30 ms at the start."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    parts: dict[str, str] = {}
    for name, part in table["parts"].items():
        # A part may contain those before it.
        parts[name] = Template("".join(part)).substitute(parts)

    def compiled(phrase: str | list[str], end: str = "") -> re.Pattern[str]:
        pattern = Template("".join(phrase)).substitute(parts) + end
        return re.compile(pattern.replace(" ", f"[ {_MARK}]"))

    after = [
        _PhrasePattern(weight, compiled(phrase))
        for weight, phrase in table["after"]["phrases"]
    ]
    before = [
        _PhrasePattern(weight, compiled(phrase, r"\Z"), kind)
        for kind, (weight, phrase) in table["before"].items()
    ]
    hints = {name: compiled(phrase) for name, phrase in table["hints"].items()}
    anything = compiled(table["after"]["anything"])
    return _Patterns(tuple(after), anything, tuple(before), hints)


def _hint(name: str) -> re.Pattern[str]:
    return _patterns().hints[name]


# A phrase before a name that tells has one of these; they are found quickly.
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
    if word in _role_weights():
        return word
    _, _, last_part = word.rpartition("-")
    if last_part in _role_weights():
        return last_part
    return ""


def _sex_of(role: str) -> str:
    """man or woman, if only one of them has the role; else ""."""
    kind = titles().get(role, "")
    if role in word_set("roles", "woman") or kind in ("wife", "woman"):
        return "woman"
    if role.endswith(("ess", "woman", "maid")):
        return "woman"
    if role in word_set("roles", "man") or kind == "man":
        return "man"
    return ""


def free_marked_text() -> None:
    """Free the marked text of the last book, which is twice the size of the book.

    The next search makes it again in a moment.
    """
    _marked.cache_clear()


@lru_cache(maxsize=1)
def _marked(text: str) -> str:
    """The text with a mark in place of the space before each role.

    With it, patterns find roles without a list of them. The text is marked line by line: all words
    of a novel at once would take ten times the memory.
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
    # Of a phrase before the name: `apposition`, `joined` …; empty for one after it
    kind: str = ""

    @property
    def role(self) -> str:
        """The word that says what somebody is; "" without one."""
        return _role_of(self.match.groupdict().get("role") or "")

    @property
    def pronoun(self) -> str:
        """he or she; "" without one."""
        return (self.match.groupdict().get("pronoun") or "").lower()


class _Mention:
    """A name in a marked text, `text[start:end]`, and the phrases beside it."""

    def __init__(self, text: str, start: int, end: int, sex: str) -> None:
        """`sex`: man or woman, "" if unknown."""
        self.text = text
        self.start = start
        self.end = end
        self.sex = sex
        before = text[max(0, start - _BEFORE) : start]
        paragraph_start = before.rfind("\n\n") + 1
        self._before = before[paragraph_start:]  # In the same paragraph

    def phrases(self) -> Iterator[_Phrase]:
        """The phrases after and before the name that may tell who it is."""
        until = self.end + _AFTER
        for pattern in _patterns().after:
            match = pattern.expression.match(self.text, self.end, until)
            if match:
                yield _Phrase(pattern.weight, match)
        # What is neither "he" nor "she" may be a thing: any noun tells what it is.
        if not self.sex:
            match = _patterns().anything.match(self.text, self.end, until)
            if match:
                yield _Phrase(_LEAST, match)
        # Most names have no phrase before them, and the patterns are slow to search.
        near = max(0, len(self._before) - _MAY_TELL_WITHIN)
        if not _MAY_TELL.search(self._before, near):
            return
        for pattern in _patterns().before:
            match = pattern.expression.search(self._before)
            if match:
                yield _Phrase(pattern.weight, match, pattern.kind)

    def is_of_other_sex(self, phrase: _Phrase) -> bool:
        """Whether the role or the pronoun of a phrase is of the other sex than the name."""
        if not self.sex:
            return False
        if self.sex == "man":
            return _sex_of(phrase.role) == "woman" or phrase.pronoun == "she"
        return _sex_of(phrase.role) == "man" or phrase.pronoun == "he"

    def is_told_before(self, phrase: _Phrase, role_weight: float) -> bool:
        """Whether a phrase before the name is about it."""
        if phrase.kind == "joined":
            # "The younger man D’Arnot"
            has_article = _hint("plain_article").match(phrase.match[0])
            return role_weight > _VAGUE or not has_article
        if phrase.kind != "apposition":
            return True
        following = self.text[self.end : self.end + 1]
        # "With the cardinal, Kitty knew nothing"
        if following not in _CLOSING:
            return False
        # "Save me from the lion, Esmeralda!"
        is_indefinite = _hint("indefinite").match(phrase.match[0])
        may_address = role_weight < 1 or following in ("!", "?") or is_indefinite
        is_called = may_address and _hint("called").match(self.text, self.end)
        return not is_called

    def is_told_after(self, phrase: _Phrase, role_weight: float) -> bool:
        """Whether a phrase after the name is about it."""
        if not _hint("addressed").search(self.text, max(0, self.start - 2), self.start):
            return True
        if role_weight <= _VAGUE:
            return False
        # "I could not give you up, Nancy."
        follows_comma = self.text[self.start - 2] == ","
        ends_sentence = self.text.startswith((".", "!", "?"), self.end)
        return not (follows_comma and ends_sentence)

    def is_listed(self, phrase: _Phrase) -> bool:
        """Whether name and phrase are items: "Lucie, Mr. Lorry, the solicitor, and …"."""
        if phrase.kind == "apposition":
            return bool(_hint("listed_after").match(self.text, self.end))
        follows_comma = not phrase.kind and phrase.match[0].startswith(",")
        if not follows_comma or phrase.pronoun:
            return False
        near = max(0, self.start - _LISTED_WITHIN)
        if _hint("listed_before").search(self.text, near, self.start):
            return True
        return bool(_hint("listed_after").match(self.text, phrase.match.end()))


def _clues(mention: _Mention) -> Iterator[_Clue]:
    """What the words around a name say."""
    for phrase in mention.phrases():
        role = phrase.role
        role_weight = _role_weights().get(role, 1.0)
        if mention.is_of_other_sex(phrase):
            continue
        if role == "head" and not _is_head_of_something(phrase):
            continue
        is_told = mention.is_told_before if phrase.kind else mention.is_told_after
        if not is_told(phrase, role_weight):
            continue
        weight = phrase.weight
        if mention.is_listed(phrase):
            weight -= _LISTED
        until = mention.start if phrase.kind else phrase.match.end()
        yield _Clue(mention.start, weight * role_weight, role, until)


def _is_head_of_something(phrase: _Phrase) -> bool:
    """Whether somebody is the head of something: "X was the head of the firm"."""
    match = phrase.match
    return not phrase.kind and match.string.startswith(" of ", match.end("role"))


def _sentence(start: int, until: int, book: Book) -> Passage:
    """The sentence of a name at `start`; with the next one if `until` is in that."""
    paragraph = book.paragraphs[book.paragraph_index(start)]
    limit = max(until, start + 1)
    sentences = [
        (first, last)
        for first, last in sentences_of(book, paragraph.start, paragraph.end)
        if first < limit
    ]
    sentence_start, _ = sentences[0]
    for first, _ in sentences:
        if first <= start:
            sentence_start = first
    _, sentence_end = sentences[-1]
    return sentence_start, sentence_end
