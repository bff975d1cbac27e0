"""Guesses the encoding of plain text that is neither UTF-8 nor declared.

chardet names the candidates. This module adds what it lacks: damaged text in multibyte encodings,
and texts with so few letters beyond ASCII that only the language tells which encoding they are in.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gistread.book.formats.encoding_names import codec_of, encoding_tables
from gistread.book.normalise import language_shares

_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_LETTERS_OF_ASCII = re.compile(rb"[A-Za-z]")
# Bytes of another script than Latin. In Latin, letters beyond ASCII stand alone or in pairs.
_LONG_RUN = re.compile(rb"[\x80-\xff]{3,}")
_SHARE_IN_LONG_RUNS = 0.7  # Share of the bytes beyond ASCII
_FEWEST_OF_A_SCRIPT = 12  # Different bytes; rows of dots and dashes have fewer
_WORD_BEYOND_ASCII = re.compile(rb"[^\s\x80-\xff]*[\x80-\xff]\S*\s*")
_LINE_BYTES = 4000
_SAMPLE_LINES = 2000
_SAMPLE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Multibyte:
    """An encoding of East Asian text."""

    codec: str
    names: tuple[str, ...]  # Beginnings of chardet's names for it and similar ones
    usual: re.Pattern[bytes]  # An encoded character of everyday text

    def share_of_usual(self, text: str) -> float:
        """The share of everyday characters among those beyond ASCII; lower in a wrong codec."""
        beyond_ascii = [char for char in text[:_MEASURED_CHARACTERS] if char > "\x7f"]
        usual = sum(self._is_usual(char) for char in beyond_ascii)
        return usual / max(1, len(beyond_ascii))

    def _is_usual(self, char: str) -> bool:
        if self.codec == "gb18030" and "\u3040" <= char <= "\u30ff":
            # Kana have the same bytes in EUC-JP, which is then the encoding
            return False
        return self.usual.fullmatch(char.encode(self.codec, "ignore")) is not None


_MEASURED_CHARACTERS = 20_000
# Signs, kana or Hangul, and the frequent ideographs, which these encodings put first.
_MULTIBYTE_CODECS = (
    _Multibyte(
        "cp932",
        ("cp932", "shift_jis"),
        re.compile(rb"[\xa1-\xdf]|[\x81-\x83\x88-\x97]."),
    ),
    _Multibyte("euc_jis_2004", ("euc_j",), re.compile(rb"[\xa1-\xa5\xb0-\xcf].")),
    _Multibyte(
        "cp949", ("cp949", "euc_kr"), re.compile(rb"[\xa1-\xa3\xb0-\xc8][\xa1-\xfe]")
    ),
    _Multibyte("big5hkscs", ("big5",), re.compile(rb"[\xa1-\xc6].")),
    _Multibyte("gb18030", ("gb",), re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")),
)
# One unreadable place in a hundred characters is damage; more is another encoding.
_MOST_UNREADABLE = 0.01

# Bytes to skip after damage: a stray byte, or a character that it cut in two.
_SKIPPED = (1, 2, 3)
_MOST_DAMAGED_PLACES = 20  # In one line; in a worse one, characters may be shifted

# A candidate that fits less is not text of a language we know.
_LEAST_FIT = 0.5
# Languages with this share of the likeliest one's frequent words are likely too.
_LIKELY = 0.7
_FEWEST_TELLING = 200  # Characters in lines that are not all ASCII
_LEAST_SHARE = 0.06  # Share of words that are frequent in the likeliest language
# How much better another candidate must fit if the language is known or chardet finds both equal.
_GAIN_IF_KNOWN = 1e-6
# How much better it must fit otherwise.
_GAIN_IF_UNCLEAR = 0.008
# Candidates of chardet with less than this share of the best one's confidence do not count.
_LEAST_RELATIVE_CONFIDENCE = 0.8
# Below this confidence of chardet, usual encodings are candidates too.
_UNSURE = 0.25

# Hardly ever used for books, but close to encodings that are.
_RARE = frozenset(
    {"iso8859-16", "hp-roman8", "hp_roman8", "cp720", "cp858", "cp860", "cp863"}
)

# Encodings that chardet may not name for short texts with few letters beyond ASCII.
_USUAL = (
    "cp1252",
    "iso8859-15",
    "cp1250",
    "iso8859-2",
    "mac_roman",
    "cp850",
    "cp437",
    "cp852",
)
_MOST_NAMED = 8  # Of chardet's candidates, which are all encodings that it supports
# Encodings of other scripts and of the Baltic languages.
_OTHERS_IN_USE = (
    "cp1251",
    "koi8-r",
    "cp866",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
)
_PUNCTUATION = frozenset("‘’‚“”„«»‹›–—…•§©¡¿\u00a0\u00ad№")
# Signs that draw lines and boxes. A single one is a letter in another encoding.
_DRAWN_LINE = re.compile("[\u2500-\u259f]{3,}")
_SIGNS = frozenset("·°®™£€¢†‡½¼¾²³¹×ªº´")  # Rarer: half as likely as a letter
_APOSTROPHES = "’‘ʼ´·\u00ad‑-"

# Never inside a word: a sign, a control character, a capital after a small letter. Never at the end
# of one: capitals that are quotes, dashes and spaces in Macintosh text.
_MISPLACED = re.compile(
    r"(?<=[^\W\d_])[^\w\s\x00-\x7f"
    + re.escape(_APOSTROPHES)
    + r"—–…\u0300-\u036f](?=[^\W\d_])"
    r"|[\x80-\x9f]|(?<=[a-zß-öø-ÿ])[À-ÖØ-ÞŒŠŸŽ](?=[a-zß-öø-ÿ])"
    r"|(?<![A-ZÀ-ÖØ-Þ])[ÊÐÑÒÔÕ](?![^\W\d_])"
)

# A letter of ASCII beside one of another script: "aб".
_MIXED_WORD = re.compile(
    r"[a-zA-Z](?![\x00-\u024f])[^\W\d_]|(?![\x00-\u024f])[^\W\d_][a-zA-Z]"
)
_LETTERS_FOR_ONE_MIXED = 5


@dataclass(frozen=True, slots=True)
class _Candidate:
    codec: str
    confidence: float


def guess_codec(data: bytes) -> str:
    """The codec that reads `data` best; text in it may be damaged.

    >>> guess_codec("Příliš žluťoučký kůň úpěl ďábelské ódy.".encode("iso8859-2"))
    'iso8859-2'
    """
    sample = _telling_part(data)
    sample = _words_of_another_script(sample) or sample
    candidates = _candidates(sample)
    first = candidates[0].codec if candidates else ""
    return _multibyte(sample, first) or _best_fitting(sample, candidates)


def likely_codecs(data: bytes) -> list[str]:
    """Codecs that may read `data`, the likeliest first, then others in use."""
    candidates = _candidates(_telling_part(data))[:_MOST_NAMED]
    named = [candidate.codec for candidate in candidates]
    others = [multibyte.codec for multibyte in _MULTIBYTE_CODECS]
    return list(dict.fromkeys((*named, *_USUAL, *_OTHERS_IN_USE, *others)))


def decode_damaged(data: bytes, codec: str) -> str:
    """Decode text. After damage in a multibyte codec, continue where a character begins."""
    for multibyte in _MULTIBYTE_CODECS:
        if codec.startswith(multibyte.names):
            lines = data.split(b"\n")
            return "\n".join(_decode_line(line, codec, multibyte) for line in lines)
    return data.decode(codec, "replace")


def _decode_line(line: bytes, codec: str, multibyte: _Multibyte) -> str:
    """Decode a line. After damage, skip the bytes without which the rest reads best."""

    def share_of_usual(rest: bytes) -> float:
        return multibyte.share_of_usual(rest.decode(codec, "ignore"))

    text = ""
    for _ in range(_MOST_DAMAGED_PLACES):
        try:
            return text + line.decode(codec)
        except UnicodeDecodeError as error:
            damage = error.start
        text += line[:damage].decode(codec) + "\ufffd"
        rests = [line[damage + skipped :] for skipped in _SKIPPED]
        line = max(rests, key=share_of_usual)
    return text + line.decode(codec, "replace")


def _telling_part(data: bytes) -> bytes:
    """All of `data`; if it is long, lines with bytes beyond ASCII, in which encodings differ."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    lines: list[bytes] = []
    for line in data.splitlines():
        first = _BEYOND_ASCII.search(line)
        if first is None:
            continue
        # In a very long line, the first such byte may be far from the start.
        start = 0 if first.start() < _LINE_BYTES else first.start()
        lines.append(line[start : start + _LINE_BYTES])
        if len(lines) == _SAMPLE_LINES:
            break
    return b"\n".join(lines)[:_SAMPLE_BYTES]


def _words_of_another_script(sample: bytes) -> bytes:
    """The words beyond ASCII of a text in Latin letters that quotes another script, else nothing.

    Beside many words in ASCII, a passage in Russian looks like signs of a western encoding.
    """
    long_runs = b"".join(_LONG_RUN.findall(sample))
    beyond_ascii = len(_BEYOND_ASCII.findall(sample))
    is_quoted = beyond_ascii < len(_LETTERS_OF_ASCII.findall(sample))
    is_mostly_in_runs = len(long_runs) >= beyond_ascii * _SHARE_IN_LONG_RUNS
    is_script = len(set(long_runs)) >= _FEWEST_OF_A_SCRIPT
    if is_quoted and is_mostly_in_runs and is_script:
        return b"".join(_WORD_BEYOND_ASCII.findall(sample))
    return b""


def _multibyte(sample: bytes, first: str) -> str:
    """The multibyte codec of `sample`, even if a few bytes are damaged; empty for other text.

    `first`: chardet's first candidate for the sample as it is.
    """
    shares: dict[str, float] = {}
    for multibyte in _MULTIBYTE_CODECS:
        codec = multibyte.codec
        if first.startswith(multibyte.names):
            shares[first] = multibyte.share_of_usual(sample.decode(first, "ignore"))
            continue
        # If it is only damaged, chardet names this codec for the rest.
        unreadable = sample.decode(codec, "replace").count("\ufffd")
        readable = sample.decode(codec, "ignore")
        is_little = unreadable <= 1 + len(readable) * _MOST_UNREADABLE
        if not unreadable or not is_little:
            continue
        candidates = _candidates(readable.encode(codec, "ignore"))
        if candidates and candidates[0].codec.startswith(multibyte.names):
            shares[codec] = multibyte.share_of_usual(readable)
    return max(shares, key=shares.__getitem__, default="")


def _candidates(sample: bytes) -> list[_Candidate]:
    """Encodings of `sample` by chardet's confidence, best first."""
    # imported here: most books are UTF-8 and need none of it
    from chardet import detect_all

    if not sample:
        return []
    results = detect_all(sample, max_bytes=len(sample), ignore_threshold=True)
    candidates = []
    for result in results:
        codec = codec_of(result["encoding"] or "")
        if codec and codec not in _RARE:
            candidates.append(_Candidate(codec, result["confidence"]))
    return candidates


def _best_fitting(sample: bytes, candidates: Sequence[_Candidate]) -> str:
    """chardet's first candidate, unless the letters of another one fit the language better."""
    best = candidates[0].codec if candidates else "cp1252"
    text = sample.decode(best, "replace")
    if _is_of_another_script(text):
        return best
    alphabets = _alphabets(text)
    best_fit = _fit(text, alphabets)
    equally_confident = {
        candidate.codec
        for candidate in candidates
        if candidate.confidence == candidates[0].confidence
    }
    is_language_known = len(alphabets) == 1
    for codec in _rivals(candidates):
        fit = _fit(sample.decode(codec, "replace"), alphabets)
        is_clear = is_language_known or codec in equally_confident
        gain = _GAIN_IF_KNOWN if is_clear else _GAIN_IF_UNCLEAR
        if fit >= max(best_fit + gain, _LEAST_FIT):
            best = codec
            best_fit = fit
    return best


def _rivals(candidates: Sequence[_Candidate]) -> list[str]:
    """Codecs to compare the first candidate with, without repetition."""
    best_confidence = candidates[0].confidence if candidates else 0
    least_confidence = best_confidence * _LEAST_RELATIVE_CONFIDENCE
    codecs = [
        candidate.codec
        for candidate in candidates
        if candidate.confidence >= least_confidence
    ]
    if best_confidence < _UNSURE:
        codecs += _USUAL
    return list(dict.fromkeys(codecs))


def _is_of_another_script(text: str) -> bool:
    """Whether words are of another script than Latin: chardet recognises those well."""
    letters = [char for char in text if char > "\x7f" and char.isalpha()]
    latin = sum(map(_is_latin, letters))
    mixed_words = len(_MIXED_WORD.findall(text))
    has_few_mixed_words = mixed_words * _LETTERS_FOR_ONE_MIXED < len(letters)
    return latin * 2 < len(letters) and has_few_mixed_words


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter <= "\u1eff"


def _alphabets(text: str) -> tuple[frozenset[str], ...]:
    """The letters beyond ASCII of each language that the text may be in."""
    letters_of = encoding_tables()["letters"]
    telling_lines = "\n".join(line for line in text.splitlines() if not line.isascii())
    if len(telling_lines) >= _FEWEST_TELLING:
        # The other lines may be in another language: a manual, a book for learners.
        text = telling_lines
    shares = language_shares(text)
    best_share = max(shares.values(), default=0)
    likely = [
        letters_of[language]
        for language, share in shares.items()
        if share >= best_share * _LIKELY and language in letters_of
    ]
    is_known = bool(likely) and best_share >= _LEAST_SHARE
    small_letters = likely if is_known else letters_of.values()
    return tuple(frozenset(small + small.upper()) for small in small_letters)


def _fit(text: str, alphabets: Sequence[frozenset[str]]) -> float:
    """How well characters beyond ASCII fit a language: 1 if all are letters of one alphabet.

    Punctuation and drawn lines fit too, rarer signs by half. Misplaced characters count against.
    """
    counts = Counter(text)
    counts_beyond_ascii = {char: n for char, n in counts.items() if char > "\x7f"}
    total = sum(counts_beyond_ascii.values())
    if not total:
        return 1

    def count_in(characters: frozenset[str]) -> int:
        return sum(counts_beyond_ascii.get(char, 0) for char in characters)

    letters = max(map(count_in, alphabets))
    punctuation = count_in(_PUNCTUATION)
    signs = count_in(_SIGNS)
    drawn = sum(map(len, _DRAWN_LINE.findall(text)))
    misplaced = len(_MISPLACED.findall(text))
    fitting = letters + punctuation + drawn + signs / 2
    return (fitting - misplaced) / total
