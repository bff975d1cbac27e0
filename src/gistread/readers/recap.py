"""The story so far, without a model: sentences that tell the story, and who is near.

The sentences are from summaries of parts or from gists of pages. Where a gist says what its pages
do not, or nothing has been read, they are the book's own. `suggestions` are questions about the
names near the place.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, islice

from gistread.book.model import Book, ParagraphKind
from gistread.book.sentences import sentence_spans
from gistread.memory.extractive import choose, length, shared_terms
from gistread.memory.front_matter import back_matter_start, front_matter_end
from gistread.memory.guard import Draft, foreign_names, foreign_numbers, told_before
from gistread.memory.model import GistMemory, GistSource, MemoryEntry, Page
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
SHORT_RECAP_WORDS = 180  # For an answer
# Least share of these words for the last chapter, if it has so many
_CHAPTER_SHARE = 0.4
# The last chapter has at most so many pages; earlier ones belong to the story before.
_CHAPTER_PAGES = 6
# Gists with more than this times the words that fit are replaced by their summary.
_MOST_CUT = 1.5
_ACT_WORDS = 60  # About three sentences: the story is told in as many acts as fit
_OWN_BOOK_WORDS = 180  # Of a book without chapters that is told in its own sentences
_OWN_CHAPTER_WORDS = 70
_OWN_CHAPTERS = 12  # Most chapters before the last one that are told without gists
_PARAGRAPH_WORDS = 40  # A shorter paragraph of the story takes the next page too
_OWN_ACTS = 8  # Of a story that is told without gists
_OWN_ACT_WORDS = 28  # About a sentence
_ACT_CHARACTERS = 12_000  # The sentence of such an act is from so many first characters
# A memory that lacks more characters before the place is behind: about a thousand words
_BEHIND = 6_000
_ON_STAGE = 4_000  # Characters before the place whose people are on stage
_MOST_PEOPLE = 6
# A gist's sentence is unsure if its pages have less than this share of its terms.
_LEAST_SHARED = 1 / 3
# Gists in the book's own words
_OWN_WORDS = (GistSource.EXTRACTIVE, GistSource.QUOTED, GistSource.VERBATIM)
_FEW = 2  # Sentences to show if none represents the others
_QUOTES = "“”\"‘'«„—–"  # Marks of direct speech, which tells little out of context
_ENDS = (".", "!", "?", "…", ":", *_QUOTES, "’", "»", ")")  # Of whole sentences
_PAIRS = (("“", "”"), ("«", "»"))
_LEAST_WORDS = 9  # Of the book's own sentences; shorter ones tell little out of context

# Of suggested questions
_REACH = 12_000  # Names in so many characters before the bound are known
_NEAR = 6_000  # Questions are about names in so many characters before the bound
_GISTS = 3  # Gists of the last pages, whose names count more: they say who matters
_GIST_WEIGHT = 2
_LEAST_MENTIONS = 2
_PERSON_WORDS = 3
_SUGGESTED = 3  # Questions


@dataclass(frozen=True, slots=True)
class RecapSentence:
    """A sentence, and the place of the book that it is about."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Recap:
    """The story up to a place."""

    before: tuple[RecapSentence, ...]  # The story before the chapter
    title: str  # Of the chapter
    chapter: tuple[RecapSentence, ...]  # The chapter of the place
    people: tuple[str, ...]  # Those named near the place, the commonest first
    stopped: Span | None  # The sentence at the place; None at the very beginning
    pages: int  # Number of gists used; 0: the chapters’ own sentences
    summaries: int  # Number of summaries of parts used
    # Whether the chapter is told in its own sentences, since the memory ends well before it
    is_behind: bool = False
    read_until: int = 0  # Offset at which the gists end; 0: there are none


def recap(
    memory: GistMemory,
    corrections: Sequence[NameCorrection] = (),
    words: int = RECAP_WORDS,
) -> Recap:
    """Recap a memory that ends where the user is (`GistMemory.upto`), in about so many words.

    If the gists do not fit, sentences are left out evenly.
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
    # For each page, whether it tells something
    tells = [_tells(entry, book, story_start) for entry in memory.entries]
    of_chapter = [
        node for node in page_by_page(memory)[first_page:] if tells[node.first - 1]
    ]
    gists_before = sum(length(entry.gist.text) for entry in memory.entries[:first_page])
    chapter_words = _share_of_chapter(words, gists_before, _words_in(of_chapter))
    before_words = words - chapter_words
    summaries = _in_detail(existing_summaries(memory, first_page), before_words)
    before = [node for node in summaries if any(tells[node.first - 1 : node.last])]
    people = _people_near(memory, end, corrections)
    if of_chapter:
        in_chapter = _tell(of_chapter, chapter_words, memory)
    else:
        told_until = read_until if is_behind else 0
        start = max(chapter.start, told_until)
        in_chapter = _own_sentences(book, start, end, " ".join(people))
    told_before = _tell(before, before_words, memory)
    if not any(tells):
        names = " ".join(people)
        told_before = _own_chapters(book, story_start, chapter.start, names, words)
    return Recap(
        before=told_before,
        title=chapter.title,
        chapter=in_chapter,
        people=people,
        stopped=sentence_at(book, end - 1) if end else None,
        pages=sum(tells),
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
    chapter_read = book.chapter_index(read_until - 1)
    last_chapter = book.chapter_index(max(0, end - 1))
    return chapter_read < last_chapter or end - read_until > _BEHIND


def _first_page_of_chapter(chapter: int, memory: GistMemory, *, is_behind: bool) -> int:
    """Index of the first page that is told as the last chapter; those before are the story before.

    If the memory is behind, no page is told as the last chapter.
    """
    book = memory.book
    pages_before = sum(
        book.chapter_index(entry.page.start) < chapter for entry in memory.entries
    )
    pages_of_chapter = 0 if is_behind else _CHAPTER_PAGES
    return max(len(memory.entries) - pages_of_chapter, pages_before)


def _tells(entry: MemoryEntry, book: Book, story_start: int) -> bool:
    """Whether a page was read and tells something: the page of a part may be a heading alone."""
    is_story = entry.page.end > story_start
    is_heading = entry.gist.text.strip() == book.chapter_title(entry.page.start)
    return entry.is_read and is_story and not is_heading


def describe_sources(story: Recap) -> str:
    """The sources of a recap, in words."""
    if not story.pages:
        return "in the chapters’ own sentences"
    sources = f"the gists of {counted(story.pages, 'section')}"
    if story.summaries:
        summaries = f"the summaries of {counted(story.summaries, 'part')}"
        sources = f"{summaries} and {sources}"
    if story.is_behind:
        sources += " and the chapter’s own sentences"
    return f"from {sources}"


def last_sentence(book: Book, span: Span) -> str:
    """The words of the last sentence before a bound; if the bound cuts it, with an ellipsis."""
    start, end = span
    _, sentence_end = sentence_at(book, start)
    words = " ".join(book.text[start:end].split())
    return f"{words}{ELLIPSIS}" if end < sentence_end else words


def _share_of_chapter(words: int, gists_before: int, gists_of_chapter: int) -> int:
    """Words for the last chapter: in proportion to its gists, but at least the least share."""
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
        index = detailed.index(widest)
        detailed[index : index + 1] = widest.children


def _tell(
    nodes: Sequence[Node], words: int, memory: GistMemory
) -> tuple[RecapSentence, ...]:
    """Tell these summaries in order, in about so many words.

    Each sentence has the place of the most similar sentence in the book.
    """
    book = memory.book
    story_start = front_matter_end(book)
    titles = _on_one_line(book.text[:story_start])
    sentences: list[str] = []
    node_of: list[Node] = []  # The node of each sentence
    for node in nodes:
        for text in _sentences_in(node, memory):
            is_title = text.rstrip(".") in titles
            if not is_title and not _is_cut(text, book):
                sentences.append(text)
                node_of.append(node)
    acts = max(1, min(words // _ACT_WORDS, len(nodes)))
    chosen = _choose_evenly(sentences, words, acts)
    by_words: dict[str, RecapSentence] = {}  # No sentence is told twice.
    for node, indices in groupby(chosen, key=lambda index: node_of[index]):
        texts = [sentences[index] for index in indices]
        for text, place in zip(texts, _places(texts, node, memory), strict=True):
            sentence = _as_told(text, place, node, memory)
            if sentence.start >= story_start and _has_letter(sentence.text):
                by_words.setdefault(sentence.text, sentence)
    return tuple(by_words.values())


def _choose_evenly(sentences: Sequence[str], words: int, acts: int) -> Sequence[int]:
    """Indices of sentences with about so many words: all if they fit, else as many of each act.

    Words that one act leaves over are for the next.
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
        spent += sum(length(sentences[index]) for index in of_act)
        chosen += of_act
    return chosen or range(len(sentences))[-_FEW:]


def _longest_of_act(sentences: Sequence[str], act: range, words: int) -> list[int]:
    """Indices of the longest sentences that fit into `words`: in a gist, they tell most.

    The first and the last sentence of the story come before others.
    """
    ends = (0, len(sentences) - 1)

    def rank(index: int) -> tuple[bool, int]:
        return index not in ends, -length(sentences[index])

    chosen: list[int] = []
    for index in sorted(act, key=rank):
        if length(sentences[index]) <= words:
            chosen.append(index)
            words -= length(sentences[index])
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
    shared = terms.intersection(shared_terms(pages))
    is_sure = len(shared) >= _LEAST_SHARED * len(terms)
    place_start, place_end = place
    if is_sure and not foreign_numbers(draft) and not foreign_names(draft)[0]:
        return RecapSentence(sentence, place_start)
    return RecapSentence(_on_one_line(text[place_start:place_end]), place_start)


def _sentences_in(node: Node, memory: GistMemory) -> list[str]:
    """The sentences of a summary; if it is a gist that quotes, the book's own, without headings."""
    text = node.summary.text
    if not node.children and node.summary.source in _OWN_WORDS:
        quoted = _quoted_in(_on_one_line(text), node, memory)
        if quoted:
            return quoted
    return [_on_one_line(text[start:end]) for start, end in sentence_spans(text)]


def _quoted_in(quotation: str, node: Node, memory: GistMemory) -> list[str]:
    """The book's sentences that a quotation contains; it does not show where they begin or end."""
    book = memory.book
    page_start = memory.entry(node.first).page.start
    page_end = memory.entry(node.last).page.end
    sentences = [
        _on_one_line(book.text[start:end])
        for start, end in sentences_of(book, page_start, page_end)
        if _is_of_the_story(start, book)
    ]
    quoted = [sentence for sentence in sentences if sentence in quotation]
    return [close_speech(sentence) for sentence in quoted if _has_letter(sentence)]


def _is_cut(sentence: str, book: Book) -> bool:
    """Whether a sentence is the book's last one, cut at the place of the user."""
    words = sentence.rstrip("”")  # An extract closes a speech that is cut.
    if words.endswith(_ENDS):
        return False
    end = book.text[-2 * len(words) :]
    return _on_one_line(end).endswith(words)


def _has_letter(text: str) -> bool:
    """Whether there is more than the punctuation between two sentences, such as “."""
    return any(map(str.isalpha, text))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _own_chapters(
    book: Book, start: int, end: int, names: str, words: int
) -> tuple[RecapSentence, ...]:
    """What the chapters in `book.text[start:end]` tell, in sentences of their own.

    Of many chapters, some evenly chosen ones. `words`: about how many in all. `start` may lie
    behind the headings of the first chapter.
    """
    chapters = [
        chapter
        for chapter in book.chapters
        if chapter.end > start and chapter.start < end
    ]
    chosen = chapters[:: math.ceil(len(chapters) / _OWN_CHAPTERS) or 1]
    if not chosen:
        return ()
    words_each = max(_OWN_ACT_WORDS, (words - _OWN_CHAPTER_WORDS) // len(chosen))
    words_each = min(words_each, _OWN_CHAPTER_WORDS)
    sentences: list[RecapSentence] = []
    for chapter in chosen:
        chapter_start = max(start, chapter.start)
        chapter_end = min(chapter.end, chapter_start + _ACT_CHARACTERS)
        sentences += _own_sentences(book, chapter_start, chapter_end, names, words_each)
    return tuple(sentences)


def paragraphs_by_chapter(
    story: Recap, memory: GistMemory, book: Book
) -> Iterator[tuple[str, list[list[RecapSentence]]]]:
    """The title of each chapter that is told, with its paragraphs.

    The sentences of a page are a paragraph; after a short one, a page does not begin another.
    """

    def chapter_title(sentence: RecapSentence) -> str:
        return book.chapter_title(sentence.start)

    sentences = (*story.before, *story.chapter)
    for title, of_chapter in groupby(sentences, key=chapter_title):
        yield title, _paragraphs(of_chapter, memory)


def paragraph_text(paragraph: Sequence[RecapSentence], story: Recap) -> str:
    """The sentences as text, with a sign between those of the book: others are left out."""
    between = " " if story.pages else " … "
    return between.join(sentence.text for sentence in paragraph)


def _paragraphs(
    sentences: Iterable[RecapSentence], memory: GistMemory
) -> list[list[RecapSentence]]:
    def page(sentence: RecapSentence) -> Page | None:
        return memory.page_at(sentence.start)

    paragraphs: list[list[RecapSentence]] = []
    words = 0  # Words of the last paragraph
    for _, of_page in groupby(sentences, key=page):
        if not paragraphs or words >= _PARAGRAPH_WORDS:
            paragraphs.append([])
            words = 0
        for sentence in of_page:
            paragraphs[-1].append(sentence)
            words += count_words(sentence.text)
    return paragraphs


def own_story(memory: GistMemory) -> tuple[RecapSentence, ...]:
    """The story before the last chapter, act by act, in sentences of the book itself."""
    book = memory.book
    story_start = front_matter_end(book)
    story_end = min(len(book.text.rstrip()), back_matter_start(book))
    last_chapter = book.chapters[book.chapter_index(max(0, story_end - 1))]
    act_length = max(0, last_chapter.start - story_start) // _OWN_ACTS
    if act_length == 0:
        return ()
    chosen: dict[RecapSentence, None] = {}
    for act in range(_OWN_ACTS):
        start = story_start + act * act_length
        end = start + min(act_length, _ACT_CHARACTERS)
        sentences = _own_sentences(book, start, end, "", _OWN_ACT_WORDS)
        chosen |= dict.fromkeys(sentences[:1])
    return tuple(chosen)


def _own_sentences(
    book: Book, start: int, end: int, names: str, words: int = 0
) -> tuple[RecapSentence, ...]:
    """Sentences of the book itself, preferably with one of these names.

    `words`: about how many; 0: as many as the last chapter gets.
    """
    if not words:
        has_chapters = len(book.chapters) > 1
        words = _OWN_CHAPTER_WORDS if has_chapters else _OWN_BOOK_WORDS
    sentences = [
        RecapSentence(_on_one_line(book.text[first:last]), first)
        for first, last in _whole_sentences(book, start, end)
        if _is_of_the_story(first, book)
    ]
    narrated = [
        sentence
        for sentence in sentences
        if count_words(sentence.text) >= _LEAST_WORDS and not _is_speech(sentence, book)
    ]
    narrated_words = sum(count_words(sentence.text) for sentence in narrated)
    # With too few narrated words the text is mostly direct speech.
    candidates = narrated if narrated_words >= words else sentences
    texts = [sentence.text for sentence in candidates]
    chosen = choose(texts, words, names) or range(len(texts))[-_FEW:]
    return tuple(candidates[index] for index in chosen)


def _whole_sentences(book: Book, start: int, end: int) -> Iterator[Span]:
    """The sentences here, except one that is cut at the place of the user."""
    book_end = len(book.text.rstrip())
    for first, last in sentences_of(book, start, end):
        if last < book_end or book.text[:last].rstrip().endswith(_ENDS):
            yield first, last


def _is_of_the_story(offset: int, book: Book) -> bool:
    """Whether the paragraph here is no heading, and not in brackets as a transcriber's note is."""
    paragraph = book.paragraphs[book.paragraph_index(offset)]
    if paragraph.kind is ParagraphKind.HEADING:
        return False
    text = book.text[paragraph.start : paragraph.end]
    return not (text.startswith("[") and text.endswith("]"))


def _is_speech(sentence: RecapSentence, book: Book) -> bool:
    """Whether a quotation begins with the sentence, or earlier in its paragraph."""
    if sentence.text[0] in _QUOTES:
        return True
    paragraph_start = book.text.rfind("\n\n", 0, sentence.start) + 1
    before = book.text[paragraph_start : sentence.start]
    if before.count('"') % 2 == 1:
        return True
    return any(before.count(opens) > before.count(closes) for opens, closes in _PAIRS)


def _places(sentences: Sequence[str], node: Node, memory: GistMemory) -> list[Span]:
    """The book's sentence most similar to each of these, on the pages with the most similar gists.

    Both are in the same order, since a summary follows its book.
    """
    book = memory.book
    entries = [memory.entry(number) for number in range(node.first, node.last + 1)]
    pages = _match_in_order(sentences, [entry.gist.text for entry in entries])
    by_page: dict[int, list[str]] = {}
    for index, sentence in zip(pages, sentences, strict=True):
        by_page.setdefault(index, []).append(sentence)
    places: list[Span] = []
    for index, of_page in by_page.items():
        page = entries[index].page
        spans = list(_whole_sentences(book, page.start, page.end))
        if not spans:
            spans = [(page.start, page.end)]
        texts = [book.text[start:end] for start, end in spans]
        places += [spans[match] for match in _match_in_order(of_page, texts)]
    return places


def _match_in_order(sentences: Sequence[str], texts: Sequence[str]) -> list[int]:
    """The index of a text for each sentence, so that all together share the most terms.

    The indices never fall: both are in the same order.
    """
    terms_of_texts = [set(shared_terms(text)) for text in texts]
    # The most terms shared by the sentences so far, by the text of the last of them
    totals = [0] * len(texts)
    # For each sentence: by its text, the best text of the sentence before
    best_before: list[list[int]] = []

    def better(best: int, index: int) -> int:
        return index if totals[index] > totals[best] else best

    for sentence in sentences:
        terms = set(shared_terms(sentence))
        best_up_to = list(accumulate(range(len(texts)), better))
        best_before.append(best_up_to)
        totals = [
            totals[before] + len(terms & terms_of_text)
            for before, terms_of_text in zip(best_up_to, terms_of_texts, strict=True)
        ]
    matches: list[int] = []
    match = max(range(len(texts)), key=lambda index: totals[index])
    for best_up_to in reversed(best_before):
        matches.append(match)
        match = best_up_to[match]
    return matches[::-1]


def _people_near(
    memory: GistMemory, end: int, corrections: Sequence[NameCorrection]
) -> tuple[str, ...]:
    """The people named shortly before `end`, the commonest first."""
    if not supports_names(memory.book):
        return ()
    names = find_names(memory.book, max(0, end - _ON_STAGE))
    entities = corrected(join_names(names), corrections)
    people = [entity.name for entity in entities if entity.kind is Kind.PERSON]
    return tuple(people[:_MOST_PEOPLE])


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
    names = find_names(book, max(0, end - _REACH))
    entities = corrected(join_names(names), corrections)
    counts = {entity: _mentions(entity, end, gists) for entity in entities}
    common = [entity for entity in counts if counts[entity] >= _LEAST_MENTIONS]
    common.sort(key=lambda entity: -counts[entity])
    is_story = has_plot(book) if plot is None else plot
    if is_story:
        questions = _questions_about_story(common)
    else:
        questions = _questions_about_text(common)
    return tuple(islice(questions, _SUGGESTED))


def _mentions(entity: Entity, end: int, gists: str) -> int:
    """Weighted number of mentions near the end and in the gists; 0 without one near the end."""
    near = sum(
        len(form.starts) - bisect_left(form.starts, end - _NEAR)
        for form in entity.forms
    )
    if near == 0:
        return 0
    in_gists = sum(gists.count(form.text) for form in entity.forms)
    return near + _GIST_WEIGHT * in_gists


def _questions_about_text(near: list[Entity]) -> Iterator[str]:
    subjects = [entity for entity in near if entity.kind is not Kind.PLACE]
    if subjects:
        yield f"What does {subjects[0].name} mean here?"
    yield "What is this part about?"
    yield "What are the main points so far?"
    yield "What follows from them?"


def _questions_about_story(near: list[Entity]) -> Iterator[str]:
    """Questions about people and places, the most suitable first."""
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
    """Whether it is a person. A long name is that of an office or a company."""
    return entity.kind is Kind.PERSON and len(entity.name.split()) <= _PERSON_WORDS
