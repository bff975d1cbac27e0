"""Finds blocks of plain text that may be headings. `outline.py` decides which of them are."""

import re
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from gistread.book.formats.text_blocks import TextBlock
from gistread.book.model import ParagraphKind
from gistread.book.normalise import letters, one_line, word_set
from gistread.book.numbers import parse_number, parse_roman


class Rank(IntEnum):
    CONTAINER = 0  # Book, part, volume, act
    CHAPTER = 1
    NAMED = 2  # Prologue, preface, epilogue: stands beside chapters or parts
    SECTION = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    index: int
    rank: Rank
    # The keyword ("chapter", "part"), or the form of a heading without one ("roman", "digits",
    # "capitals")
    family: str
    number: int | None
    title: str
    bare: bool  # Only a number and its keyword: a title may follow in the next block
    level: int = 0  # Given by Markdown headings only


_LONGEST_CHARACTERS = 250
_MOST_LINES = 4

# Families of headings without a keyword.
NUMERALS = frozenset(
    f"{style}{end}"
    for style in ("roman", "digits", "spelled", "padded")
    for end in ("", " with title")
)

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_CONTENTS = re.compile(_TABLES["contents"], re.IGNORECASE)

# Emphasis, rules and Markdown brackets around a heading.
_DECORATION = " \t_=*~#-—–[]"
_ARTICLE = re.compile(r"(?:the|das|der|die|den|le|la|el|il|lo|o|a|het|de)\s+", re.IGNORECASE)
_WORD_NUMBER = re.compile(
    r"([^\W\d_][\w’'-]*)\.?\s+(?:the\s+|le\s+|la\s+|n[o°º]\.?\s*)?(\w+(?:-\w+|[״׳]\w*)*)(.*)$",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER_WORD = re.compile(r"([\w-]+?)\.?\s+([^\W\d_][\w-]*)(.*)$", re.DOTALL)
_CJK = re.compile(
    r"[第제]\s*([〇零一二三四五六七八九十百千0-9０-９]{1,6})\s*"
    r"([部巻卷編编篇集冊册章回話话節节幕折장부권편막절])(.*)$",
    re.DOTALL,
)
_VOLUME = re.compile(
    r"([卷巻])[之の]?([〇零一二三四五六七八九十百千0-9０-９]{1,4})(?:$|[\s：:、](.*)$)", re.DOTALL
)
_NAMED_WITHOUT_SPACES = re.compile(
    r"(番外[篇编編]?|尾[声聲]|楔子|引子|序[章言曲]|[终終]章|自序|[后後][记記]|附[录錄]|[间間幕]章|外[传傳])"
    r"\s*([〇零一二三四五六七八九十百0-9０-９]{0,4})(?:$|[\s：:、](.*)$)",
    re.DOTALL,
)
_CONTAINERS = frozenset("部巻卷編编篇集冊册부권편")
_LONGEST_TITLE = 40
_BARE = re.compile(
    r"([IVXLCDM]{1,8}|\d{1,3}|[A-Za-z]+(?:-[a-z]+)?|[一二三四五六七八九十百]{1,4})[.):]?$"
)
_NUMBER_TITLE = re.compile(r"([IVXLC]{1,8}|\d{1,3})(?:[.):]|\s?[—–-])\s+(\S.*)$", re.DOTALL)
_PADDED_TITLE = re.compile(
    r"(0[1-9]|[1-9]\d)\s+([^\W\d_].*)$", re.DOTALL
)  # "01 My Early Home": begins with a zero
_MARKDOWN = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*$")
_SEPARATOR = re.compile(r"\s*[.:;,)\]—–-]|\s{2,}|\s*\n")


def split_heading(block: TextBlock) -> list[TextBlock]:
    """The block, split after its first line if that is a heading with text right below it."""
    first = TextBlock(block.lines[:1], block.kind, block.gap)
    if (
        block.kind is not ParagraphKind.TEXT
        or len(block.lines) <= _MOST_LINES
        or len(first.lines[0]) > 60
    ):
        return [block]
    found = heading_candidate(0, first)
    if (
        found is None
        or found.rank is Rank.NAMED
        or found.number is None
        or found.family in NUMERALS
    ):
        return [block]
    return [first, TextBlock(block.lines[1:], block.kind, 0)]


def entry_key(line: str) -> str:
    """The words that a contents entry and its heading share, without number, dots or page."""
    line = re.sub(r"^\s*(?:[IVXLC]+|\d+)[.):\s]\s*|[\s.·…_]*\d*\s*$", "", line)
    return letters(line)


def is_contents(block: TextBlock) -> bool:
    return len(block.lines) == 1 and bool(
        _CONTENTS.fullmatch(block.lines[0].strip(_DECORATION + ".:"))
    )


def heading_candidate(index: int, block: TextBlock) -> Candidate | None:
    lines = block.lines
    is_apart = block.kind in (ParagraphKind.BREAK, ParagraphKind.NOTE)
    if is_apart or len(lines) > _MOST_LINES or len(lines[0]) > _LONGEST_CHARACTERS:
        return None
    raw = lines[0].strip()
    if raw.startswith("#"):
        match = _MARKDOWN.match(raw) if len(lines) == 1 else None
        title = one_line(match[2]) if match else ""
        if match:
            return Candidate(index, Rank.CHAPTER, "markdown", None, title, False, len(match[1]))
        return None
    if len(lines) == 2 and len(lines[1]) >= 3 and not lines[1].strip("=") and raw:
        return Candidate(index, Rank.CHAPTER, "markdown", None, raw, False, 1)
    text = raw.strip(_DECORATION)
    if not text or not (text[0].isupper() or text[0].isdigit() or _has_no_case(text[0])):
        return None
    if len(lines) > 1:
        if sum(map(len, lines)) > _LONGEST_CHARACTERS:
            return None
        text = "\n".join([text, *(line.strip().strip("_") for line in lines[1:])])
    return _keyword(index, text) or _named(index, text) or _numeral(index, text)


def _has_no_case(letter: str) -> bool:
    """Whether a letter is of a script without capitals, such as Hebrew, Arabic or Chinese."""
    return letter >= "\u0590" and letter.isalpha() and letter.upper() == letter.lower()


def _keyword(index: int, text: str) -> Candidate | None:
    if _CJK.match(text) or _VOLUME.match(text):
        return _east_asian(index, text)
    named = _NAMED_WITHOUT_SPACES.match(text)
    if named and _is_title(named[3] or ""):
        return Candidate(index, Rank.NAMED, named[1], None, one_line(text), not named[3])
    match = _WORD_NUMBER.match(text)
    above = RANKS.get(match[1].lower()) if match else None
    if match and above is not None:
        number, rest = _leading_number(match[2], match[3])
        if number is not None and _may_follow(rest, match[2]):
            return Candidate(
                index, above, match[1].lower(), number, one_line(text), not _bare_rest(rest)
            )
    match = _NUMBER_WORD.match(_ARTICLE.sub("", text, count=1))
    if match:
        word, number = match[2].lower(), parse_number(match[1])
        # "SECOND EPILOGUE" is a heading; "II Introduction" is a line of a table of contents.
        is_named = word in NAMED_HEADINGS and not match[1].isdigit() and not parse_roman(match[1])
        above = Rank.NAMED if is_named else RANKS.get(word)
        if above is not None and number is not None and _may_follow(match[3], match[2]):
            return Candidate(index, above, word, number, one_line(text), not _bare_rest(match[3]))
    return None


def _east_asian(index: int, text: str) -> Candidate | None:
    """`第三章`, `第2卷 title` or `卷三`."""
    match = _CJK.match(text)
    if match:
        numeral, word, rest = match.groups()
    else:
        volume = _VOLUME.match(text)
        assert volume is not None
        word, numeral, rest = volume.groups()
    number, title = parse_number(numeral), (rest or "").strip()
    if number is None or not _is_title(title):
        return None
    rank = Rank.CONTAINER if word in _CONTAINERS else Rank.CHAPTER
    return Candidate(index, rank, word, number, one_line(text), not title)


def _is_title(title: str) -> bool:
    return len(title) <= _LONGEST_TITLE and not title.endswith(("。", "、", "，", "；"))


def _leading_number(word: str, rest: str) -> tuple[int | None, str]:
    """The number at the start of "Twenty One. A title", and the rest."""
    following = re.match(r"[ -]([A-Za-z]+)(.*)$", rest, re.DOTALL)
    if following:
        both = parse_number(f"{word}-{following[1]}")
        if both is not None:
            return both, following[2]
    return parse_number(word), rest


def _bare_rest(rest: str) -> str:
    return rest.strip(" \t\n.:;,)]—–-_=*")


def _may_follow(rest: str, before: str) -> bool:
    if not _bare_rest(rest):
        return True
    if _SEPARATOR.match(rest):
        # "Part I, as I said, was over." is a sentence; a title after a separator begins with a
        # capital.
        title = _bare_rest(rest)
        return not title[0].islower() or before.isupper()
    title = rest.strip()
    return (
        rest[:1].isspace()
        and (title[0].isupper() or _has_no_case(title[0]))
        and title[-1] not in ".,;:"
        and len(title) < 80
    )


def _named(index: int, text: str) -> Candidate | None:
    text = _ARTICLE.sub("", text, count=1)
    head = re.match(r"[\w-]+", text)
    if not head or head[0].lower() not in NAMED_HEADINGS or len(text) > 120:
        return None
    rest = text[head.end() :]
    bare = not _bare_rest(rest)
    if not bare and not (
        (_SEPARATOR.match(rest) and rest.strip()[-1] not in ".,;") or text.isupper()
    ):
        return None
    return Candidate(index, Rank.NAMED, head[0].lower(), None, one_line(text), bare)


def _numeral(index: int, text: str) -> Candidate | None:
    bare, padded = _BARE.match(text), _PADDED_TITLE.match(text)
    match = bare or padded or _NUMBER_TITLE.match(text)
    number = parse_number(match[1]) if match else None
    if match is None or number is None:
        return None
    is_roman = re.fullmatch("[IVXLCDM]+", match[1])
    if padded:
        style = "padded"
    elif match[1].isdigit():
        style = "digits"
    elif is_roman:
        style = "roman"
    else:
        style = "spelled"
    if bare:
        return Candidate(index, Rank.CHAPTER, style, number, text, True)
    if len(text) > 120 or match[2][0].islower() or match[2][-1] in ",;":
        return None
    return Candidate(index, Rank.CHAPTER, f"{style} with title", number, one_line(text), False)


def may_be_subtitle(block: TextBlock) -> bool:
    """Whether `block`, right after a bare "CHAPTER IV", looks like its title."""
    text = one_line(block.text).strip(_DECORATION)
    if not is_short_line(block) or not text:
        return False
    if text.isupper():
        return True
    if text[-1] in ".,;:!?…" or not text[0].isupper():
        return False
    words = [
        word for word in re.findall(r"[^\W\d_][\w’'-]*", text) if word.lower() not in SMALL_WORDS
    ]
    return bool(words) and sum(word[0].isupper() for word in words) >= len(words) * 0.75


def is_short_line(block: TextBlock) -> bool:
    if block.kind in (ParagraphKind.BREAK, ParagraphKind.NOTE) or len(block.lines) > 3:
        return False
    text = block.text.strip()
    return len(text) <= (200 if text.isupper() else 100) and text[0] not in "\"“‘'«„—–-[("


def is_capitals(block: TextBlock) -> bool:
    """A single line in capitals: a heading in books with unnumbered chapters."""
    if len(block.lines) != 1 or block.gap < 2:
        return False
    text = block.lines[0].strip().strip(_DECORATION)
    return (
        3 <= len(text) <= 60
        and text.isupper()
        and text not in ("THE END", "FINIS", "END", "FIN", "ENDE")
    )


# Ranks of the keywords of numbered headings.
RANKS = {word: Rank[rank] for rank, words in _TABLES["ranks"].items() for word in words.split()}
NAMED_HEADINGS, SMALL_WORDS = (word_set(_TABLES[name]) for name in ("named", "small"))
