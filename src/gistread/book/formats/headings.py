"""Finds blocks of plain text that may be headings. `outline.py` decides which of them are."""

import re
import tomllib
from collections.abc import Sequence
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
    """A block that may be a heading: "Chapter 3" has the family "chapter" and is bare."""

    index: int
    rank: Rank
    # The keyword ("chapter", "part"), or the form of a heading without one ("roman", "capitals")
    family: str
    number: int | None
    title: str
    is_bare: bool  # Only a number and its keyword: a title may follow in the next block
    level: int = 0  # Given by Markdown headings only


_LONGEST_CHARACTERS = 250
_MOST_LINES = 4
_LONGEST_WITH_TEXT_BELOW = 60  # Of a heading without an empty line after it
_FEWEST_EQUALS_SIGNS = 3  # Below a heading of Markdown
_LONGEST_AFTER_NUMBER = 80
_LONGEST_NAMED = 120
_LONGEST_NUMBERED = 120
_LONGEST_SHORT_LINE = 100
_LONGEST_SHORT_CAPITALS = 200
_MOST_LINES_OF_A_TITLE = 3
_LEAST_CAPITALISED = 0.75  # Share of the words of a subtitle
_SHORTEST_CAPITALS = 3
_LONGEST_CAPITALS = 60
_LEAST_GAP_OF_CAPITALS = 2  # Empty lines before a line in capitals
_ENDS = frozenset(("THE END", "FINIS", "END", "FIN", "ENDE"))
_QUOTES = tuple("\"'“‘«„—–-[(")

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
_ARTICLE = re.compile(
    r"(?:the|das|der|die|den|le|la|el|il|lo|o|a|het|de)\s+", re.IGNORECASE
)
_SIGNS = "\u0900-\u0963\u0e31-\u0e4e"  # Hindi and Thai write vowels so, which are no \w
# "Chapter 3. A title", "Book the Second"
_WORD_NUMBER = re.compile(
    rf"([^\W\d_][\w{_SIGNS}’'-]*)\.?\s+(?:the\s+|le\s+|la\s+|n[o°º]\.?\s*)?"
    rf"(\w[\w{_SIGNS}]*(?:-\w+|[״׳΄ʹ]\w*)*)(.*)$",
    re.IGNORECASE | re.DOTALL,
)
# "Third Book. A title"
_NUMBER_WORD = re.compile(
    rf"([\w{_SIGNS}-]+?)\.?\s+([^\W\d_][\w{_SIGNS}-]*)(.*)$", re.DOTALL
)
# "第三章 title"
_CJK = re.compile(
    r"[第제]\s*([〇零一二三四五六七八九十百千0-9０-９]{1,6})\s*"
    r"([部巻卷編编篇集冊册章回話话節节幕折장부권편막절])(.*)$",
    re.DOTALL,
)
# "卷三"
_VOLUME = re.compile(
    r"([卷巻])[之の]?([〇零一二三四五六七八九十百千0-9０-９]{1,4})(?:$|[\s：:、](.*)$)",
    re.DOTALL,
)
# "序章", "番外2"
_NAMED_WITHOUT_SPACES = re.compile(
    r"(番外[篇编編]?|尾[声聲]|楔子|引子|序[章言曲]|[终終]章|自序|[后後][记記]|附[录錄]|[间間幕]章|外[传傳])"
    r"\s*([〇零一二三四五六七八九十百0-9０-９]{0,4})(?:$|[\s：:、](.*)$)",
    re.DOTALL,
)
_CONTAINERS = frozenset("部巻卷編编篇集冊册부권편")
_LONGEST_TITLE = 40
# "XIV.", "14)", "Fourteen", "十四"
_BARE = re.compile(
    r"([IVXLCDM]{1,8}|\d{1,3}|[A-Za-z]+(?:-[a-z]+)?|[一二三四五六七八九十百]{1,4})[.):]?$"
)
# "XIV. A title", "14 — A title"
_NUMBER_TITLE = re.compile(
    r"([IVXLC]{1,8}|\d{1,3})(?:[.):]|\s?[—–-])\s+(\S.*)$", re.DOTALL
)
# "01 My Early Home": numbers below ten begin with a zero.
_PADDED_TITLE = re.compile(r"(0[1-9]|[1-9]\d)\s+([^\W\d_].*)$", re.DOTALL)
# "## A title"
_MARKDOWN = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*$")
# Between number and title: ". ", " — ", a line end.
_SEPARATOR = re.compile(r"\s*[.:;,)\]—–-]|\s{2,}|\s*\n")
# In a table of contents: "XIV. " before an entry, " ..... 17" after it.
_NUMBER_OR_PAGE = re.compile(r"^\s*(?:[IVXLC]+|\d+)[.):\s]\s*|[\s.·…_]*\d*\s*$")
# Signs around a title.
_TITLE_EDGES = " \t\n.:;,)]—–-_=*"


def split_heading(block: TextBlock) -> list[TextBlock]:
    """The block, split after its first line if that is a heading with text right below it."""
    first = TextBlock(block.lines[:1], block.kind, block.gap)
    is_prose = block.kind is ParagraphKind.TEXT and len(block.lines) > _MOST_LINES
    if not is_prose or len(first.text) > _LONGEST_WITH_TEXT_BELOW:
        return [block]
    heading = heading_candidate(0, first)
    if heading is None or heading.number is None:
        return [block]
    if heading.rank is Rank.NAMED or heading.family in NUMERALS:
        return [block]
    return [first, TextBlock(block.lines[1:], block.kind, 0)]


def entry_key(line: str) -> str:
    """The words that a contents entry and its heading share, without number, dots or page."""
    return letters(_NUMBER_OR_PAGE.sub("", line))


def is_contents(block: TextBlock) -> bool:
    if len(block.lines) != 1:
        return False
    line = block.lines[0].strip(_DECORATION + ".:")
    return _CONTENTS.fullmatch(line) is not None


def heading_candidate(index: int, block: TextBlock) -> Candidate | None:
    """The heading that a block may be; None if it cannot be one. `index`: of the block.

    >>> heading_candidate(0, TextBlock(("CHAPTER IV.",), ParagraphKind.TEXT, gap=2)).number
    4
    """
    lines = block.lines
    if _is_apart(block) or len(lines) > _MOST_LINES:
        return None
    if len(lines[0]) > _LONGEST_CHARACTERS:
        # Most paragraphs: patterns need not be tried.
        return None
    first = lines[0].strip()
    if first.startswith("#"):
        if len(lines) != 1:
            return None
        return _markdown_line(index, first)
    if first and _is_underlined(lines):
        return _markdown(index, first, level=1)
    text = _undecorated(first, lines[1:])
    if not text or sum(map(len, lines)) > _LONGEST_CHARACTERS:
        return None
    return _keyword(index, text) or _named(index, text) or _numeral(index, text)


def _undecorated(first: str, following: Sequence[str]) -> str:
    """The lines without emphasis and rules; empty if no heading may begin like this."""
    title = first.strip(_DECORATION)
    if not title or not _may_begin(title[0]):
        return ""
    other_lines = [line.strip().strip("_") for line in following]
    return "\n".join([title, *other_lines])


def _is_apart(block: TextBlock) -> bool:
    """Whether a block does not belong to the text around it, and so is no heading."""
    return block.kind in (ParagraphKind.BREAK, ParagraphKind.NOTE)


def _markdown_line(index: int, line: str) -> Candidate | None:
    """`## A title`."""
    match = _MARKDOWN.match(line)
    if match is None:
        return None
    signs, title = match.groups()
    return _markdown(index, one_line(title), level=len(signs))


def _markdown(index: int, title: str, level: int) -> Candidate:
    return Candidate(
        index, Rank.CHAPTER, "markdown", None, title, is_bare=False, level=level
    )


def _is_underlined(lines: Sequence[str]) -> bool:
    """Whether equals signs below a line make it a heading of Markdown."""
    if len(lines) != 2:
        return False
    is_only_signs = not lines[1].strip("=")
    return is_only_signs and len(lines[1]) >= _FEWEST_EQUALS_SIGNS


def _may_begin(letter: str) -> bool:
    """Whether a heading may begin with a letter."""
    return letter.isupper() or letter.isdigit() or _has_no_case(letter)


def _has_no_case(letter: str) -> bool:
    """Whether a letter is of a script without capitals, such as Hebrew, Arabic or Chinese."""
    return letter >= "\u0590" and letter.isalpha() and letter.upper() == letter.lower()


def _keyword(index: int, text: str) -> Candidate | None:
    """A heading with a number and a word for it, such as "Chapter 3" or "Third Book"."""
    if _CJK.match(text) or _VOLUME.match(text):
        return _east_asian(index, text)
    named = _NAMED_WITHOUT_SPACES.match(text)
    if named:
        name, _, title = named.groups(default="")
        if _is_title(title):
            return Candidate(
                index, Rank.NAMED, name, None, one_line(text), is_bare=not title
            )
    return _word_and_number(index, text) or _number_and_word(index, text)


def _word_and_number(index: int, text: str) -> Candidate | None:
    """`Chapter 3. A title`."""
    match = _WORD_NUMBER.match(text)
    if match is None:
        return None
    keyword, number_word, after = match.groups()
    word = keyword.lower()
    rank = RANKS.get(word)
    if rank is None:
        return None
    number, after_number = _leading_number(number_word, after)
    if number is None or not _may_follow(after_number, number_word):
        return None
    is_bare = not after_number.strip(_TITLE_EDGES)
    return Candidate(index, rank, word, number, one_line(text), is_bare=is_bare)


def _number_and_word(index: int, text: str) -> Candidate | None:
    """`The Third Book. A title`."""
    match = _NUMBER_WORD.match(_ARTICLE.sub("", text, count=1))
    if match is None:
        return None
    numeral, keyword, after_keyword = match.groups()
    number = parse_number(numeral)
    word = keyword.lower()
    # "SECOND EPILOGUE" is a heading; "II Introduction" is a line of a table of contents.
    is_spelled = not numeral.isdigit() and not parse_roman(numeral)
    is_named = word in NAMED_HEADINGS and is_spelled
    rank = Rank.NAMED if is_named else RANKS.get(word)
    if rank is None or number is None or not _may_follow(after_keyword, keyword):
        return None
    is_bare = not after_keyword.strip(_TITLE_EDGES)
    return Candidate(index, rank, word, number, one_line(text), is_bare=is_bare)


def _east_asian(index: int, text: str) -> Candidate | None:
    """`第三章`, `第2卷 title` or `卷三`."""
    match = _CJK.match(text)
    if match:
        numeral, word, after = match.groups()
    else:
        volume = _VOLUME.match(text)
        assert volume is not None
        word, numeral, after = volume.groups()
    number = parse_number(numeral)
    title = (after or "").strip()
    if number is None or not _is_title(title):
        return None
    rank = Rank.CONTAINER if word in _CONTAINERS else Rank.CHAPTER
    return Candidate(index, rank, word, number, one_line(text), is_bare=not title)


def _is_title(title: str) -> bool:
    return len(title) <= _LONGEST_TITLE and not title.endswith(("。", "、", "，", "；"))


def _leading_number(word: str, after: str) -> tuple[int | None, str]:
    """The number that begins with `word`, and what follows it: 21 for "Twenty One. A title"."""
    second = re.match(r"[ -]([A-Za-z]+)(.*)$", after, re.DOTALL)
    if second:
        second_word, after_both = second.groups()
        number = parse_number(f"{word}-{second_word}")
        if number is not None:
            return number, after_both
    return parse_number(word), after


def _may_follow(after: str, word: str) -> bool:
    """Whether `after` may be the title after `word`, which ends "Chapter 3" or "Third Book".

    "Part I, as I said, was over." is a sentence, not a heading.
    """
    title = after.strip(_TITLE_EDGES)
    if not title:
        return True
    if _SEPARATOR.match(after):
        return word.isupper() or not title[0].islower()
    # Without a separator, a title begins after a space and does not end like a sentence.
    words = after.strip()
    has_capital = words[0].isupper() or _has_no_case(words[0])
    begins_title = after[:1].isspace() and has_capital
    ends_title = words[-1] not in ".,;:"
    return begins_title and ends_title and len(words) < _LONGEST_AFTER_NUMBER


def _named(index: int, text: str) -> Candidate | None:
    """`The Epilogue`, `Preface: A title`."""
    text = _ARTICLE.sub("", text, count=1)
    name = re.match(r"[\w-]+", text)
    if name is None or len(text) > _LONGEST_NAMED:
        return None
    word = name[0].lower()
    if word not in NAMED_HEADINGS:
        return None
    after = text[name.end() :]
    is_bare = not after.strip(_TITLE_EDGES)
    if not is_bare and not text.isupper():
        # "Introduction to the next chapter, …" is a sentence.
        has_title = _SEPARATOR.match(after) and after.strip()[-1] not in ".,;"
        if not has_title:
            return None
    return Candidate(index, Rank.NAMED, word, None, one_line(text), is_bare=is_bare)


def _numeral(index: int, text: str) -> Candidate | None:
    """`XIV`, `14. A title`, `01 A title`."""
    bare = _BARE.match(text)
    padded = _PADDED_TITLE.match(text)
    match = bare or padded or _NUMBER_TITLE.match(text)
    if match is None:
        return None
    number = parse_number(match[1])
    if number is None:
        return None
    style = "padded" if padded else _style_of_numeral(match[1])
    if bare:
        return Candidate(index, Rank.CHAPTER, style, number, text, is_bare=True)
    # A small letter or a comma shows a sentence that is only numbered.
    title = match[2]
    if len(text) > _LONGEST_NUMBERED or title[0].islower() or title[-1] in ",;":
        return None
    family = f"{style} with title"
    return Candidate(index, Rank.CHAPTER, family, number, one_line(text), is_bare=False)


def _style_of_numeral(numeral: str) -> str:
    if numeral.isdigit():
        return "digits"
    if re.fullmatch("[IVXLCDM]+", numeral):
        return "roman"
    return "spelled"


def may_be_subtitle(block: TextBlock) -> bool:
    """Whether `block`, right after a bare "CHAPTER IV", looks like its title."""
    text = one_line(block.text).strip(_DECORATION)
    if not is_short_line(block) or not text:
        return False
    if text.isupper():
        return True
    if text[-1] in ".,;:!?…" or not text[0].isupper():
        return False
    words = re.findall(r"[^\W\d_][\w’'-]*", text)
    large_words = [word for word in words if word.lower() not in SMALL_WORDS]
    capitalised = sum(word[0].isupper() for word in large_words)
    return bool(large_words) and capitalised >= len(large_words) * _LEAST_CAPITALISED


def is_short_line(block: TextBlock) -> bool:
    if _is_apart(block) or len(block.lines) > _MOST_LINES_OF_A_TITLE:
        return False
    text = block.text.strip()
    limit = _LONGEST_SHORT_CAPITALS if text.isupper() else _LONGEST_SHORT_LINE
    return len(text) <= limit and not text.startswith(_QUOTES)


def is_capitals(block: TextBlock) -> bool:
    """A single line in capitals: a heading in books with unnumbered chapters."""
    if len(block.lines) != 1 or block.gap < _LEAST_GAP_OF_CAPITALS:
        return False
    text = block.lines[0].strip().strip(_DECORATION)
    has_length_of_title = _SHORTEST_CAPITALS <= len(text) <= _LONGEST_CAPITALS
    return has_length_of_title and text.isupper() and text not in _ENDS


# Ranks of the keywords of numbered headings.
RANKS = {
    word: Rank[rank]
    for rank, words in _TABLES["ranks"].items()
    for word in words.split()
}
NAMED_HEADINGS = word_set(_TABLES["named"])
SMALL_WORDS = word_set(_TABLES["small"])
