"""Splits text into terms for ranking.

Lower-case words, character pairs in unspaced scripts, stems by language.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from gistread.search.folding import fold
from gistread.word_patterns import MARK_CLASS, UNSPACED, UNSPACED_CHARACTER

# Letters and digits with their marks, but none of an unspaced script
_RUN = f"(?:(?![{UNSPACED}_])\\w[{MARK_CLASS}]*)+"
# "don’t", or a whole run of Chinese
_TOKEN = re.compile(f"[{UNSPACED}]+|{_RUN}(?:['’]{_RUN})*")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")

_SNOWBALL: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("stemmers.toml").read_text("utf-8")
)
# Languages whose articles elide before a vowel.
_ELIDING = frozenset(("ca", "fr", "ga", "it"))

# Articles, ignored when names or short answers are compared.
ARTICLES = frozenset(
    (
        "a an the der die das ein eine le la les un une el los las lo il gli i o os as de het een"
    ).split()
)


_CACHED_STEMS = 50_000  # About the vocabulary of a long novel


@cache
def stop_words() -> Mapping[str, frozenset[str]]:
    """Stop words of questions by ISO 639-1 code."""
    table = tomllib.loads(
        Path(__file__).with_name("stop_words.toml").read_text("utf-8")
    )
    return {language: frozenset(words.split()) for language, words in table.items()}


def code_of(language: str) -> str:
    """ISO 639-1 of a BCP 47 tag; empty means English."""
    code, _, _ = language.replace("_", "-").partition("-")
    return code.lower() or "en"


_CLEAR_LEAD = 1.3  # Of a language's stop words over those of the usual one


def language_of(text: str, usual: str) -> str:
    """The language with clearly the most stop words in the text; otherwise `usual`."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    counts = {
        code: sum(word in listed for word in words)
        for code, listed in stop_words().items()
    }
    best = max(counts, key=lambda code: counts[code])
    # A single stop word is no sign: it may be a name.
    clear_lead = max(1, _CLEAR_LEAD * counts.get(usual, 0))
    return best if counts[best] > clear_lead else usual


class WordPlace(NamedTuple):
    """`text[start:end]` is this word, or an inflection of it."""

    start: int
    end: int
    word: str


class Terms:
    """Tokeniser and stemmer for one language."""

    def __init__(self, language: str) -> None:
        """`language`: BCP 47. Empty means English; an unknown language is not stemmed."""
        code = code_of(language)
        self.stop_words = stop_words().get(code, frozenset())
        self._elides = code in _ELIDING
        self._stem = _stemmer(_SNOWBALL[code]) if code in _SNOWBALL else str

    def words(self, text: str) -> list[str]:
        """Lower-case words of `text` in order; in unspaced scripts each pair of neighbours."""
        text = text.lower()
        if text.isascii():
            return _ASCII_TOKEN.findall(text)
        words: list[str] = []
        for token in _TOKEN.findall(text.replace("’", "'")):
            if UNSPACED_CHARACTER.match(token):
                pairs = [token[start : start + 2] for start in range(len(token) - 1)]
                words += pairs or [token]  # One character has no neighbour.
            elif self._elides and "'" in token:
                words += token.split("'")
            else:
                words.append(token)
        return words

    def places(self, text: str) -> list[WordPlace]:
        """Where each of the `words` is in `text`."""
        places: list[WordPlace] = []
        for match in _TOKEN.finditer(text):
            places += self._places_in_token(match)
        return places

    def _places_in_token(self, match: re.Match[str]) -> Iterator[WordPlace]:
        """The words of a token: pairs in unspaced scripts, "l" and "eau" in French."""
        start, end = match.span()
        token = match[0].lower().replace("’", "'")
        if len(token) != len(match[0]):  # A letter whose lower case has two characters
            yield WordPlace(start, end, token)
        elif UNSPACED_CHARACTER.match(token) and len(token) > 1:
            for index in range(len(token) - 1):
                pair = token[index : index + 2]
                pair_start = start + index
                yield WordPlace(pair_start, pair_start + 2, pair)
        elif self._elides and "'" in token:
            for word in token.split("'"):
                word_end = start + len(word)
                yield WordPlace(start, word_end, word)
                start = word_end + 1
        else:
            yield WordPlace(start, end, token)

    def stem(self, word: str) -> str:
        """Stem of `word`, folded: without accents and points, which people omit in searches."""
        stem = self._stem(word)
        return stem if stem.isascii() else "".join(map(fold, stem))


def folded(word: str) -> str:
    """The word without accents."""
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    """The stemmer with this name; it remembers stems, and is thread-safe."""
    # imported here: it takes 0.1 s, and only a ranked search needs it
    import snowballstemmer

    stemmer = snowballstemmer.stemmer(name)
    lock = Lock()  # The stemmer is stateful, and questions are ranked in threads.

    @lru_cache(_CACHED_STEMS)
    def stem(word: str) -> str:
        with lock:
            return str(stemmer.stemWord(word))

    return stem
