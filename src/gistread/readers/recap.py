"""The story so far, at once and without a model: sentences about the story up to a place, and the
people near it.

The sentences are from summaries of parts, else from gists of pages. Where a gist says what its
pages do not, or nothing has been read, they are the book's own. At the same place, questions are
suggested by the names near it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gistread.book.model import Book, ParagraphKind
from gistread.book.sentences import sentence_spans
from gistread.memory.extractive import choose, shared_terms
from gistread.memory.front_matter import back_matter_start, front_matter_end
from gistread.memory.guard import Draft, foreign_names, foreign_numbers, told_before
from gistread.memory.model import GistMemory
from gistread.memory.passages import Span, sentence_at, sentences_of
from gistread.memory.spoilers import has_plot
from gistread.memory.tree import Node, existing_summaries, page_by_page
from gistread.people.index import corrected
from gistread.people.joining import Entity, Kind, join_names
from gistread.people.mentions import find_names, supports_names
from gistread.store.model import NameCorrection
from gistread.units import counted
from gistread.words import count_words

_BEFORE_WORDS = 110  # Of the story before the last chapter
_CHAPTER_WORDS = 70
_CHAPTER_PAGES = 6  # Most pages of the last chapter; those before them are the story before
_ACT_WORDS = 28  # About a sentence: the story is told in as many acts as sentences fit
_OWN_ACTS = 8  # In which a story without gists is told
_ACT_CHARACTERS = 12_000  # Of such an act, in which its sentence is looked for
_MOST_OF_ACT = 2  # Sentences on one act
_BEHIND = 6_000  # Characters that a memory may lack before the place, about a thousand words
_ON_STAGE = 4_000  # Characters in front of the place whose people are on stage
_MOST_PEOPLE = 6
_LEAST_SHARED = (
    1 / 3
)  # Share of the terms of a gist's sentence that its pages have; else it is unsure
_FEW = 2  # Sentences to show if none represents the others
_QUOTES = "“”\"‘'«„—–"  # Marks of direct speech, which tells little out of context
_PAIRS = (("“", "”"), ("«", "»"))
_LEAST_WORDS = 9  # Of the book's own sentences; shorter ones tell little out of context


@dataclass(frozen=True, slots=True)
class RecapSentence:
    """A sentence, and the place of the book that it is about."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Recap:
    before: tuple[RecapSentence, ...]  # The story before the chapter
    title: str  # Of the chapter
    chapter: tuple[RecapSentence, ...]  # The chapter of the place
    people: tuple[str, ...]  # Those named near the place, the commonest first
    stopped: Span | None  # The sentence at the place; None at the very beginning
    pages: int  # Gists used; 0: the chapters’ own sentences
    summaries: int  # Summaries of parts used
    # Whether the chapter is told in its own sentences, since the memory ends well before it
    is_behind: bool = False
    read_until: int = 0  # Offset at which the gists end; 0: none


def recap(memory: GistMemory, corrections: Sequence[NameCorrection] = ()) -> Recap:
    """Recap a memory that ends where the user is (`GistMemory.upto`)."""
    if (story_end := back_matter_start(memory.book)) < len(memory.book.text):
        memory = memory.upto(story_end)
    book, end = memory.book, len(memory.book.text.rstrip())
    chapters = [book.chapter_index(entry.page.start) for entry in memory.entries]
    last = book.chapter_index(max(0, end - 1))
    read_until = max((entry.page.end for entry in memory.read_entries), default=0)
    is_behind = bool(chapters) and (
        book.chapter_index(read_until - 1) < last or end - read_until > _BEHIND
    )
    begins = max(
        len(memory.entries) - _CHAPTER_PAGES * (not is_behind),
        sum(index < last for index in chapters),
    )
    front = front_matter_end(book)
    # A page may be a heading alone, as that of a part.
    told = [
        entry.is_read
        and entry.page.end > front
        and entry.gist.text.strip() != book.chapter_title(entry.page.start)
        for entry in memory.entries
    ]
    nodes = [
        node for node in existing_summaries(memory, begins) if any(told[node.first - 1 : node.last])
    ]
    now = [node for node in page_by_page(memory)[begins:] if told[node.first - 1]]
    chapter, people = book.chapters[last], _people_near(memory, end, corrections)
    chapter_words = _CHAPTER_WORDS if nodes else _BEFORE_WORDS + _CHAPTER_WORDS
    untold = max(chapter.start, read_until) if is_behind else chapter.start
    if now:
        in_chapter = _tell(now, chapter_words, memory)
    else:
        in_chapter = _own_sentences(book, untold, end, " ".join(people))
    return Recap(
        _tell(nodes, _BEFORE_WORDS, memory),
        chapter.title,
        in_chapter,
        people,
        sentence_at(book, end - 1) if end else None,
        sum(told),
        sum(bool(node.children) for node in nodes),
        is_behind,
        read_until,
    )


def describe_sources(story: Recap) -> str:
    """The sources of a recap, in words."""
    if not story.pages:
        return "in the chapters’ own sentences"
    if story.summaries:
        summaries = f"the summaries of {counted(story.summaries, 'part')} and "
    else:
        summaries = ""
    chapter = " and the chapter’s own sentences" if story.is_behind else ""
    return f"from {summaries}the gists of {counted(story.pages, 'section')}{chapter}"


def _tell(nodes: Sequence[Node], words: int, memory: GistMemory) -> tuple[RecapSentence, ...]:
    """The most representative sentences of each act of these summaries, in the order of the book.

    Each has the place of the most similar sentence in the book.
    """
    titles = " ".join(memory.book.text[: front_matter_end(memory.book)].split())
    sentences = [
        (text, node)
        for node in nodes
        for start, end in sentence_spans(node.summary.text)
        if (text := " ".join(node.summary.text[start:end].split())).rstrip(".") not in titles
    ]
    acts = max(1, min(words // _ACT_WORDS, len(nodes)))
    chosen: dict[RecapSentence, None] = {}
    for act in range(acts):
        part = sentences[act * len(sentences) // acts : (act + 1) * len(sentences) // acts]
        for at in _choose([text for text, _ in part], words // acts)[:_MOST_OF_ACT]:
            chosen[_told(*part[at], memory)] = None
    return tuple(sorted(chosen, key=lambda sentence: sentence.start))


def _told(sentence: str, node: Node, memory: GistMemory) -> RecapSentence:
    """The sentence of a gist, or the book's most similar one where the gist says what its pages do
    not.
    """
    place = _place(sentence, node, memory)
    pages = [memory.entry(number).page for number in range(node.first, node.last + 1)]
    told = told_before(memory.book.text, pages[0].start, memory.focus.wording)
    draft = Draft(sentence, memory.book.text[pages[0].start : pages[-1].end], told_before=told)
    terms = set(shared_terms(sentence))
    is_sure = len(terms.intersection(shared_terms(draft.page))) >= _LEAST_SHARED * len(terms)
    if is_sure and not foreign_numbers(draft) and not foreign_names(draft)[0]:
        return RecapSentence(sentence, place[0])
    return RecapSentence(" ".join(memory.book.text[slice(*place)].split()), place[0])


def own_story(memory: GistMemory) -> tuple[RecapSentence, ...]:
    """The story before the last chapter, act by act, in sentences of the book itself."""
    book = memory.book
    end = min(len(book.text.rstrip()), back_matter_start(book))
    start = front_matter_end(book)
    until = book.chapters[book.chapter_index(max(0, end - 1))].start
    length = max(0, until - start) // _OWN_ACTS
    chosen: dict[RecapSentence, None] = {}
    for act in range(_OWN_ACTS if length else 0):
        begin = start + act * length
        sentences = _own_sentences(
            book, begin, begin + min(length, _ACT_CHARACTERS), "", _ACT_WORDS
        )
        chosen |= dict.fromkeys(sentences[:1])
    return tuple(chosen)


def _own_sentences(
    book: Book, start: int, end: int, names: str, words: int = 0
) -> tuple[RecapSentence, ...]:
    """Sentences of the book itself, preferably with one of these names.

    `words`: 0: as many as the last chapter gets.
    """
    chapter_words = _CHAPTER_WORDS if len(book.chapters) > 1 else _BEFORE_WORDS + _CHAPTER_WORDS
    words = words or chapter_words
    places = ((a, b) for a, b in _whole_sentences(book, start, end) if _is_of_the_story(a, book))
    every = [RecapSentence(" ".join(book.text[a:b].split()), a) for a, b in places]
    told = [
        one for one in every if count_words(one.text) >= _LEAST_WORDS and not _is_speech(one, book)
    ]
    if sum(count_words(one.text) for one in told) < words:  # most of the chapter is direct speech
        told = every
    return tuple(told[at] for at in _choose([one.text for one in told], words, names))


def _whole_sentences(book: Book, start: int, end: int) -> Iterator[Span]:
    """The sentences here, except one that the place of the user cuts."""
    last = len(book.text.rstrip())
    ends = (".", "!", "?", "…", ":", *_QUOTES, "’", "»", ")")
    return (
        (a, b)
        for a, b in sentences_of(book, start, end)
        if b < last or book.text[:b].rstrip().endswith(ends)
    )


def _is_of_the_story(offset: int, book: Book) -> bool:
    """Whether the paragraph here is neither a heading nor in brackets, like a note of the
    transcriber.
    """
    paragraph = book.paragraphs[book.paragraph_index(offset)]
    is_in_brackets = book.text[paragraph.start] == "[" and book.text[paragraph.end - 1] == "]"
    return paragraph.kind is not ParagraphKind.HEADING and not is_in_brackets


def _is_speech(told: RecapSentence, book: Book) -> bool:
    """Whether the sentence is direct speech.

    A quotation begins with it, or earlier in its paragraph.
    """
    before = book.text[book.text.rfind("\n\n", 0, told.start) + 1 : told.start]
    is_open = before.count('"') % 2 or any(
        before.count(opens) > before.count(closes) for opens, closes in _PAIRS
    )
    return bool(is_open) or told.text[0] in _QUOTES


def _choose(sentences: Sequence[str], words: int, names: str = "") -> Sequence[int]:
    return choose(sentences, words, names) or range(len(sentences))[-_FEW:]


def _place(sentence: str, node: Node, memory: GistMemory) -> Span:
    """The sentence of the book most similar to this one, on the page of the node with the most
    similar gist.
    """
    terms = set(shared_terms(sentence))

    def similarity(text: str) -> int:
        return len(terms.intersection(shared_terms(text)))

    entries = (memory.entry(number) for number in range(node.first, node.last + 1))
    page = max(entries, key=lambda entry: similarity(entry.gist.text)).page
    places = list(_whole_sentences(memory.book, page.start, page.end))
    return max(
        places,
        key=lambda place: similarity(memory.book.text[slice(*place)]),
        default=(page.start, page.end),
    )


def _people_near(
    memory: GistMemory, end: int, corrections: Sequence[NameCorrection]
) -> tuple[str, ...]:
    if not supports_names(memory.book):
        return ()
    named = corrected(join_names(find_names(memory.book, max(0, end - _ON_STAGE))), corrections)
    people = [one for one in named if one.kind is Kind.PERSON]
    return tuple(person.name for person in people[:_MOST_PEOPLE])


_REACH = 12_000  # Characters in front of the bound whose names are known
_NEAR = 6_000  # Characters whose names are asked about
_GISTS = 3  # Gists of the last pages, whose names count more: they say who matters
_GIST_WEIGHT = 2
_LEAST = 2  # Times a name must occur
_PERSON_WORDS = 3


def suggestions(
    memory: GistMemory, corrections: Sequence[NameCorrection] = (), *, plot: bool | None = None
) -> tuple[str, ...]:
    """Three questions for the end of this memory's book, cut by `GistMemory.upto`; none unless it
    is English.

    `plot`: whether the whole book `has_plot`; None: judge by this part of it.
    """
    book = memory.book
    if not book.text.strip() or not supports_names(book):
        return ()
    gists = "\n".join(entry.gist.text for entry in memory.entries[-_GISTS:])
    end = len(book.text)
    named = corrected(join_names(find_names(book, max(0, end - _REACH))), corrections)
    counts = {entity: _mentions(entity, end, gists) for entity in named}
    near = sorted(
        (entity for entity in counts if counts[entity] >= _LEAST),
        key=lambda entity: -counts[entity],
    )
    return tuple(_questions(near, plot=has_plot(book) if plot is None else plot))[:3]


def _mentions(entity: Entity, end: int, gists: str) -> int:
    """Weighted number of mentions near the end and in the gists."""
    mentions = sum(
        len(form.starts) - bisect_left(form.starts, end - _NEAR) for form in entity.forms
    )
    return mentions + _GIST_WEIGHT * sum(
        gists.count(form.text) for form in entity.forms if mentions
    )


def _questions(near: list[Entity], *, plot: bool) -> Iterator[str]:
    people = [entity for entity in near if entity.kind is not Kind.PLACE]
    places = [entity for entity in near if entity.kind is Kind.PLACE]
    if not plot:
        yield from (f"What does {one.name} mean here?" for one in people[:1])
        yield "What is this part about?"
        yield "What are the main points so far?"
        yield "What follows from them?"
        return
    # A longer name is that of an office or a company.
    persons = [
        person
        for person in people
        if person.kind is Kind.PERSON and len(person.name.split()) <= _PERSON_WORDS
    ]
    yield from (
        f"Who is {one.name}?" if one in persons else f"What do we learn about {one.name}?"
        for one in people[:1]
    )
    if len(persons) > 1:
        yield f"What do {persons[0].name} and {persons[1].name} have to do with each other?"
    yield "What has happened so far?"
    yield from (f"What happens in {one.name}?" for one in places[:1])
    yield "Who are the people in this story?"
    yield "Where does this take place?"
