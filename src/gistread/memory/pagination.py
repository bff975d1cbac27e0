"""Episode pagination: where to pause reading (ReadAgent, section 3.1 and Appendix H).

A passage starts at the last pause point and has at most `max_words`. After `min_words`, every end
of a paragraph has a label that the model may choose. The end of a chapter is always a
pause point. Pages cover the whole text. Only `next_page` needs a model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from gistread import prompts
from gistread.book.model import Book, ParagraphKind
from gistread.book.sentences import sentence_spans
from gistread.engine.protocol import (
    NO_USAGE,
    Engine,
    Message,
    Priority,
    Prompt,
    Usage,
    choose_or,
)
from gistread.errors import EngineError
from gistread.memory.extractive import CHARACTERS_PER_WORD
from gistread.memory.gisting import extra_task_tokens, gist_tokens
from gistread.memory.model import DEFAULT_FOCUS, GistFocus, Page, PageSize
from gistread.words import count_words

PROMPTS = ("pagination",)  # Part of a memory's identity

_LARGEST_SHORTER = 0.9  # Of a size that does not fit
_MIN_PASSAGE_WORDS = 8  # A window with less room cannot be used
# Least distance between labels if the page size allows it: each label costs six tokens
_APART_WORDS = 80
_SPEECH = tuple('“”„"«»‘‚—–「『')  # Beginnings of direct speech
_LABELS = 6  # Number of labels that a smaller range of page sizes still allows


@dataclass(frozen=True, slots=True)
class LabelledPassage:
    """Text from a pause point on, and the offsets of possible next pauses."""

    start: int
    labels: Mapping[int, int]
    """The number of each pause by its offset, ascending, at least one; the last is the end of the
    passage.

    It counts the paragraphs before the pause, as in the paper's Figure 2. With labels counted from
    1, a weak model always answers 1 (SmolLM2-135M).
    """

    @property
    def pauses(self) -> tuple[int, ...]:
        return tuple(self.labels)

    @property
    def end(self) -> int:
        return self.pauses[-1]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A paragraph, a sentence or a piece of one, with the space after it: not divided further."""

    start: int
    end: int
    words: int
    kind: ParagraphKind = ParagraphKind.TEXT  # Of a whole paragraph
    speech: bool = False  # Begins with direct speech


# How well a page may end at a pause.
_WITHIN_CONVERSATION, _USUAL_END, _END_OF_SCENE = range(3)


@dataclass(frozen=True, slots=True)
class _Label:
    end: int  # Offset of the pause
    number: int
    words: int  # From the start of the passage
    rank: int = _WITHIN_CONVERSATION


def find_passage(
    book: Book, start: int, size: PageSize, next_start: int | None = None
) -> LabelledPassage:
    """The passage at the pause point `start`, within its chapter, and its legal pause points.

    `next_start`: where the next page begins that is already read, after a gap. A passage that fills
    the gap has no other pause.
    """
    last = chapter_end(book, start)
    stop = last if next_start is None else min(last, next_start)
    units, left_over = _fill(_units(book, start, stop, size.max_words), start, size)
    total = sum(unit.words for unit in units)
    if left_over is not None and total < size.min_words / 2:
        window = size.max_words * CHARACTERS_PER_WORD
        pieces = _sentences(
            book.text, left_over.start, left_over.end, left_over.end, window
        )
        more, _ = _fill(pieces, start, size, total)
        units += more
        total += sum(unit.words for unit in more)
    end = units[-1].end
    if end == stop < last:
        return LabelledPassage(start, {end: len(units)})
    # Counted no further than needed.
    left = count_words(
        book.text[end : min(stop, end + size.min_words * CHARACTERS_PER_WORD)]
    )
    legal = _legal_labels(units, size.min_words)
    # A page after them has at least half of a page's words.
    tidy = [
        label
        for label in legal
        if total - label.words + left >= size.min_words / 2 or label.end == stop
    ]
    labels = _space_out(tidy or legal or [_Label(end, len(units), total)], size)
    return LabelledPassage(start, {label.end: label.number for label in labels})


def _legal_labels(units: Sequence[_Unit], min_words: int) -> list[_Label]:
    """The pauses after enough words for a page, but none after a heading."""
    labels = []
    words = 0
    for number, (unit, following) in enumerate(zip_longest(units, units[1:]), start=1):
        words += unit.words
        if words >= min_words and unit.kind is not ParagraphKind.HEADING:
            labels.append(_Label(unit.end, number, words, _fitness(unit, following)))
    return labels


def _fitness(unit: _Unit, following: _Unit | None) -> int:
    """How well a page may end between two units: `_Label.rank`."""
    if unit.kind is ParagraphKind.BREAK:
        return _END_OF_SCENE
    if following is None:
        return _USUAL_END
    if following.kind is ParagraphKind.HEADING:
        return _END_OF_SCENE
    return _WITHIN_CONVERSATION if unit.speech and following.speech else _USUAL_END


def _space_out(labels: list[_Label], size: PageSize) -> list[_Label]:
    """Drop labels that are too close.

    The last label stays; one of a higher rank replaces a label shortly before it.
    """
    apart = min(_APART_WORDS, (size.max_words - size.min_words) // (_LABELS - 1))
    kept: list[_Label] = []
    for label in labels:
        close = bool(kept) and label.words - kept[-1].words < apart
        if close and (label is labels[-1] or label.rank > kept[-1].rank):
            kept[-1] = label
        elif not close:
            kept.append(label)
    if kept[-1] is labels[-1]:
        return kept
    return [*kept, labels[-1]]


def _fill(
    units: Iterator[_Unit], start: int, size: PageSize, words: int = 0
) -> tuple[list[_Unit], _Unit | None]:
    taken: list[_Unit] = []
    for unit in units:
        words += unit.words
        too_long = (
            words > size.max_words
            or unit.end - start > size.max_words * CHARACTERS_PER_WORD
        )
        if too_long and (taken or words > unit.words):
            return taken, unit
        taken.append(unit)
    return taken, None


async def next_page(
    book: Book,
    start: int,
    size: PageSize,
    engine: Engine,
    focus: GistFocus = DEFAULT_FOCUS,
    next_start: int | None = None,
) -> tuple[Page, Usage]:
    """Find the page that begins at `start`, unnumbered, and the cost.

    `next_start`: see `find_passage`. Raises EngineError when no page fits.
    """
    beside_tokens = await extra_task_tokens(engine, focus, "gist", "pagination")
    while True:
        passage = find_passage(book, start, size, next_start)
        text = labelled_text(book, passage.start, passage.labels, passage.end)
        prompt = (
            Message(
                "user", prompts.load("pagination", focus.wording).fill(passage=text)
            ),
        )
        tokens = await engine.measure(prompt)
        needed = (
            tokens
            + gist_tokens(count_words(book.text[start : passage.end]), tokens)
            + beside_tokens
        )
        if needed <= engine.info.context_tokens:
            return await choose_page(book, passage, prompt, engine)
        size = shorten_size(book, passage, size, needed, engine.info.context_tokens)


async def choose_page(
    book: Book, passage: LabelledPassage, prompt: Prompt, engine: Engine
) -> tuple[Page, Usage]:
    """Let the model choose where the page ends, if there is a choice. Raises EngineError."""
    end, usage = passage.end, NO_USAGE
    if len(passage.labels) > 1:
        labels = [f"<{number}>" for number in passage.labels.values()]
        choice = await choose_or(
            engine, prompt, labels, len(labels) - 1, Priority.BACKGROUND
        )
        end, usage = passage.pauses[choice.index], choice.usage
    return Page(
        0, passage.start, end, count_words(book.text[passage.start : end])
    ), usage


def shorten_size(
    book: Book,
    passage: LabelledPassage,
    size: PageSize,
    needed: int,
    context_tokens: int,
) -> PageSize:
    """Reduce the page size so that the passage probably fits the window.

    Raises EngineError if none fits.
    """
    words = count_words(book.text[passage.start : passage.end])
    characters = (passage.end - passage.start) / CHARACTERS_PER_WORD
    now = min(size.max_words, max(words, round(characters)))
    max_words = int(now * min(_LARGEST_SHORTER, context_tokens / needed))
    if max_words < _MIN_PASSAGE_WORDS:
        raise EngineError(
            f"The context is too small for one page: {words} words and their gist need {needed} "
            "tokens, "
            f"the model's window has {context_tokens}.",
            "Use a model with a longer context.",
        )
    return PageSize(min(size.min_words, max(1, max_words // 2)), max_words)


def labelled_text(book: Book, start: int, labels: Mapping[int, int], end: int) -> str:
    """The text with these labels up to `end`.

    Text that looks like one is harmless: it is no legal answer.
    """
    pieces: list[str] = []
    for offset, number in labels.items():
        if offset <= end:
            pieces += [book.text[start:offset].rstrip(), f"\n\n<{number}>\n\n"]
            start = offset
    return "".join([*pieces, book.text[start:end].rstrip()]).strip()


def chapter_end(book: Book, start: int) -> int:
    """End of the chapter at `start`, within its volume.

    A chapter with only a heading is joined with the next.
    """
    last = book.volume_end(book.volume_index(start)) if book.volumes else len(book.text)
    for index in range(book.chapter_index(start), len(book.chapters)):
        end = book.chapters[index].end
        if end >= last:
            return last
        if any(
            paragraph.kind is not ParagraphKind.HEADING
            for paragraph in book.paragraphs_between(start, end)
        ):
            return end
    return last


def _units(book: Book, start: int, end: int, max_words: int) -> Iterator[_Unit]:
    """The units without gaps: whole paragraphs of up to `max_words`, else sentences."""
    text = book.text
    first = book.paragraph_index(start)
    most_characters = max_words * CHARACTERS_PER_WORD
    for index in range(first, len(book.paragraphs)):
        paragraph = book.paragraphs[index]
        if paragraph.start >= end:
            return
        if index + 1 < len(book.paragraphs):
            following = book.paragraphs[index + 1].start
        else:
            following = len(text)
        begins = start if index == first else paragraph.start
        stop, until = min(paragraph.end, end), min(following, end)
        is_short = stop - begins <= most_characters
        if is_short and (words := count_words(text[begins:stop])) <= max_words:
            speech = text[begins:stop].lstrip()[:1] in _SPEECH
            yield _Unit(begins, until, words, paragraph.kind, speech)
            continue
        for sentence in _sentences(text, begins, stop, until, 2 * most_characters):
            yield from _pieces(text, sentence.start, sentence.end, max_words)


def _sentences(
    text: str, start: int, stop: int, end: int, window: int
) -> Iterator[_Unit]:
    """The sentences of `text[start:stop]`.

    Found window by window, since a paragraph may be a whole book.
    """
    at = start
    while at < end:
        until = min(stop, at + window)
        starts = [at + begin for begin, _ in sentence_spans(text[at:until])][1:]
        if until < stop and starts:
            until = starts.pop()  # the last sentence may continue beyond the window
        until = until if until < stop else end
        for begin, finish in zip([at, *starts], [*starts, until], strict=True):
            yield _Unit(begin, finish, count_words(text[begin:finish]))
        at = until


def _pieces(text: str, start: int, end: int, max_words: int) -> Iterator[_Unit]:
    most_characters = max_words * CHARACTERS_PER_WORD
    while start < end:
        stop = min(end, start + most_characters)
        while (words := count_words(text[start:stop])) > max_words:
            stop = start + max(1, (stop - start) * max_words // words - 1)
        if stop < end:
            space = max(text.rfind(" ", start, stop), text.rfind("\n", start, stop)) + 1
            if space > start:
                stop = space
        if text[stop:end].isspace():
            stop = end
        words = count_words(text[start:stop])
        yield _Unit(start, stop, words)
        start = stop
