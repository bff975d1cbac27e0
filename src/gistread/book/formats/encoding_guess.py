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
# Bytes of another script than Latin, where letters beyond ASCII stand alone or in pairs.
_LONG_RUN = re.compile(rb"[\x80-\xff]{3,}")
_SHARE_IN_LONG_RUNS = 0.7
_FEWEST_OF_A_SCRIPT = 12  # Different bytes; rows of dots and dashes have fewer
_WORD_BEYOND_ASCII = re.compile(rb"[^\s\x80-\xff]*[\x80-\xff]\S*\s*")
_LINE_BYTES = 4000
_SAMPLE_LINES = 2000
_SAMPLE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Multibyte:
    codec: str
    names: tuple[str, ...]  # Beginnings of chardet's names for it and its like
    usual: re.Pattern[bytes]  # An encoded character of everyday text

    def share_of_usual(self, text: str) -> float:
        """The share of characters beyond ASCII that everyday text has; less in a wrong codec."""
        beyond = [char for char in text[:_MEASURED_CHARACTERS] if char > "\x7f"]
        usual = sum(self._is_usual(char) for char in beyond)
        return usual / max(1, len(beyond))

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

# Below this no candidate is text of a language we know.
_LEAST_FIT = 0.5
# Languages with this share of the likeliest one's frequent words are likely too.
_LIKELY = 0.7
_FEWEST_TELLING = 200  # Characters of lines that are not all ASCII
_LEAST_SHARE = 0.06  # Of words that are frequent in the likeliest language
# How much better another candidate must fit, if the language is known or chardet finds both equal,
# and otherwise.
_GAIN_IF_KNOWN = 1e-6
_GAIN_IF_UNCLEAR = 0.008
# Candidates of chardet with less than this share of the best one's confidence do not count.
_LEAST_RELATIVE_CONFIDENCE = 0.8
# Below this confidence of chardet, usual encodings that it does not name join
_UNSURE = 0.25

# Hardly ever used for books, but near to encodings that are.
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
_MOST_NAMED = 8  # Of chardet's candidates; it gives all there are
# Of other scripts and of the Baltic
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
# One alone is a letter in another encoding
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
    """Decode text, and after damage in a multibyte codec go on where characters begin again."""
    multibyte = next(
        (known for known in _MULTIBYTE_CODECS if codec.startswith(known.names)), None
    )
    if multibyte is None:
        return data.decode(codec, "replace")
    lines = data.split(b"\n")
    return "\n".join(_decode_line(line, codec, multibyte) for line in lines)


def _decode_line(line: bytes, codec: str, multibyte: _Multibyte) -> str:
    text = ""
    for _ in range(_MOST_DAMAGED_PLACES):
        try:
            return text + line.decode(codec)
        except UnicodeDecodeError as error:
            damaged = error.start
        tails = [line[damaged + skipped :] for skipped in _SKIPPED]
        text += line[:damaged].decode(codec) + "\ufffd"
        line = max(
            tails,
            key=lambda tail: multibyte.share_of_usual(tail.decode(codec, "ignore")),
        )
    return text + line.decode(codec, "replace")


def _telling_part(data: bytes) -> bytes:
    """The lines that tell encodings apart, where `data` is long."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    lines: list[bytes] = []
    for line in data.splitlines():
        beyond = _BEYOND_ASCII.search(line)
        if beyond:
            start = 0 if beyond.start() < _LINE_BYTES else beyond.start()
            lines.append(line[start : start + _LINE_BYTES])
        if len(lines) == _SAMPLE_LINES:
            break
    return b"\n".join(lines)[:_SAMPLE_BYTES]


def _words_of_another_script(sample: bytes) -> bytes:
    """The words beyond ASCII of a text in Latin letters that quotes another script, else nothing.

    Beside many words in ASCII, a passage in Russian looks like signs of a western encoding.
    """
    runs = b"".join(_LONG_RUN.findall(sample))
    beyond = len(_BEYOND_ASCII.findall(sample))
    is_quoted = beyond < len(_LETTERS_OF_ASCII.findall(sample))
    are_words = (
        len(runs) >= beyond * _SHARE_IN_LONG_RUNS
        and len(set(runs)) >= _FEWEST_OF_A_SCRIPT
    )
    if is_quoted and are_words:
        return b"".join(_WORD_BEYOND_ASCII.findall(sample))
    return b""


def _multibyte(sample: bytes, first: str) -> str:
    """The multibyte codec of `sample`, also if a few of its bytes are damaged; empty if none is.

    `first`: what chardet says of the sample as it is.
    """
    shares: dict[str, float] = {}
    for multibyte in _MULTIBYTE_CODECS:
        codec = multibyte.codec
        if first.startswith(multibyte.names):
            shares[first] = multibyte.share_of_usual(sample.decode(first, "ignore"))
            continue
        unreadable = sample.decode(codec, "replace").count("\ufffd")
        readable = sample.decode(codec, "ignore")
        if not unreadable or unreadable > 1 + len(readable) * _MOST_UNREADABLE:
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
    equal = {
        each.codec for each in candidates if each.confidence == candidates[0].confidence
    }
    for codec in _rivals(candidates):
        fit = _fit(sample.decode(codec, "replace"), alphabets)
        is_clear = len(alphabets) == 1 or codec in equal
        gain = _GAIN_IF_KNOWN if is_clear else _GAIN_IF_UNCLEAR
        if fit >= max(best_fit + gain, _LEAST_FIT):
            best, best_fit = codec, fit
    return best


def _rivals(candidates: Sequence[_Candidate]) -> list[str]:
    """Codecs to compare the first candidate with, without repetition."""
    most = candidates[0].confidence if candidates else 0
    least = most * _LEAST_RELATIVE_CONFIDENCE
    near = [
        candidate.codec for candidate in candidates if candidate.confidence >= least
    ]
    usual = _USUAL if most < _UNSURE else ()
    return list(dict.fromkeys((*near, *usual)))


def _is_of_another_script(text: str) -> bool:
    """Whether words are of another script than Latin: chardet knows those well."""
    letters = [char for char in text if char > "\x7f" and char.isalpha()]
    latin = sum(char < "\u0250" or "\u1e00" <= char <= "\u1eff" for char in letters)
    mixed = len(_MIXED_WORD.findall(text))
    return latin * 2 < len(letters) and mixed * _LETTERS_FOR_ONE_MIXED < len(letters)


def _alphabets(text: str) -> tuple[frozenset[str], ...]:
    """The letters beyond ASCII of the languages the text may be in."""
    letters = encoding_tables()["letters"]
    lines = "\n".join(line for line in text.splitlines() if not line.isascii())
    # The rest may be in another language: a manual, a book for learners.
    shares = language_shares(lines if len(lines) >= _FEWEST_TELLING else text)
    most = max(shares.values(), default=0)
    likely = [
        letters[language]
        for language, share in shares.items()
        if share >= most * _LIKELY and language in letters
    ]
    listed = likely if likely and most >= _LEAST_SHARE else letters.values()
    return tuple(frozenset(small + small.upper()) for small in listed)


def _fit(text: str, alphabets: Sequence[frozenset[str]]) -> float:
    """The share of characters beyond ASCII that one alphabet has, less those that are misplaced."""
    counts = Counter(text)
    beyond = {char: count for char, count in counts.items() if char > "\x7f"}
    total = sum(beyond.values())
    if not total:
        return 1
    known = max(
        sum(count for char, count in beyond.items() if char in alphabet)
        for alphabet in alphabets
    )
    punctuation = sum(count for char, count in beyond.items() if char in _PUNCTUATION)
    signs = sum(count for char, count in beyond.items() if char in _SIGNS)
    drawn = sum(map(len, _DRAWN_LINE.findall(text)))
    misplaced = len(_MISPLACED.findall(text))
    return (known + punctuation + drawn + signs / 2 - misplaced) / total
