"""Hints from the words around a mention: whether the name is a person's, a place's, a ship's."""

import re
from enum import IntFlag

from gistread.search.tokens import stop_words

_BEFORE = 40  # Characters before a name that are searched
_AFTER = 90  # Characters after a name in which a pronoun may refer to it


class MentionContext(IntFlag):
    """Hints from the words around a mention.

    >>> context_of("“No,” said Anne. She left Bath.", 11, 15)
    <MentionContext.PERSON|SHE: 9>
    """

    NONE = 0
    PERSON = 1  # It speaks, thinks or is spoken to, or its face or kin is mentioned
    PLACE = 2  # Somebody is in it or at it, or it is "the city of …"
    HE = 4  # The first pronoun after it
    SHE = 8
    ARTICLE = 16  # It follows "the"
    ACTS = 32  # It does what things and places do too: "was", "came"
    GOAL = 64  # Somebody goes to it or comes from it
    MODIFIER = 128  # It stands before a noun: "a Gothic tower"
    SHIP = 256  # Somebody is aboard it, or it sails
    PLURAL = 512  # It "were" or "have"
    SPOKEN = 1024  # Somebody says it: it stands in quotation marks


# Farther before a mention, the beginning of its paragraph is not searched.
_LONGEST_PARAGRAPH = 5_000
_ARTICLE = re.compile(r"\b[Tt]he\s\Z")
_PLACE = re.compile(
    r"\b(?:in|at|near|reached|outside|throughout|inside)\s(?:the\s)?\Z"
    r"|\b(?:city|town|village|isles?|islands?|coasts?|shores?|port|bay|gulf|river|kingdom|province|"
    r"county|parish|district|land|streets?|roofs|walls|gates|outskirts|neighbou?rhood|inhabitants|"
    r"north|south|east|west|university|suburbs?|harbou?r)\sof\s(?:the\s)?\Z"
)
_GOAL = re.compile(
    r"\b(?:went|go|goes|gone|going|came|come|coming|return(?:ed|ing)?|back|sail(?:ed|ing)?|"
    r"rode|ride|riding|drove|drive|walked|travel(?:l?ed|l?ing)?|journey(?:ed)?|voyage|way|road|"
    r"train|bound|arrived|away|down|up|over|fled|started|removed|miles)\s"
    r"(?:to|from|for|towards?)\s(?:the\s)?\Z"
    r"|\b(?:left|leaving|quitted|through|into|across|beyond|round)\s(?:the\s)?\Z"
)
_SHIP = re.compile(
    r"\b(?:aboard|on\sboard|(?:crew|captain|decks?|cabin|commander|mate|hold|hull|wreck|"
    r"passengers?|voyage|master|owners?)\sof|"
    r"(?:ship|schooner|brig|steamer|vessel|frigate|boat|yacht)(?:\scalled|\snamed|,)?)"
    r"\s(?:the\s)?\Z"
)
_SAILS = re.compile(
    r"\s(?:had\s|was\s)?(?:sailed|steamed|sank|foundered|wrecked|anchored)\b"
)
_SAYS = (
    r"(?:said|says|cried|asked|replied|answered|exclaimed|whispered|thought|returned|added|"
    r"continued|observed|went on|began|remarked|shouted|muttered|repeated|inquired|declared|"
    r"called|laughed|smiled|nodded|sighed|murmured)"
)
_SPEAKS_BEFORE = re.compile(rf"\b{_SAYS}\s(?:the\s)?\Z")
_SPEAKS_AFTER = re.compile(rf"[,”\"’]*\s(?:had\s|then\s|only\s|\w+ly\s)?{_SAYS}\b")
_THINKS = re.compile(
    r"\s(?:looked|turned|felt|sat|knew|heard|walked|wanted|saw|gave|told|spoke|wished|hoped|"
    r"believed|loved|shook|listened|stared|glanced|wondered|remembered|liked|hated)\b"
    r"|,\swho\b"
    r"|['’]s\s(?:face|eyes?|hands?|voice|head|arms?|heart|mind|lips|wife|husband|father|mother|"
    r"brother|sister|son|daughter|friend)\b"
)
_ACTS = re.compile(
    r"\s(?:was|had|came|went|took|stood|could|would|did|put|made|rose|ran|has|is|got|seemed)\b"
)
_OPENS_SPEECH = re.compile(r"[“\"‘]\Z")
_ADDRESSED_FIRST = re.compile(r"[,!?]\s")
_AFTER_COMMA = re.compile(r", \Z")
_ADDRESSED_LAST = re.compile(r"[!?]|[.,]?[”\"]")
_DETERMINER = re.compile(
    r"\b(?:the|an?|his|her|their|our|my|your|some|any|no|of|this|that|these|those)\s\Z",
    re.I,
)
_NOUN = re.compile(r"\s([a-z]{3,}(?:-[a-z]+)*)(?![’'-])")
_PLURAL = re.compile(r"\s(?:were|are|have|themselves)\b")
# The first pronoun, if no other name or a speech comes before it
_HE_OR_SHE = re.compile(
    r"[^A-Z“”\"]{0,90}?\b(?:(?P<he>he|him|his|himself|He|His)|she|her|hers|herself|She|Her)\b"
)
# Past tenses without "-ed" that follow a name as often as a noun does.
_VERBS = frozenset(
    "sat stood ran rose came went took gave made got put saw knew felt heard told spoke shook "
    "threw drew fell held kept left let lay led met read said sent set slept stole swore thought "
    "woke won wore wrote began broke brought bought caught chose could cut did drank drove ate "
    "fought found flew forgot grew hid hung hurt laid leapt lost paid sang sank seems shot shut "
    "sprang stuck struck swung took understood bent bit blew bore burst crept lit rang rode sought "
    "sold spent spun swam tore wept bowed says comes goes looks stands knows".split()
)


def context_of(text: str, start: int, end: int) -> MentionContext:
    """The hints around the name at these offsets."""
    before = text[max(0, start - _BEFORE) : start]
    after = text[end : end + _AFTER]
    context = MentionContext.NONE
    if _is_person(before, after):
        context |= MentionContext.PERSON
    elif _ACTS.match(after):
        context |= MentionContext.ACTS
    if not after.startswith(("'s", "’s")):  # Not "in the Dragon's house"
        context |= _place_hints(before, after)
    pronoun = _HE_OR_SHE.match(after)
    if pronoun:
        context |= MentionContext.HE if pronoun["he"] else MentionContext.SHE
    if _ARTICLE.search(before):
        context |= MentionContext.ARTICLE
    if _PLURAL.match(after):
        context |= MentionContext.PLURAL
    if _is_spoken(text, start):
        context |= MentionContext.SPOKEN
    return context


def _is_spoken(text: str, start: int) -> bool:
    """Whether a quotation that began in the same paragraph is still open."""
    break_before = text.rfind("\n\n", max(0, start - _LONGEST_PARAGRAPH), start)
    if break_before < 0 and start > _LONGEST_PARAGRAPH:
        # The paragraph is too long to decide: it counts as narration.
        return False
    paragraph_start = max(0, break_before)
    last_opened = text.rfind("“", paragraph_start, start)
    if last_opened >= 0:
        last_closed = text.rfind("”", paragraph_start, start)
        return last_opened > last_closed
    # Straight quotation marks open and close in turn.
    return text.count('"', paragraph_start, start) % 2 == 1


def _is_person(before: str, after: str) -> bool:
    """Whether it speaks, thinks, is addressed, or its face or kin is mentioned."""
    if _SPEAKS_BEFORE.search(before) or _SPEAKS_AFTER.match(after):
        return True
    if _THINKS.match(after):
        return True
    if _OPENS_SPEECH.search(before):
        return bool(_ADDRESSED_FIRST.match(after))  # "Anne, come here"
    if _AFTER_COMMA.search(before):
        return bool(_ADDRESSED_LAST.match(after))  # "Come here, Anne!"
    return False


def _place_hints(before: str, after: str) -> MentionContext:
    """The hints that the name is a place, a ship or an adjective."""
    context = MentionContext.NONE
    if _is_modifier(before, after):
        context |= MentionContext.MODIFIER
    elif _PLACE.search(before):
        context |= MentionContext.PLACE
    elif _GOAL.search(before):
        context |= MentionContext.GOAL
    if _SHIP.search(before) or _SAILS.match(after):
        context |= MentionContext.SHIP
    return context


def _is_modifier(before: str, after: str) -> bool:
    """Whether the name stands between a determiner and a noun: "a Gothic tower"."""
    following = _NOUN.match(after)
    if following is None or not _DETERMINER.search(before):
        return False
    word = following[1]
    if word.endswith(("ed", "ly")) or word in _VERBS:
        return False
    return word not in stop_words()["en"]
