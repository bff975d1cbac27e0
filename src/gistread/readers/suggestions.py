"""Three questions to begin with: about the names near a place of the book, without a model."""

import re
from collections import Counter
from collections.abc import Iterator

from gistread.book.sentences import sentence_spans
from gistread.memory.facts import elements_in
from gistread.memory.guard import capitals_mark_names
from gistread.memory.model import GistMemory
from gistread.readers.bound import has_plot
from gistread.search.tokens import stop_words

_NEAR = 6_000  # Characters in front of the bound whose names count
_GISTS = 3  # Gists of the last pages, whose names count more: they say who matters
_GIST_WEIGHT = 2
_LEAST = 2  # Times a name must occur
_PLACE_SHARE = 0.5  # A name after "in" or "at" this often is a place
_AT = re.compile(r"\b(?:in|at|to|from|near|of|through|towards?|into)\s+(?:the\s+)?$")
_TITLE = re.compile(r"\b(Mrs?|Ms|Dr|St|Prof|Capt|Rev)\.(?=\s+[A-Z])")  # Its full stop would end the name
_DATE = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b"
)


def suggestions(memory: GistMemory) -> tuple[str, ...]:
    """Three questions that fit the end of this memory's book, cut by `GistMemory.upto`; none if it is not English."""
    book = memory.book
    if not book.text.strip() or book.language.lower().partition("-")[0] not in ("", "en"):
        return ()
    near = _TITLE.sub(r"\1", book.text[-_NEAR:])
    small = {*stop_words()["en"], *re.findall(r"\b[a-z]+\b", near)}
    found = Counter(name for name in _names(near) if re.split(r"\W", name)[0].lower() not in small)
    if not capitals_mark_names(near):
        found.clear()
    gists = _TITLE.sub(r"\1", "\n".join(entry.gist.text for entry in memory.entries[-_GISTS:]))
    found.update({name: _GIST_WEIGHT * count for name, count in Counter(_names(gists)).items() if name in found})
    names = [name for name, count in found.most_common() if count >= _LEAST]
    people = [name for name in names if not _is_place(name, near)]
    places = [name for name in names if name not in people]
    others = [name for name in people[1:] if not set(name.split()) & set(people[0].split())]
    return tuple(_questions(memory, [_called(name, near) for name in [*people[:1], *others]], places))[:3]


def _questions(memory: GistMemory, people: list[str], places: list[str]) -> Iterator[str]:
    if not has_plot(memory.book):
        yield from (f"What does {name} mean here?" for name in people[:1])
        yield "What is this part about?"
        yield "What are the main points so far?"
        yield "What follows from them?"
        return
    yield from (f"Who {'are' if _is_many(name) else 'is'} {name}?" for name in people[:1])
    if len(people) > 1:
        yield f"What do {people[0]} and {people[1]} have to do with each other?"
    yield "What has happened so far?"
    yield from (f"What happens in {name}?" for name in places[:1])
    yield "Who are the people in this story?"
    yield "Where does this take place?"


def _names(text: str) -> Iterator[str]:
    for start, end in sentence_spans(text):
        sentence = " ".join(text[start:end].split())
        names = (re.sub(r"['’]s$", "", name) for name in elements_in(sentence) if name[0].isupper())
        yield from (name for name in names if not _DATE.match(name))


def _called(name: str, text: str) -> str:
    """The name with its article, if it mostly has one: the Time Traveller."""
    alone, with_article = (len(re.findall(rf"\b{the}{re.escape(name)}\b", text)) for the in ("", "[Tt]he "))
    return f"the {name}" if with_article > alone / 2 else name


def _is_many(name: str) -> bool:
    return name.startswith("the ") and re.search(r"[^s]s$", name) is not None


def _is_place(name: str, text: str) -> bool:
    places = [match.start() for match in re.finditer(rf"\b{re.escape(name)}\b", text)]
    return sum(bool(_AT.search(text[max(0, at - 20) : at])) for at in places) >= _PLACE_SHARE * max(1, len(places))
