"""The story so far, at once and without a model: sentences about the story, and who is near.

The sentences are from summaries of parts, else from gists of pages. Where a gist says what its
pages do not, or nothing has been read, they are the book's own. At the same place, questions are
suggested by the names near it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, islice

from gistread.book.model import Book, ParagraphKind
from gistread.book.sentences import sentence_spans
from gistread.memory.extractive import choose, length, shared_terms
from gistread.memory.front_matter import back_matter_start, front_matter_end
from gistread.memory.guard import Draft, foreign_names, foreign_numbers, told_before
from gistread.memory.model import GistMemory, GistSource, MemoryEntry
from gistread.memory.passages import Span, sentence_at, sentences_of
from gistread.memory.spoilers import has_plot
from gistread.memory.tree import Node, existing_summaries, page_by_page
from gistread.people.index import corrected
from gistread.people.joining import Entity, join_names
from gistread.people.kinds import Kind
from gistread.people.mentions import find_names, supports_names
from gistread.store.model import NameCorrection
from gistread.units import ELLIPSIS, close_speech, counted
from gistread.words import count_words

# Four screens of 80×24; the gists of 4,000 words, as many as a tale has
RECAP_WORDS = 600
SHORT_RECAP_WORDS = 180  # Of an answer
_CHAPTER_SHARE = 0.4  # Of these words, for the last chapter at least, if it has as many
# Most pages of the last chapter; those before them are the story before
_CHAPTER_PAGES = 6
# Times the words that fit; gists with more are replaced by their summary
_MOST_CUT = 1.5
_ACT_WORDS = 60  # About three sentences: the story is told in as many acts as fit
_OWN_BOOK_WORDS = 180  # Of a book without chapters that is told in its own sentences
_OWN_CHAPTER_WORDS = 70
_OWN_ACTS = 8  # In which a story without gists is told
_OWN_ACT_WORDS = 28  # About a sentence
_ACT_CHARACTERS = 12_000  # Of such an act, in which its sentence is looked for
# Characters that a memory may lack before the place, about a thousand words
_BEHIND = 6_000
_ON_STAGE = 4_000  # Characters in front of the place whose people are on stage
_MOST_PEOPLE = 6
# Share of the terms of a gist's sentence that its pages have; else it is unsure
_LEAST_SHARED = 1 / 3
# The book's
_OWN_WORDS = (GistSource.EXTRACTIVE, GistSource.QUOTED, GistSource.VERBATIM)
_FEW = 2  # Sentences to show if none represents the others
_QUOTES = "“”\"‘'«„—–"  # Marks of direct speech, which tells little out of context
_ENDS = (".", "!", "?", "…", ":", *_QUOTES, "’", "»", ")")  # Of whole sentences
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


def recap(
    memory: GistMemory,
    corrections: Sequence[NameCorrection] = (),
    words: int = RECAP_WORDS,
) -> Recap:
    """Recap in about these words a memory that ends where the user is (`GistMemory.upto`).

    The gists are told whole if they fit. Else sentences are left out evenly.
    """
    memory = _without_back_matter(memory)
    book = memory.book
    end = len(book.text.rstrip())
    last = book.chapter_index(max(0, end - 1))
    chapter = book.chapters[last]
    read_until = max((entry.page.end for entry in memory.read_entries), default=0)
    is_behind = bool(memory.entries) and _is_behind(read_until, end, book)
    first_page = _first_page_of_chapter(last, memory, is_behind=is_behind)
    story_start = front_matter_end(book)
    telling = [_tells(entry, book, story_start) for entry in memory.entries]
    now = [
        node for node in page_by_page(memory)[first_page:] if telling[node.first - 1]
    ]
    gists_before = sum(length(entry.gist.text) for entry in memory.entries[:first_page])
    chapter_words = _share_of_chapter(words, gists_before, _words_in(now))
    before_words = words - chapter_words
    before = [
        node
        for node in _in_detail(existing_summaries(memory, first_page), before_words)
        if any(telling[node.first - 1 : node.last])
    ]
    people = _people_near(memory, end, corrections)
    if now:
        in_chapter = _tell(now, chapter_words, memory)
    else:
        told_until = read_until if is_behind else 0
        start = max(chapter.start, told_until)
        in_chapter = _own_sentences(book, start, end, " ".join(people))
    return Recap(
        before=_tell(before, before_words, memory),
        title=chapter.title,
        chapter=in_chapter,
        people=people,
        stopped=sentence_at(book, end - 1) if end else None,
        pages=sum(telling),
        summaries=sum(bool(node.children) for node in before),
        is_behind=is_behind,
        read_until=read_until,
    )


def _without_back_matter(memory: GistMemory) -> GistMemory:
    story_end = back_matter_start(memory.book)
    if story_end == len(memory.book.text):
        return memory
    return memory.upto(story_end)


def _is_behind(read_until: int, end: int, book: Book) -> bool:
    """Whether a memory that ends at `read_until` lacks much of the story up to `end`."""
    is_in_chapter = book.chapter_index(read_until - 1) >= book.chapter_index(
        max(0, end - 1)
    )
    return not is_in_chapter or end - read_until > _BEHIND


def _first_page_of_chapter(chapter: int, memory: GistMemory, *, is_behind: bool) -> int:
    """Index of the first page that is told as the last chapter; those before are the story so far.

    If the memory is behind, no page is told as the last chapter.
    """
    book = memory.book
    pages_before = sum(
        book.chapter_index(entry.page.start) < chapter for entry in memory.entries
    )
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


def last_sentence(book: Book, span: Span) -> str:
    """The words of the last sentence that a bound leaves, with … where it is cut."""
    start, end = span
    is_cut = end < sentence_at(book, start)[1]
    words = " ".join(book.text[start:end].split())
    return f"{words}{ELLIPSIS}" if is_cut else words


def _share_of_chapter(words: int, gists_before: int, gists_of_chapter: int) -> int:
    """Words of the last chapter: in proportion to its gists, or the least share if that is more."""
    all_gists = max(1, gists_before + gists_of_chapter)
    share = max(_CHAPTER_SHARE, gists_of_chapter / all_gists)
    return min(gists_of_chapter, round(share * words))


def _words_in(nodes: Sequence[Node]) -> int:
    return sum(length(node.summary.text) for node in nodes)


def _in_detail(nodes: Sequence[Node], words: int) -> list[Node]:
    """Replace summaries by what they summarise, the longest parts first, if that about fits."""
    detailed = list(nodes)
    room = _MOST_CUT * words - _words_in(nodes)
    while True:
        widest = max(detailed, key=lambda node: node.last - node.first, default=None)
        if widest is None or not widest.children:
            return detailed
        room -= _words_in(widest.children) - _words_in([widest])
        if room < 0:
            return detailed
        at = detailed.index(widest)
        detailed[at : at + 1] = widest.children


def _tell(
    nodes: Sequence[Node], words: int, memory: GistMemory
) -> tuple[RecapSentence, ...]:
    """Tell these summaries in order, in about so many words.

    Each sentence has the place of the most similar sentence in the book.
    """
    titles = _on_one_line(memory.book.text[: front_matter_end(memory.book)])
    sentences = [
        (sentence, node)
        for node in nodes
        for sentence in _sentences_in(node, memory)
        if sentence.rstrip(".") not in titles and not _is_cut(sentence, memory.book)
    ]
    acts = max(1, min(words // _ACT_WORDS, len(nodes)))
    chosen = _choose_evenly([sentence for sentence, _ in sentences], words, acts)
    by_words: dict[str, RecapSentence] = {}  # None is told twice
    for node, group in groupby(
        (sentences[at] for at in chosen), key=lambda each: each[1]
    ):
        texts = [sentence for sentence, _ in group]
        for text, place in zip(texts, _places(texts, node, memory), strict=True):
            sentence = _as_told(text, place, node, memory)
            by_words.setdefault(sentence.text, sentence)
    return tuple(by_words.values())


def _choose_evenly(sentences: Sequence[str], words: int, acts: int) -> Sequence[int]:
    """Indices of about so many words: all if they fit, else the same share of each act.

    What one act leaves over, the next one may use.
    """
    if sum(map(length, sentences)) <= words:
        return range(len(sentences))
    chosen: list[int] = []
    spent = 0
    for act in range(acts):
        start = act * len(sentences) // acts
        end = (act + 1) * len(sentences) // acts
        room = words * (act + 1) // acts - spent
        of_act = _longest_of_act(sentences, range(start, end), room)
        spent += sum(length(sentences[at]) for at in of_act)
        chosen += of_act
    return chosen or range(len(sentences))[-_FEW:]


def _longest_of_act(sentences: Sequence[str], act: range, words: int) -> list[int]:
    """Indices of the longest sentences that fit into `words`: in a gist, they tell most.

    The beginning and the end of the story come before others.
    """
    ends = (0, len(sentences) - 1)
    chosen: list[int] = []
    for at in sorted(act, key=lambda at: (at not in ends, -length(sentences[at]))):
        if length(sentences[at]) <= words:
            chosen.append(at)
            words -= length(sentences[at])
    return sorted(chosen)


def _as_told(
    sentence: str, place: Span, node: Node, memory: GistMemory
) -> RecapSentence:
    """The sentence of a gist if its pages tell it, else the book's most similar sentence."""
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


def _sentences_in(node: Node, memory: GistMemory) -> list[str]:
    """The sentences of a summary; of a gist that quotes, the book's own, without headings."""
    text = node.summary.text
    if not node.children and node.summary.source in _OWN_WORDS:
        quoted = _quoted_in(_on_one_line(text), node, memory)
        if quoted:
            return quoted
    return [_on_one_line(text[start:end]) for start, end in sentence_spans(text)]


def _quoted_in(quotation: str, node: Node, memory: GistMemory) -> list[str]:
    """The book's sentences in a quotation, in which headings and sentences stand unmarked."""
    book = memory.book
    start = memory.entry(node.first).page.start
    end = memory.entry(node.last).page.end
    sentences = [
        _on_one_line(book.text[begin:until])
        for begin, until in sentences_of(book, start, end)
        if _is_of_the_story(begin, book)
    ]
    return [close_speech(sentence) for sentence in sentences if sentence in quotation]


def _is_cut(sentence: str, book: Book) -> bool:
    """Whether it is the book's last one, which the place of the user cuts."""
    words = sentence.rstrip("”")  # An extract closes a speech that is cut.
    end = book.text[-2 * len(words) :]
    return not words.endswith(_ENDS) and _on_one_line(end).endswith(words)


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
            book, begin, begin + min(length, _ACT_CHARACTERS), "", _OWN_ACT_WORDS
        )
        chosen |= dict.fromkeys(sentences[:1])
    return tuple(chosen)


def _own_sentences(
    book: Book, start: int, end: int, names: str, words: int = 0
) -> tuple[RecapSentence, ...]:
    """Sentences of the book itself, preferably with one of these names.

    `words`: 0: as many as the last chapter gets.
    """
    words = words or (_OWN_CHAPTER_WORDS if len(book.chapters) > 1 else _OWN_BOOK_WORDS)
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
    # Else it is mostly direct speech.
    candidates = narrated if is_narrated else sentences
    texts = [sentence.text for sentence in candidates]
    return tuple(candidates[at] for at in _choose(texts, words, names))


def _whole_sentences(book: Book, start: int, end: int) -> Iterator[Span]:
    """The sentences here, except one that the place of the user cuts."""
    last = len(book.text.rstrip())
    return (
        (begin, until)
        for begin, until in sentences_of(book, start, end)
        if until < last or book.text[:until].rstrip().endswith(_ENDS)
    )


def _is_of_the_story(offset: int, book: Book) -> bool:
    """Whether the paragraph here is no heading, nor in brackets like a note of the transcriber."""
    paragraph = book.paragraphs[book.paragraph_index(offset)]
    is_in_brackets = (
        book.text[paragraph.start] == "[" and book.text[paragraph.end - 1] == "]"
    )
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


def _places(sentences: Sequence[str], node: Node, memory: GistMemory) -> list[Span]:
    """The book's sentence most similar to each of these, on the pages with the most similar gists.

    Both stand in the same order: a summary follows its book.
    """
    book = memory.book
    entries = [memory.entry(number) for number in range(node.first, node.last + 1)]
    pages = _match_in_order(sentences, [entry.gist.text for entry in entries])
    places: list[Span] = []
    for at, group in groupby(
        zip(pages, sentences, strict=True), key=lambda match: match[0]
    ):
        page = entries[at].page
        spans = list(_whole_sentences(book, page.start, page.end)) or [
            (page.start, page.end)
        ]
        texts = [book.text[slice(*span)] for span in spans]
        matches = _match_in_order([sentence for _, sentence in group], texts)
        places += [spans[match] for match in matches]
    return places


def _match_in_order(sentences: Sequence[str], texts: Sequence[str]) -> list[int]:
    """Index of the text for each sentence, never falling, so that they share most terms in all."""
    terms_of_texts = [set(shared_terms(text)) for text in texts]
    totals = [0] * len(texts)  # Of the sentences so far, if the last has this text
    # Of each sentence: the best text before it, by its own
    previous: list[list[int]] = []

    def better(best: int, at: int) -> int:
        return at if totals[at] > totals[best] else best

    for sentence in sentences:
        terms = set(shared_terms(sentence))
        previous.append(list(accumulate(range(len(texts)), better)))
        totals = [
            totals[before] + len(terms & of_text)
            for before, of_text in zip(previous[-1], terms_of_texts, strict=True)
        ]
    matches: list[int] = []
    at = max(range(len(texts)), key=lambda index: totals[index])
    for texts_before in reversed(previous):
        matches.append(at)
        at = texts_before[at]
    return matches[::-1]


def _people_near(
    memory: GistMemory, end: int, corrections: Sequence[NameCorrection]
) -> tuple[str, ...]:
    if not supports_names(memory.book):
        return ()
    named = corrected(
        join_names(find_names(memory.book, max(0, end - _ON_STAGE))), corrections
    )
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
    memory: GistMemory,
    corrections: Sequence[NameCorrection] = (),
    *,
    plot: bool | None = None,
) -> tuple[str, ...]:
    """Three questions for the end of this memory's book, cut by `GistMemory.upto`.

    Only questions that small models can answer. Empty if the book is not in English. `plot`:
    whether the whole book `has_plot`; None: judge by this part of it.
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
    questions = (
        _questions_about_story(near) if is_story else _questions_about_text(near)
    )
    return tuple(islice(questions, _SUGGESTED))


def _mentions(entity: Entity, end: int, gists: str) -> int:
    """Weighted number of mentions near the end and in the gists."""
    mentions = sum(
        len(form.starts) - bisect_left(form.starts, end - _NEAR)
        for form in entity.forms
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
    if subjects and subjects[0] not in people:
        yield f"What do we learn about {subjects[0].name}?"
    for person in people[:2]:
        yield f"Who is {person.name}?"
    yield "What has happened so far?"
    if places:
        yield f"What happens in {places[0].name}?"
    yield "Who are the people in this story?"
    yield "Where does this take place?"


def _is_person(entity: Entity) -> bool:
    """Whether it is a person; a longer name is that of an office or a company."""
    return entity.kind is Kind.PERSON and len(entity.name.split()) <= _PERSON_WORDS
