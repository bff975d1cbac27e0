"""Episode pagination: where to pause reading (ReadAgent, section 3.1 and Appendix H).

A passage starts at the last pause point and has at most `max_words`. After `min_words`, every end
of a paragraph has a label that the model may choose. The end of a chapter is always a pause point.
Pages cover the whole text. Only `next_page` and `choose_page` need a model.
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

_LARGEST_SHORTER = 0.9  # If a size does not fit, at most this share of it is tried next
_MIN_PASSAGE_WORDS = 8  # A window with less room cannot be used
# Least distance between labels if the page size allows it: each label costs six tokens
_APART_WORDS = 80
_SPEECH = tuple('“”„"«»‘‚—–「『')  # Beginnings of direct speech
_LABELS = 6  # Number of labels that a smaller range of page sizes still allows


@dataclass(frozen=True, slots=True)
class LabelledPassage:
    """Text from a pause point on, and the offsets of possible next pauses."""

    start: int
    # The number of each pause by its offset, ascending. There is at least one; the last is the end
    # of the passage. The numbers count the paragraphs before the pause, as in the paper's Figure 2.
    # With labels counted from 1, a weak model always answers 1 (SmolLM2-135M).
    labels: Mapping[int, int]

    @property
    def pauses(self) -> tuple[int, ...]:
        """Offsets of the pauses, ascending."""
        return tuple(self.labels)

    @property
    def end(self) -> int:
        """Offset of the last pause."""
        return self.pauses[-1]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A paragraph, a sentence or a piece of one, with the space after it. No page divides it."""

    start: int
    end: int
    words: int
    kind: ParagraphKind = ParagraphKind.TEXT  # If it is a whole paragraph
    is_speech: bool = False  # Whether it begins with direct speech


# How well a page may end at a pause.
_WITHIN_CONVERSATION, _USUAL_END, _END_OF_SCENE = range(3)


@dataclass(frozen=True, slots=True)
class _Label:
    """A possible pause."""

    end: int  # Its offset
    number: int
    words: int  # From the start of the passage
    rank: int = _WITHIN_CONVERSATION  # How well a page may end here


def find_passage(
    book: Book, start: int, size: PageSize, next_start: int | None = None
) -> LabelledPassage:
    """The passage at the pause point `start`, within its chapter, and its legal pause points.

    `next_start`: where the next page begins that is already read, after a gap. A passage that fills
    the gap has no other pause.
    """
    last = chapter_end(book, start)
    stop = last if next_start is None else min(last, next_start)
    candidates = _units(book, start, stop, size.max_words)
    units, next_unit = _fill(candidates, start, size)
    words = sum(unit.words for unit in units)
    if next_unit is not None and words < size.min_words / 2:
        # Too few words for a page: the sentences of the next paragraph are added one by one.
        window = size.max_words * CHARACTERS_PER_WORD
        end = next_unit.end
        sentences = _sentences(book.text, next_unit.start, end, end, window)
        more_units, _ = _fill(sentences, start, size, words)
        units += more_units
    end = units[-1].end
    fills_gap = end == stop and stop < last
    if fills_gap:
        return LabelledPassage(start, {end: len(units)})
    labels = _labels(book, units, stop, size)
    return LabelledPassage(start, {label.end: label.number for label in labels})


def _labels(
    book: Book, units: Sequence[_Unit], stop: int, size: PageSize
) -> list[_Label]:
    """The pauses that the model may choose, at least one. `stop`: the end of the chapter."""
    end = units[-1].end
    words = sum(unit.words for unit in units)
    legal = _legal_labels(units, size.min_words)
    if not legal:
        return [_Label(end, len(units), words)]
    # More of the rest of the chapter need not be counted.
    counted_end = min(stop, end + size.min_words * CHARACTERS_PER_WORD)
    words_after = count_words(book.text[end:counted_end])
    # After these pauses, at least half a page is left, or nothing.
    tidy = [
        label
        for label in legal
        if label.end == stop or words - label.words + words_after >= size.min_words / 2
    ]
    return _space_out(tidy or legal, size)


def _legal_labels(units: Sequence[_Unit], min_words: int) -> list[_Label]:
    """The pauses after enough words for a page, but none after a heading."""
    labels: list[_Label] = []
    words = 0
    for number, (unit, following) in enumerate(zip_longest(units, units[1:]), start=1):
        words += unit.words
        if words >= min_words and unit.kind is not ParagraphKind.HEADING:
            labels.append(_Label(unit.end, number, words, _rank(unit, following)))
    return labels


def _rank(unit: _Unit, following: _Unit | None) -> int:
    """How well a page may end between two units; None: after the last one."""
    if unit.kind is ParagraphKind.BREAK:
        return _END_OF_SCENE
    if following is None:
        return _USUAL_END
    if following.kind is ParagraphKind.HEADING:
        return _END_OF_SCENE
    if unit.is_speech and following.is_speech:
        return _WITHIN_CONVERSATION
    return _USUAL_END


def _space_out(labels: list[_Label], size: PageSize) -> list[_Label]:
    """Drop labels that are too close to an earlier one.

    The last label, and labels of a higher rank, replace the earlier one instead.
    """
    range_of_sizes = size.max_words - size.min_words
    least_words = min(_APART_WORDS, range_of_sizes // (_LABELS - 1))
    spaced = labels[:1]
    for label in labels[1:]:
        previous = spaced[-1]
        if label.words - previous.words >= least_words:
            spaced.append(label)
        elif label is labels[-1] or label.rank > previous.rank:
            spaced[-1] = label
    return spaced


def _fill(
    units: Iterator[_Unit], start: int, size: PageSize, words: int = 0
) -> tuple[list[_Unit], _Unit | None]:
    """As many units as fit a passage, at least one, and the first that does not fit.

    `words`: those of the passage before these units.
    """
    most_characters = size.max_words * CHARACTERS_PER_WORD
    fitting: list[_Unit] = []
    for unit in units:
        is_first = not fitting and words == 0
        words += unit.words
        is_too_long = words > size.max_words or unit.end - start > most_characters
        if is_too_long and not is_first:
            return fitting, unit
        fitting.append(unit)
    return fitting, None


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
    extra_tokens = await extra_task_tokens(engine, focus, "gist", "pagination")
    template = prompts.load("pagination", focus.wording)
    window = engine.info.context_tokens
    while True:
        passage = find_passage(book, start, size, next_start)
        text = labelled_text(book, passage.start, passage.labels, passage.end)
        prompt = (Message("user", template.fill(passage=text)),)
        tokens = await engine.measure(prompt)
        words = count_words(book.text[start : passage.end])
        needed = tokens + gist_tokens(words, tokens) + extra_tokens
        if needed <= window:
            return await choose_page(book, passage, prompt, engine)
        size = shorten_size(book, passage, size, needed, window)


async def choose_page(
    book: Book, passage: LabelledPassage, prompt: Prompt, engine: Engine
) -> tuple[Page, Usage]:
    """Let the model choose where the page ends, if there is a choice. Raises EngineError."""
    start, end = passage.start, passage.end
    usage = NO_USAGE
    if len(passage.labels) > 1:
        labels = [f"<{number}>" for number in passage.labels.values()]
        last = len(labels) - 1
        choice = await choose_or(engine, prompt, labels, last, Priority.BACKGROUND)
        end = passage.pauses[choice.index]
        usage = choice.usage
    return Page(0, start, end, count_words(book.text[start:end])), usage


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
    # In a script without spaces, the words are estimated from the characters.
    estimated = round((passage.end - passage.start) / CHARACTERS_PER_WORD)
    passage_words = min(size.max_words, max(words, estimated))
    share = min(_LARGEST_SHORTER, context_tokens / needed)
    max_words = int(passage_words * share)
    if max_words < _MIN_PASSAGE_WORDS:
        raise EngineError(
            f"The context is too small for one page: {words} words and their gist need "
            f"{needed} tokens, the model's window has {context_tokens}.",
            "Use a model with a longer context.",
        )
    return PageSize(min(size.min_words, max(1, max_words // 2)), max_words)


def labelled_text(book: Book, start: int, labels: Mapping[int, int], end: int) -> str:
    """The text with these labels up to `end`.

    Text of the book that looks like a label is harmless: it is no legal answer.
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
    for chapter in book.chapters[book.chapter_index(start) :]:
        if chapter.end >= last:
            return last
        paragraphs = book.paragraphs_between(start, chapter.end)
        is_only_heading = all(
            paragraph.kind is ParagraphKind.HEADING for paragraph in paragraphs
        )
        if not is_only_heading:
            return chapter.end
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
        next_start = len(text)
        if index + 1 < len(book.paragraphs):
            next_start = book.paragraphs[index + 1].start
        unit_start = start if index == first else paragraph.start
        text_end = min(paragraph.end, end)
        unit_end = min(next_start, end)  # With the space after the paragraph
        if text_end - unit_start <= most_characters:
            words = count_words(text[unit_start:text_end])
            if words <= max_words:
                is_speech = text[unit_start:text_end].lstrip()[:1] in _SPEECH
                yield _Unit(unit_start, unit_end, words, paragraph.kind, is_speech)
                continue
        # Longer than a page: a sentence that the window cuts fits no page anyway.
        window = 2 * most_characters
        for sentence in _sentences(text, unit_start, text_end, unit_end, window):
            yield from _pieces(text, sentence.start, sentence.end, max_words)


def _sentences(
    text: str, start: int, stop: int, end: int, window: int
) -> Iterator[_Unit]:
    """The sentences of `text[start:stop]`; the last one reaches to `end`.

    They are found window by window, since a paragraph may be a whole book.
    """
    window_start = start
    while window_start < end:
        window_end = min(stop, window_start + window)
        spans = sentence_spans(text[window_start:window_end])
        later_starts = [window_start + first for first, _ in spans[1:]]
        if window_end < stop and later_starts:
            # The last sentence may continue beyond the window.
            window_end = later_starts.pop()
        if window_end >= stop:
            window_end = end  # With the space after the last sentence
        starts = [window_start, *later_starts]
        ends = [*later_starts, window_end]
        for first, last in zip(starts, ends, strict=True):
            yield _Unit(first, last, count_words(text[first:last]))
        window_start = window_end


def _pieces(text: str, start: int, end: int, max_words: int) -> Iterator[_Unit]:
    """The sentence `text[start:end]` in pieces of up to `max_words`, cut at spaces if possible."""
    most_characters = max_words * CHARACTERS_PER_WORD
    while start < end:
        stop = min(end, start + most_characters)
        while (words := count_words(text[start:stop])) > max_words:
            # In proportion, and a little more, so that few rounds are needed.
            shorter = (stop - start) * max_words // words - 1
            stop = start + max(1, shorter)
        if stop < end:
            space = max(text.rfind(" ", start, stop), text.rfind("\n", start, stop)) + 1
            if space > start:
                stop = space
        if text[stop:end].isspace():
            stop = end  # Space alone is no piece.
        words = count_words(text[start:stop])
        yield _Unit(start, stop, words)
        start = stop
