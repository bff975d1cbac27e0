"""Assembles a `Book` from paragraphs, chapter starts and inline marks, for every format."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gistread.book import inline
from gistread.book.inline import InlineMark
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
from gistread.book.normalise import clean, clean_line, guess_language, keep_lines, one_line
from gistread.words import count_words

# Front matter up to this many words, about half a printed page, belongs to the first chapter: title
# page, dedication, short table of contents. Longer front matter gets a chapter of its own.
_FRONT_MATTER_WORDS = 150

_KEEPS_LINES = frozenset(
    {ParagraphKind.VERSE, ParagraphKind.TABLE, ParagraphKind.LIST, ParagraphKind.CODE}
)
_KEEPS_SPACING = frozenset({ParagraphKind.TABLE, ParagraphKind.CODE})


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a file says of its book."""

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


def by_paragraph(chapters: Iterable[ChapterStart]) -> Mapping[int, Sequence[ChapterStart]]:
    starts: defaultdict[int, list[ChapterStart]] = defaultdict(list)
    for chapter in chapters:
        starts[chapter.index].append(chapter)
    return starts


ResolveLink = Callable[
    [InlineMark], LinkTarget | None
]  # Finds the target of a link; None if it leads out of the book


def left_out_notices(counts: Mapping[str, int]) -> Iterator[str]:
    """A sentence for each kind of omitted content, such as "hidden word(s)", and its count."""
    for name, count in counts.items():
        if count > 0:
            ending, verb = ("", "was") if count == 1 else ("s", "were")
            yield f"{count:,} {name.replace('(s)', ending)} {verb} left out."


class BookBuilder:
    """Collects paragraphs and chapters. Returned offsets are final."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._paragraphs: list[Paragraph] = []
        self._starts: list[ChapterStart] = []  # With offsets as `index`
        self._inline: list[
            tuple[int, int, InlineMark]
        ] = []  # (start, end, mark) of every inline mark
        self.characters = 0  # Length of the text so far

    @property
    def next_start(self) -> int:
        return self.characters + 2 if self._parts else 0

    def add(
        self,
        text: str,
        kind: ParagraphKind = ParagraphKind.TEXT,
        level: int = 0,
        *,
        lines: bool = False,
        marks: Sequence[InlineMark] = (),
    ) -> bool:
        """Append a paragraph and return True; skip empty text and repeated scene breaks."""
        text = clean(text)
        if marks:
            text = inline.attach_marks(text)
        keeps = lines or kind in _KEEPS_LINES
        text = keep_lines(text, keep_spacing=kind in _KEEPS_SPACING) if keeps else one_line(text)
        found: list[tuple[int, int, int]] = []
        if marks:
            text, found = inline.extract_marks(text)
        if not text:
            return False
        if kind is ParagraphKind.BREAK and (
            not self._paragraphs or self._paragraphs[-1].kind is ParagraphKind.BREAK
        ):
            return False
        start = self.next_start
        self.characters = start + len(text)
        self._parts.append(text)
        self._inline += [
            (start + first, start + last, marks[index]) for index, first, last in found
        ]
        self._paragraphs.append(Paragraph(start, self.characters, kind, level))
        return True

    def chapter(self, title: str, level: int = 1) -> None:
        start = self.next_start
        title = clean_line(title)
        before = self._starts[-1] if self._starts else None
        if before is None or before.index != start:
            self._starts.append(ChapterStart(start, title, level))
        elif title or not before.title:
            # A part and its first chapter that start together share one entry.
            both = ": ".join(filter(None, dict.fromkeys((before.title, title))))
            self._starts[-1] = ChapterStart(start, both, min(level, before.level))

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
        text = "\n\n".join(self._parts)
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
            spans=tuple(
                Span(start, end, mark.style) for start, end, mark in self._inline if mark.style
            ),
            links=tuple(
                _link(start, end, mark, resolve(mark))
                for start, end, mark in self._inline
                if mark.href
            ),
            images=tuple(
                Image(start, end, mark.image) for start, end, mark in self._inline if mark.image
            ),
            language_spans=tuple(
                LanguageSpan(start, end, mark.language)
                for start, end, mark in self._inline
                if mark.language
            ),
            identifiers=_clean_lines(identifiers),
            cover=cover,
        )

    def _chapters(self, text: str, title: str) -> tuple[Chapter, ...]:
        starts = [start for start in self._starts if start.index < len(text)] or [
            ChapterStart(0, title, 1)
        ]
        if count_words(text[: starts[0].index]) > _FRONT_MATTER_WORDS:
            starts.insert(0, ChapterStart(0, title, 1))
        starts[0] = replace(starts[0], index=0)
        ends = [*(start.index for start in starts[1:]), len(text)]
        return tuple(
            Chapter(start.title or title, start.index, end, start.level)
            for start, end in zip(starts, ends, strict=True)
        )


def _clean_lines(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(clean_line, lines)))


def _link(start: int, end: int, mark: InlineMark, target: LinkTarget | None) -> Link:
    if target is None:
        return Link(start, end, address=clean_line(mark.href))
    return Link(start, end, target.start, (target.end or target.start) if mark.is_note else None)
