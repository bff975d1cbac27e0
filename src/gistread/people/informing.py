"""Chooses a sentence that tells something of somebody whom no sentence introduces.

"What is it, Bunter?" tells nothing of Bunter. The sentence should say what he is or does, in some
words beside his name; a question does not, nor one that addresses him or names him in passing.
"""

import re
from collections.abc import Iterable

from gistread.book.model import Book
from gistread.memory.passages import Passage, sentence_at
from gistread.people.mentions import Form
from gistread.search.tokens import Terms

_MOST_MENTIONS = 60  # The first ones: people are introduced early
# Least content words beside the name, by what the sentence says: that he is or has something; what
# he does; something that names him
_LEAST_WORDS = {3: 2, 2: 4, 1: 7}
_MOST_WORDS = 45  # A longer sentence tells of much else, too

_SPEECH = re.compile(r"“[^”]*”?|\"[^\"]*\"?")
_ASKS = re.compile(r"\?[”\"’)]*\s*\Z")
_ENDS_ADDRESS = re.compile(r"[,.!?;”\"—…]|\s*\Z")
_BEGINS_ADDRESS = re.compile(r"(?:\A|[,“\"‘—!]|\b(?:Oh|O|dear|my))\s*\Z")
_BEGINS_CLAUSE = re.compile(
    r"(?:\A|[.;:—“]|,\s(?:and|but|for|while|when))\W*(?:[Tt]he\s)?\Z"
)
_IS = re.compile(r"\s(?:was|is|were|had|has|used to)\b(?! (?:just|now|already)\b)")
_VERB = re.compile(r"\s(?P<verb>[a-z]+)")
_NO_VERBS = frozenset(
    "and or of to in at with from by for on as than nor but who".split()
)
_SAYS = re.compile(
    r"\b(?:said|says|ask(?:s|ed)|answered|replied|cried|exclaimed|remarked|added|observed)\b"
)


def informing_sentence(forms: Iterable[Form], book: Book) -> Passage | None:
    """The sentence that says most of somebody, the first of equals; None if none does."""
    mentions = sorted(
        (start, start + len(form.text)) for form in forms for start in form.starts
    )[:_MOST_MENTIONS]
    terms = Terms(book.language)
    best: Passage | None = None
    most = 0
    for start, end in mentions:
        place = sentence_at(book, start)
        tells = _how_much(book.text, place, (start, end), terms)
        if tells > most:
            best, most = place, tells
    return best


def _how_much(text: str, place: Passage, mention: Passage, terms: Terms) -> int:
    """How much a sentence tells of the mentioned one: a key of `_LEAST_WORDS`, or 0."""
    start, end = place
    name_start, name_end = mention
    sentence = text[start:end]
    before = text[start:name_start]
    after = text[name_end:end]
    is_addressed = _BEGINS_ADDRESS.search(before) and _ENDS_ADDRESS.match(after)
    is_possessor = after.startswith(("’", "'"))
    is_too_long = len(sentence.split()) > _MOST_WORDS
    if _ASKS.search(sentence) or is_addressed or is_possessor or is_too_long:
        return 0
    remaining = sentence
    if not _is_open(before):
        remaining = _SPEECH.sub(" ", sentence)
    remaining = _SAYS.sub(" ", remaining.replace(text[name_start:name_end], " "))
    words = sum(
        len(word) > 1 and word not in terms.stop_words
        for word in terms.words(remaining)
    )
    tells = _kind_of(before, after)
    while tells and words < _LEAST_WORDS[tells]:
        tells -= 1
    return tells


def _kind_of(before: str, after: str) -> int:
    """What a sentence says of the name between these words: a key of `_LEAST_WORDS`, or 0."""
    if not _BEGINS_CLAUSE.search(before):
        # In a speech, names are mostly named in passing.
        return 0 if _is_open(before) else 1
    if _IS.match(after):
        return 3
    verb = _VERB.match(after)
    return 2 if verb and verb["verb"] not in _NO_VERBS else 1


def _is_open(before: str) -> bool:
    """Whether a speech has begun and not ended."""
    return before.count("“") > before.count("”") or before.count('"') % 2 == 1
