"""Words that mean about the same (`related_words.toml`): a story and a question may differ.

"Who stole the gold?" is answered where somebody "robbed" a weaver. The list is English.

Without it, the first 450 words have the telling sentence for 33 instead of 41 of 160 plain
questions about novels (`tests/benchmarks/questions_*.tsv`), and 2,900 words for 77 instead of 89.
On tales, whose questions use the words of the text, it changes 0.5 points at most.
"""

import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from gistread.search.tokens import Terms, code_of


def related_stems(
    language: str, leave_out: Collection[str] = ()
) -> Mapping[str, frozenset[str]]:
    """The related stems of each stem; empty for languages other than English.

    `language`: BCP 47, empty means English. `leave_out`: words in lower case that are names here.

    >>> sorted(related_stems("en")["steal"])[:2]
    ['burglar', 'pilfer']
    """
    if code_of(language) != "en":
        return {}
    if not leave_out:
        return _all_related()
    stem = Terms("en").stem
    names = {stem(word) for word in leave_out}
    return {
        word: others for word, others in _all_related().items() if word not in names
    }


@cache
def common_words() -> frozenset[str]:
    """The English words of the list."""
    words: set[str] = set()
    for table in _tables().values():
        for word, others in table.items():
            words |= {word, *others.split()}
    return frozenset(words)


def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(
        Path(__file__).with_name("related_words.toml").read_text("utf-8")
    )


@cache
def _all_related() -> Mapping[str, frozenset[str]]:
    """The related stems of each stem. Forms of one word share the words related to it."""
    tables = _tables()
    stem = Terms("en").stem
    related: dict[str, frozenset[str]] = defaultdict(frozenset)
    for word, others in tables["related"].items():
        related[stem(word)] |= frozenset(map(stem, others.split()))
    for word, others in tables["forms"].items():
        forms = frozenset(map(stem, (word, *others.split())))
        related_to_word = related.get(stem(word), frozenset())
        for form in forms:
            related[form] |= forms | related_to_word
    return {word: others - {word} for word, others in related.items()}
