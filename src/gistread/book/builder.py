"""Assembles a `Book` from paragraphs, chapter starts and inline marks, for every format."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gistread.book import inline
from gistread.book.inline import InlineMark, MarkedRange
from gistread.book.model import (
    Book,
    Chapter,
    Image,
    LanguageSpan,
    Link,
    Paragraph,
    ParagraphKind,
    Span,
)
from gistread.book.normalise import (
    clean,
    clean_line,
    guess_language,
    keep_lines,
    one_line,
)
from gistread.words import count_words

# Front matter up to this many words, about half a printed page, belongs to the first chapter: title
# page, dedication, short table of contents. Longer front matter gets a chapter of its own.
_FRONT_MATTER_WORDS = 150

_KEEPS_LINES = frozenset(
    {ParagraphKind.VERSE, ParagraphKind.TABLE, ParagraphKind.LIST, ParagraphKind.CODE}
)
_KEEPS_SPACING = frozenset({ParagraphKind.TABLE, ParagraphKind.CODE})
_BETWEEN = "\n\n"  # Between two paragraphs


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a file says about its book."""

    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""
    cover: str = ""


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Target of an internal link: an offset of the finished text and, for a note, its end."""

    start: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ChapterStart:
    """A chapter that starts at the paragraph `index` of a document."""

    index: int
    title: str
    level: int
    blocks: int = 1  # Number of paragraphs in its heading


def by_paragraph(
    chapters: Iterable[ChapterStart],
) -> Mapping[int, Sequence[ChapterStart]]:
    """The chapters by the paragraph at which they start; empty for other paragraphs."""
    starts: defaultdict[int, list[ChapterStart]] = defaultdict(list)
    for chapter in chapters:
        starts[chapter.index].append(chapter)
    return starts


# Finds the target of a link; None if it leads out of the book.
ResolveLink = Callable[[InlineMark], LinkTarget | None]


@dataclass(frozen=True, slots=True)
class _PlacedMark:
    """`text[start:end]` of the book has this mark."""

    start: int
    end: int
    mark: InlineMark


def left_out_notices(counts: Mapping[str, int]) -> Iterator[str]:
    """A sentence for each kind of omitted content.

    >>> list(left_out_notices({"hidden word(s)": 3}))
    ['3 hidden words were left out.']
    """
    for name, count in counts.items():
        if count == 1:
            yield f"1 {name.replace('(s)', '')} was left out."
        elif count > 1:
            yield f"{count:,} {name.replace('(s)', 's')} were left out."


class BookBuilder:
    """Collects paragraphs and chapters. Returned offsets are final.

    >>> builder = BookBuilder()
    >>> builder.chapter("One")
    >>> builder.add("Call me Ishmael.")
    True
    >>> builder.build(title="Moby-Dick", source_format="text").chapters
    (Chapter(title='One', start=0, end=16, level=1),)
    """

    def __init__(self) -> None:
        self._texts: list[str] = []  # Of the paragraphs
        self._paragraphs: list[Paragraph] = []
        self._starts: list[ChapterStart] = []  # With offsets as `index`
        self._placed_marks: list[_PlacedMark] = []
        self.characters = 0  # Length of the text so far

    @property
    def next_start(self) -> int:
        if not self._texts:
            return 0
        return self.characters + len(_BETWEEN)

    def add(
        self,
        text: str,
        kind: ParagraphKind = ParagraphKind.TEXT,
        level: int = 0,
        *,
        keeps_lines: bool = False,
        marks: Sequence[InlineMark] = (),
    ) -> bool:
        """Append a paragraph and return True; skip empty text and repeated scene breaks.

        `keeps_lines`: keep line ends, as verse and tables always do.
        """
        text = clean(text)
        if marks:
            # Between two spaces, a mark would keep both.
            text = inline.attach_marks(text)
        if keeps_lines or kind in _KEEPS_LINES:
            text = keep_lines(text, keep_spacing=kind in _KEEPS_SPACING)
        else:
            text = one_line(text)
        ranges: list[MarkedRange] = []
        if marks:
            text, ranges = inline.extract_marks(text)
        if not text or (kind is ParagraphKind.BREAK and self._is_at_break):
            return False
        start = self.next_start
        self.characters = start + len(text)
        self._texts.append(text)
        self._paragraphs.append(Paragraph(start, self.characters, kind, level))
        for marked in ranges:
            mark = marks[marked.index]
            placed = _PlacedMark(start + marked.start, start + marked.end, mark)
            self._placed_marks.append(placed)
        return True

    @property
    def _is_at_break(self) -> bool:
        """Whether a scene break would follow another one or nothing."""
        return not self._paragraphs or self._paragraphs[-1].kind is ParagraphKind.BREAK

    def chapter(self, title: str, level: int = 1) -> None:
        """Begin a chapter at the next paragraph."""
        start = self.next_start
        title = clean_line(title)
        previous = self._starts[-1] if self._starts else None
        if previous is None or previous.index != start:
            self._starts.append(ChapterStart(start, title, level))
            return
        if previous.title and not title:
            return
        # A part and its first chapter that start together share one entry.
        titles = dict.fromkeys((previous.title, title))
        both_titles = ": ".join(filter(None, titles))
        outer_level = min(level, previous.level)
        self._starts[-1] = ChapterStart(start, both_titles, outer_level)

    def build(
        self,
        *,
        title: str,
        authors: tuple[str, ...] = (),
        language: str = "",
        source_format: str,
        notices: tuple[str, ...] = (),
        identifiers: tuple[str, ...] = (),
        cover: str = "",
        resolve: ResolveLink = lambda mark: None,
    ) -> Book:
        """Build the book, which must have at least one paragraph.

        `resolve` is called for every link.
        """
        text = _BETWEEN.join(self._texts)
        name = clean_line(title) or "Untitled"
        return Book(
            text=text,
            title=name,
            paragraphs=tuple(self._paragraphs),
            chapters=self._chapters(text, name),
            authors=_clean_lines(authors),
            language=language or guess_language(text),
            source_format=source_format,
            notices=_clean_lines(notices),
            spans=self._spans(),
            links=self._links(resolve),
            images=self._images(),
            language_spans=self._language_spans(),
            identifiers=_clean_lines(identifiers),
            cover=cover,
        )

    def _spans(self) -> tuple[Span, ...]:
        return tuple(
            Span(placed.start, placed.end, placed.mark.style)
            for placed in self._placed_marks
            if placed.mark.style
        )

    def _links(self, resolve: ResolveLink) -> tuple[Link, ...]:
        return tuple(
            _link(placed, resolve(placed.mark))
            for placed in self._placed_marks
            if placed.mark.href
        )

    def _images(self) -> tuple[Image, ...]:
        return tuple(
            Image(placed.start, placed.end, placed.mark.image)
            for placed in self._placed_marks
            if placed.mark.image
        )

    def _language_spans(self) -> tuple[LanguageSpan, ...]:
        return tuple(
            LanguageSpan(placed.start, placed.end, placed.mark.language)
            for placed in self._placed_marks
            if placed.mark.language
        )

    def _chapters(self, text: str, title: str) -> tuple[Chapter, ...]:
        """The chapters, which together cover the text.

        `title`: for chapters without a title.
        """
        whole_book = ChapterStart(0, title, 1)
        # A chapter that was begun last may have no paragraphs.
        starts = [start for start in self._starts if start.index < len(text)]
        if not starts:
            starts = [whole_book]
        front_matter = text[: starts[0].index]
        if count_words(front_matter) > _FRONT_MATTER_WORDS:
            starts.insert(0, whole_book)
        # Shorter front matter belongs to the first chapter.
        starts[0] = replace(starts[0], index=0)
        ends = [start.index for start in starts[1:]]
        ends.append(len(text))
        return tuple(
            Chapter(start.title or title, start.index, end, start.level)
            for start, end in zip(starts, ends, strict=True)
        )


def _clean_lines(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(clean_line, lines)))


def _link(placed: _PlacedMark, target: LinkTarget | None) -> Link:
    """A link into the book, with the end of a note; without a target, to its address."""
    if target is None:
        return Link(placed.start, placed.end, address=clean_line(placed.mark.href))
    if not placed.mark.is_note:
        return Link(placed.start, placed.end, target.start)
    note_end = target.end or target.start
    return Link(placed.start, placed.end, target.start, note_end)
