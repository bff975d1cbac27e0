"""The story so far, at once and without a model: sentences about the story, and who is near.

The sentences are from summaries of parts, else from gists of pages. Where a gist says what its
pages do not, or nothing has been read, they are the book's own. At the same place, questions are
suggested by the names near it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from gistread.book.model import Book, ParagraphKind
from gistread.book.sentences import sentence_spans
from gistread.memory.extractive import choose, shared_terms
from gistread.memory.front_matter import back_matter_start, front_matter_end
from gistread.memory.guard import Draft, foreign_names, foreign_numbers, told_before
from gistread.memory.model import GistMemory, MemoryEntry
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
# Share of the terms of a gist's sentence that its pages have; else it is unsure
_LEAST_SHARED = 1 / 3
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
    story_end = back_matter_start(memory.book)
    if story_end < len(memory.book.text):
        memory = memory.upto(story_end)
    book = memory.book
    end = len(book.text.rstrip())
    last = book.chapter_index(max(0, end - 1))
    read_until = max((entry.page.end for entry in memory.read_entries), default=0)
    is_behind = bool(memory.entries) and _is_behind(read_until, end, book)
    first_page = _first_page_of_chapter(last, memory, is_behind=is_behind)
    story_start = front_matter_end(book)
    telling = [_tells(entry, book, story_start) for entry in memory.entries]
    before = [
        node
        for node in existing_summaries(memory, first_page)
        if any(telling[node.first - 1 : node.last])
    ]
    now = [node for node in page_by_page(memory)[first_page:] if telling[node.first - 1]]
    people = _people_near(memory, end, corrections)
    if now:
        words = _CHAPTER_WORDS if before else _BEFORE_WORDS + _CHAPTER_WORDS
        in_chapter = _tell(now, words, memory)
    else:
        start = book.chapters[last].start
        start = max(start, read_until) if is_behind else start
        in_chapter = _own_sentences(book, start, end, " ".join(people))
    return Recap(
        before=_tell(before, _BEFORE_WORDS, memory),
        title=book.chapters[last].title,
        chapter=in_chapter,
        people=people,
        stopped=sentence_at(book, end - 1) if end else None,
        pages=sum(telling),
        summaries=sum(bool(node.children) for node in before),
        is_behind=is_behind,
        read_until=read_until,
    )


def _is_behind(read_until: int, end: int, book: Book) -> bool:
    """Whether a memory that ends at `read_until` lacks much of the story up to `end`."""
    is_in_chapter = book.chapter_index(read_until - 1) >= book.chapter_index(max(0, end - 1))
    return not is_in_chapter or end - read_until > _BEHIND


def _first_page_of_chapter(chapter: int, memory: GistMemory, *, is_behind: bool) -> int:
    """Index of the first page that is told as the last chapter; those before are the story so far.

    If the memory is behind, no page is told as the last chapter.
    """
    book = memory.book
    pages_before = sum(book.chapter_index(entry.page.start) < chapter for entry in memory.entries)
    pages_of_chapter = 0 if is_behind else _CHAPTER_PAGES
    return max(len(memory.entries) - pages_of_chapter, pages_before)


def _tells(entry: MemoryEntry, book: Book, story_start: int) -> bool:
    """Whether a page was read and tells something: some are a heading alone, as that of a part."""
    is_story = entry.page.end > story_start
    is_heading = entry.gist.text.strip() == book.chapter_title(entry.page.start)
    return entry.is_read and is_story and not is_heading


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
    titles = _on_one_line(memory.book.text[: front_matter_end(memory.book)])
    sentences = [
        (sentence, node)
        for node in nodes
        for sentence in _sentences_in(node.summary.text)
        if sentence.rstrip(".") not in titles
    ]
    acts = max(1, min(words // _ACT_WORDS, len(nodes)))
    chosen: dict[RecapSentence, None] = {}
    for act in range(acts):
        part = sentences[act * len(sentences) // acts : (act + 1) * len(sentences) // acts]
        for at in _choose([text for text, _ in part], words // acts)[:_MOST_OF_ACT]:
            chosen[_as_told(*part[at], memory)] = None
    return tuple(sorted(chosen, key=lambda sentence: sentence.start))


def _as_told(sentence: str, node: Node, memory: GistMemory) -> RecapSentence:
    """The sentence of a gist if its pages tell it, else the book's most similar sentence."""
    place = _place(sentence, node, memory)
    text = memory.book.text
    start = memory.entry(node.first).page.start
    pages = text[start : memory.entry(node.last).page.end]
    earlier = told_before(text, start, memory.focus.wording)
    draft = Draft(sentence, pages, told_before=earlier)
    terms = set(shared_terms(sentence))
    is_sure = len(terms.intersection(shared_terms(pages))) >= _LEAST_SHARED * len(terms)
    if is_sure and not foreign_numbers(draft) and not foreign_names(draft)[0]:
        return RecapSentence(sentence, place[0])
    return RecapSentence(_on_one_line(text[slice(*place)]), place[0])


def _sentences_in(text: str) -> list[str]:
    return [_on_one_line(text[start:end]) for start, end in sentence_spans(text)]


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


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
    sentences = [
        RecapSentence(_on_one_line(book.text[begin:until]), begin)
        for begin, until in _whole_sentences(book, start, end)
        if _is_of_the_story(begin, book)
    ]
    narrated = [
        sentence
        for sentence in sentences
        if count_words(sentence.text) >= _LEAST_WORDS and not _is_speech(sentence, book)
    ]
    is_narrated = sum(count_words(sentence.text) for sentence in narrated) >= words
    candidates = narrated if is_narrated else sentences  # Else it is mostly direct speech.
    texts = [sentence.text for sentence in candidates]
    return tuple(candidates[at] for at in _choose(texts, words, names))


def _whole_sentences(book: Book, start: int, end: int) -> Iterator[Span]:
    """The sentences here, except one that the place of the user cuts."""
    last = len(book.text.rstrip())
    ends = (".", "!", "?", "…", ":", *_QUOTES, "’", "»", ")")
    return (
        (begin, until)
        for begin, until in sentences_of(book, start, end)
        if until < last or book.text[:until].rstrip().endswith(ends)
    )


def _is_of_the_story(offset: int, book: Book) -> bool:
    """Whether the paragraph here is no heading, nor in brackets like a note of the transcriber."""
    paragraph = book.paragraphs[book.paragraph_index(offset)]
    is_in_brackets = book.text[paragraph.start] == "[" and book.text[paragraph.end - 1] == "]"
    return paragraph.kind is not ParagraphKind.HEADING and not is_in_brackets


def _is_speech(sentence: RecapSentence, book: Book) -> bool:
    """Whether the sentence is direct speech.

    A quotation begins with it, or earlier in its paragraph.
    """
    paragraph = book.text.rfind("\n\n", 0, sentence.start) + 1
    before = book.text[paragraph : sentence.start]
    is_open = before.count('"') % 2 or any(
        before.count(opens) > before.count(closes) for opens, closes in _PAIRS
    )
    return bool(is_open) or sentence.text[0] in _QUOTES


def _choose(sentences: Sequence[str], words: int, names: str = "") -> Sequence[int]:
    return choose(sentences, words, names) or range(len(sentences))[-_FEW:]


def _place(sentence: str, node: Node, memory: GistMemory) -> Span:
    """The book's sentence most similar to this one, on the page with the most similar gist."""
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
    people = [entity.name for entity in named if entity.kind is Kind.PERSON]
    return tuple(people[:_MOST_PEOPLE])


_REACH = 12_000  # Characters in front of the bound whose names are known
_NEAR = 6_000  # Characters whose names are asked about
_GISTS = 3  # Gists of the last pages, whose names count more: they say who matters
_GIST_WEIGHT = 2
_LEAST = 2  # Times a name must occur
_PERSON_WORDS = 3
_SUGGESTED = 3  # Questions


def suggestions(
    memory: GistMemory, corrections: Sequence[NameCorrection] = (), *, plot: bool | None = None
) -> tuple[str, ...]:
    """Three questions for the end of this memory's book, cut by `GistMemory.upto`.

    None unless it is English. `plot`: whether the whole book `has_plot`; None: judge by this part
    of it.
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
    is_story = has_plot(book) if plot is None else plot
    questions = _questions_about_story(near) if is_story else _questions_about_text(near)
    return tuple(islice(questions, _SUGGESTED))


def _mentions(entity: Entity, end: int, gists: str) -> int:
    """Weighted number of mentions near the end and in the gists."""
    mentions = sum(
        len(form.starts) - bisect_left(form.starts, end - _NEAR) for form in entity.forms
    )
    return mentions + _GIST_WEIGHT * sum(
        gists.count(form.text) for form in entity.forms if mentions
    )


def _questions_about_text(near: list[Entity]) -> Iterator[str]:
    subjects = [entity for entity in near if entity.kind is not Kind.PLACE]
    if subjects:
        yield f"What does {subjects[0].name} mean here?"
    yield "What is this part about?"
    yield "What are the main points so far?"
    yield "What follows from them?"


def _questions_about_story(near: list[Entity]) -> Iterator[str]:
    subjects = [entity for entity in near if entity.kind is not Kind.PLACE]
    places = [entity for entity in near if entity.kind is Kind.PLACE]
    people = [entity for entity in subjects if _is_person(entity)]
    if subjects:
        first = subjects[0]
        is_person = first in people
        yield f"Who is {first.name}?" if is_person else f"What do we learn about {first.name}?"
    if len(people) > 1:
        yield f"What do {people[0].name} and {people[1].name} have to do with each other?"
    yield "What has happened so far?"
    if places:
        yield f"What happens in {places[0].name}?"
    yield "Who are the people in this story?"
    yield "Where does this take place?"


def _is_person(entity: Entity) -> bool:
    """Whether it is a person; a longer name is that of an office or a company."""
    return entity.kind is Kind.PERSON and len(entity.name.split()) <= _PERSON_WORDS
