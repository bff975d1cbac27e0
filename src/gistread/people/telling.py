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
from gistread.people.index import Index
from gistread.people.joining import Entity
from gistread.people.mentions import Form, MentionContext, has_between, plain, titles, word_set

_AFTER, _BEFORE = 260, 140  # Characters after and before a name that are searched
_CLOSING = ',.;:!?)”"—’'
_MOST_MENTIONS = 4_000
_EARLY, _FIRST = 12, 4.0  # People are introduced early: what the first mentions count more
_AS_ASKED, _LONGER = (
    3.0,
    1.5,
)  # Weights of a mention by the name asked for, and by that name with more words
_IN_SPEECH, _IN_QUESTION = 1.0, 2.0  # What speech and questions count less
_BY_TITLE = 5.0  # Weight of a title that the name asked for lacks
_ASKED = 80  # Characters in front of a question mark that are not told but asked
_LEAST_PRONOUNS = 6  # Pronouns that show a sex
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
    asked = _without_titles(name)
    nearness = dict[int, float]()  # Of a mention to the name asked for
    for form in forms:
        words = _without_titles(form.text)
        if words == asked:
            worth = _AS_ASKED
        elif words > asked:
            worth = _LONGER
        elif words & asked:
            worth = 0.0
        else:
            worth = -_AS_ASKED
        nearness |= dict.fromkeys(form.starts, worth)
    mentions = sorted((start, len(form.text)) for form in forms for start in form.starts)[
        :_MOST_MENTIONS
    ]
    sex, text = _sex(forms), _marked(book.text)
    said = [
        (start, clue)
        for start, length in mentions
        for clue in _clues(text, start, start + length, sex)
    ]
    ranks = word_set("roles", "work") & titles().keys()
    has_rank = any(
        titles().get(plain(word)) == "anyone" or plain(word) in ranks for word in name.split()
    )
    for form in () if has_rank else forms:  # "Lieutenant D’Arnot" tells who D’Arnot is
        if plain(form.text.split()[0]) in ranks:
            said += [(start, _Clue(_BY_TITLE, "", start)) for start in form.starts]
    first = {start for start, _ in mentions[:_EARLY]}
    found = {_sentence(start, 0, book): 0.0 for start in sorted(first)}
    bonus, clear = dict.fromkeys(found, 0.0), set[Passage]()
    for start, clue in said:
        place = _sentence(start, clue.until, book)
        found[place] = max(clue.weight, found.get(place, 0.0))
        is_asked = "?" in book.text[place[1] - 3 : place[1]] and place[1] - clue.until < _ASKED
        if clue.weight >= _LEAST and not is_asked:
            clear.add(place)
        worth = nearness[start] + _FIRST * (start in first)
        bonus[place] = max(bonus.get(place, worth), worth)
    told = [
        Told(place, _weight(best, place, book) + bonus[place], place in clear)
        for place, best in found.items()
    ]
    return sorted(told, key=lambda one: (-one.tells, -one.weight, one.place))


def _without_titles(name: str) -> frozenset[str]:
    """The words of a name; its titles only if it has nothing else."""
    words = frozenset(map(plain, name.split()))
    return words - titles().keys() or words


def role_in(words: Iterable[str]) -> str:
    """The first of these words that says what somebody is; "" without one."""
    return next((word for word in words if word.lower() in _role_weights()), "")


def find_holder(role: str, others: Collection[str], index: Index) -> Told | None:
    """The sentence that names who has a role: "Who is the captain (of the brig)?". `others`:
    further words asked for.

    None unless a sentence says it of somebody, and has all the other words or is alone in saying
    it.
    """
    text, wanted = index.book.text, [word.lower()[: max(3, len(word) - 1)] for word in others]
    near = [match.start() for match in re.finditer(rf"\b{re.escape(role)}\b", text, re.IGNORECASE)]
    found: list[tuple[float, int, Entity, Passage]] = []
    for entity in index.entities if near else ():
        sex = _sex(entity.forms)
        for form in entity.forms:
            for start in form.starts:
                if not has_between(near, start - _BEFORE, start + _AFTER):
                    continue
                clues = _clues(_marked(text), start, start + len(form.text), sex)
                said_of = (clue for clue in clues if clue.role == role.lower())
                if best := max(said_of, key=lambda one: one.weight, default=None):
                    place = _sentence(start, best.until, index.book)
                    said = text[slice(*place)].lower()
                    missing = sum(word not in said for word in wanted)
                    found.append((_weight(best.weight, place, index.book), -missing, entity, place))
    weight, missing, _, place = max(
        found, key=lambda one: (one[1], one[0]), default=(0.0, 0, None, (0, 0))
    )
    is_doubtful = missing < 0 and len({entity for _, _, entity, _ in found}) > 1
    return None if weight < _LEAST or is_doubtful else Told(place, weight, tells=True)


def _weight(clue: float, place: Passage, book: Book) -> float:
    """Speech and questions tell less."""
    before = book.text[book.paragraphs[book.paragraph_index(place[0])].start : place[0] + 1]
    is_speech = before.count("“") > before.count("”") or before.count('"') % 2
    return (
        clue - _IN_SPEECH * is_speech - _IN_QUESTION * ("?" in book.text[place[1] - 3 : place[1]])
    )


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
    return "man" if he > 2 * she else "woman" if she > 2 * he else ""


@dataclass(frozen=True, slots=True)
class _Clue:
    weight: float
    role: str  # The word that says what somebody is; "" without one
    until: int  # Offset in the sentence that tells, which may follow that of the name


_CLEAR, _VAGUE_MARK = (
    "\x01",
    "\x02",
)  # Stand for the space in front of a word that says what somebody is (`_marked`)
_PHRASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_PARTS: dict[str, str] = {}
for _name, _part in _PHRASES["parts"].items():
    _PARTS[_name] = Template("".join(_part)).substitute(_PARTS)


def _compiled(phrase: str | list[str], end: str = "") -> re.Pattern[str]:
    """A pattern of `telling.toml` for a marked text."""
    pattern = Template("".join(phrase)).substitute(_PARTS) + end
    return re.compile(pattern.replace(" ", f"[ {_CLEAR}{_VAGUE_MARK}]"))


_AFTER_PATTERNS = tuple(
    (weight, _compiled(phrase)) for weight, phrase in _PHRASES["after"]["phrases"]
)
_ANYTHING_PATTERN = _compiled(_PHRASES["after"]["anything"])
_BEFORE_PATTERNS = tuple(
    (weight, _compiled(text, r"\Z"), name) for name, (weight, text) in _PHRASES["before"].items()
)
_HINTS = {name: _compiled(phrase) for name, phrase in _PHRASES["hints"].items()}
_MAY_TELL = re.compile(
    rf"[{_CLEAR}{_VAGUE_MARK}]|name|called|known|was|\bis\b"
)  # In front of a name, found quickly
_VAGUE = 0.45
_WEIGHTS = {"man": 1.0, "woman": 1.0, "kin": 1.0, "work": 1.0, "other": 0.75, "vague": _VAGUE}
_WORD_OR_COMPOUND = re.compile(r"[\w’]+(?:-\w+)*(?!['’]s|\w)")


@cache
def _role_weights() -> dict[str, float]:
    return {role: weight for kind, weight in _WEIGHTS.items() for role in word_set("roles", kind)}


def _role_of(word: str) -> str:
    """The role in a word or compound: "gentleman-farmer" is a farmer."""
    word = word.lower()
    return next((one for one in (word, word.rpartition("-")[2]) if one in _role_weights()), "")


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


@lru_cache(maxsize=2)
def _marked(text: str) -> str:
    """The text with a mark for the space in front of each role, so that patterns need not list them
    all.
    """

    @cache
    def marked(token: str) -> str:
        word = _WORD_OR_COMPOUND.match(token)
        role = _role_of(word[0]) if word else ""
        return (
            " " if not role else _CLEAR if _role_weights()[role] > _VAGUE else _VAGUE_MARK
        ) + token

    return "".join(map(marked, text.split(" ")))[1:]


def _clues(text: str, start: int, end: int, sex: str) -> Iterator[_Clue]:
    """What the words around a name say. `text`: marked; `sex`: man or woman, "" if unknown."""
    is_listed = _HINTS["listed_before"].search(text, max(0, start - 20), start)
    is_addressed = _HINTS["addressed"].search(text, max(0, start - 2), start)
    lead = text[max(0, start - _BEFORE) : start]
    lead = lead[lead.rfind("\n\n") + 1 :]
    is_object, is_owned = _HINTS["object"].search(lead), _HINTS["owned"].search(lead)
    tried: list[tuple[float, re.Match[str] | None, str]] = [
        (weight, pattern.match(text, end, end + _AFTER), "") for weight, pattern in _AFTER_PATTERNS
    ]
    if not sex:
        tried.append((_LEAST, _ANYTHING_PATTERN.match(text, end, end + _AFTER), ""))
    if _MAY_TELL.search(lead, max(0, len(lead) - 45)):
        tried += [
            (weight, pattern.search(lead), name) for weight, pattern, name in _BEFORE_PATTERNS
        ]
    for weight, match, before in tried:
        if match is None:
            continue
        groups = match.groupdict()
        role, pronoun = _role_of(groups.get("role") or ""), (groups.get("pronoun") or "").lower()
        value = _role_weights().get(role, 1.0)
        other = {"man": "woman", "woman": "man"}.get(sex, "")
        if other and (_sex_of(role) == other or pronoun == {"man": "she", "woman": "he"}[sex]):
            continue
        if role == "head" and not text.startswith(" of ", 0 if before else match.end("role")):
            continue
        if before:
            # "With the cardinal, Kitty knew nothing"; "save me from the lion, Esmeralda!"; "the
            # younger man D’Arnot"
            may_address = (
                value < 1
                or text[end : end + 1] in ("!", "?")
                or _HINTS["indefinite"].match(match[0])
            )
            is_called = may_address and _HINTS["called"].match(text, end)
            if before == "apposition" and (is_called or text[end : end + 1] not in _CLOSING):
                continue
            if before != "joined" and _HINTS["possessive"].match(text, end):
                continue
            if before == "joined" and value <= _VAGUE and _HINTS["plain_article"].match(match[0]):
                continue
            weight -= 8 if before == "apposition" and _HINTS["listed_after"].match(text, end) else 0
        elif (is_object and _HINTS["is"].match(match[0])) or (is_owned and match[0][0] == ","):
            continue  # "The face of Mr. Cuss was …", "the saviour of Aouda, that brave man"
        elif is_addressed and (
            value <= _VAGUE or (text[start - 2] == "," and text[end] in ".!?")
        ):  # "I could not give you up, Nancy."
            continue
        elif (
            match[0][0] == ","
            and not pronoun
            and (is_listed or _HINTS["listed_after"].match(text, match.end()))
        ):
            weight -= 8  # "Lucie, Mr. Lorry, the solicitor for the defence, and …"
        yield _Clue(weight * value, role, start if before else match.end())


def _sentence(start: int, until: int, book: Book) -> Passage:
    """The sentence of a name, up to the end of the next one if that tells."""
    paragraph = book.paragraphs[book.paragraph_index(start)]
    spans = [
        span
        for span in sentences_of(book, paragraph.start, paragraph.end)
        if span[0] < max(until, start + 1)
    ]
    first = next((one for one in reversed(spans) if one[0] <= start), spans[0])
    return first[0], spans[-1][1]
