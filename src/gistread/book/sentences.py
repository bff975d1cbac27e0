"""Splits text into sentences in linear time, by rules for abbreviations, initials and numbers of
common languages.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

LONGEST_CHARACTERS = 4000  # Longer sentences are split at white space, or anywhere if there is none

# Closing characters that may follow a sentence end.
_CLOSING = "\"'”’“‘»«›‹)\\]」』）】》〉"
# Possessive, and matches only at the start of a run: a page of dots takes linear time.
_END = re.compile(
    f"(?<![.!?…])[.!?…]++[{_CLOSING}]*+(?: »)?(?=\\s)"
    f"|(?<![。！？｡؟۔।॥])[。！？｡؟۔।॥]++(?P<closed>[{_CLOSING}]*+)"
    "|\\n\\n++"
)

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ABBREVIATIONS, _MAY_END, _BEFORE_NUMBER = (
    frozenset(_TABLES[name].split()) for name in ("abbreviations", "may_end", "before_number")
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«—–-]*$")
# "z. B.", "d. h.", "т. е.", "p. ej.": a letter and a stop, after or before another one.
_SPACED_BEFORE = re.compile(r"(?:^|[\s(«„])[^\W\d_]{1,2}\.\s$")
_SPACED_AFTER = re.compile(r"\s(?:[^\W\d_]|ej|ex|es|UU)\.")
_MAY_END_SPACED = frozenset("дпa")  # и т. д., и т. п.; u. a.
# A German date or ordinal: "am 3. Januar", "der 2. Stock".
_BEFORE_ORDINAL = re.compile(
    r"\b(?:a[mnb]|de[rmns]|die|das|vo[mn]|zu[mr]|im|bis|seit|ins|jede[mnrs]?|sein[emnrs]*|ihr[emnrs]*)\s$",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?$")
_LOOK_BACK = 24
_GAP = re.compile(r"\s*")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, without surrounding white space.

    At most `LONGEST_CHARACTERS` long.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if match[0][0] == "." and not _ends_sentence(text, match.start(), match.end()):
            continue
        if match[0][0] in "!?…" and _continues(text, match.end()):
            continue
        # A Japanese or Chinese sentence may continue after speech: 「はい。」と言った。
        if match["closed"] and text[match.end() : match.end() + 1] in tuple("とっ、，,"):
            continue
        spans += _pieces(text, start, match.end())
        start = match.end()
    spans += _pieces(text, start, len(text))
    return spans


def _continues(text: str, end: int) -> bool:
    """Whether the sentence continues after a mark inside it: "Oh!" said she."""
    return text[end : end + 8].lstrip()[:1].islower()


def _ends_sentence(text: str, dot: int, end: int) -> bool:
    if _continues(text, end):
        return False
    following = text[end : end + 8].lstrip()
    before = text[max(0, dot - _LOOK_BACK) : dot]
    match = _LAST_WORD.search(before)
    word = match[0] if match else ""
    if end - dot > 1:
        # An ellipsis or a closing quotation mark; abbreviations rarely precede either.
        return True
    led = before[: len(before) - len(word)]
    if len(word) <= 2 and word.isalpha():
        if _SPACED_AFTER.match(text, end) and not (
            word.isupper() and len(word) > 1 and word != "EE"
        ):
            return False
        if word.islower() and len(word) == 1 and _SPACED_BEFORE.search(led):
            return word in _MAY_END_SPACED and following[:1].isupper()
    if len(word) == 1 and word.isalpha() and word.isupper():
        # An initial, unless the sentence ends with "I". After a name it is no pronoun: "Charles
        # I.", "J. I. Packer".
        names = led.split()
        return word == "I" and not (names and names[-1][:1].isupper())
    if following[:1].isdigit() and (
        word.lower() in _BEFORE_NUMBER or (word.islower() and len(word) == 1)
    ):
        return False  # "д. 5", "p. 12", "Art. 5"
    if word == "г" and not led.rstrip()[-1:].isdigit():
        return False  # A town in Russian; after a number, the year
    if word.lower() in (
        "jr",
        "sr",
    ):  # after a name in English, before one in Spanish: "El Sr. Pérez"
        name = next(reversed(led.split()), "")
        return (
            following[:1].isupper()
            and name[:1].isupper()
            and name not in ("El", "Al", "Del", "Un", "Este")
        )
    if word.lower() in _ABBREVIATIONS:
        return (
            word.lower() in _MAY_END
            and following[:1].isupper()
            and word.lower() not in ("st", "no", "fig")
        )
    if _DOTTED.match(word):
        # "at 5 p.m. She left" ends; "the U.S. Army" and "e.g. This" do not.
        return (
            word.islower()
            and following[:1].isupper()
            and word not in ("i.e", "e.g", "d.h", "z.b", "c.-à-d")
        )
    if word.isdigit() and len(word) <= 2 and _BEFORE_ORDINAL.search(led):
        return False
    # "3. Kapitel": ordinals stay with their word; larger numbers end sentences.
    start = dot - len(word)
    starts_line = start <= 0 or text[start - 1] == "\n"
    return not (word.isdigit() and len(word) <= 2 and end < len(text) and starts_line)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence without surrounding white space, cut where it is too long."""
    sentence = text[start:end]
    start += len(sentence) - len(sentence.lstrip())
    end = start + len(sentence.strip())
    while end - start > LONGEST_CHARACTERS:
        limit = start + LONGEST_CHARACTERS
        at = max(text.rfind("\n", start + 1, limit), text.rfind(" ", start + 1, limit)) + 1 or limit
        yield start, start + len(text[start:at].rstrip())
        gap = _GAP.match(text, at)
        start = gap.end() if gap else at
    if start < end:
        yield start, end
