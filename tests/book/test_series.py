"""A series joins its volumes unchanged, each after its title."""

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from gistread.book import cache
from gistread.book.cache import open_cached
from gistread.book.images import read_image
from gistread.book.model import Book, ParagraphKind, Volume
from gistread.book.open import open_book, open_bytes
from gistread.book.series import MOST_VOLUMES
from gistread.errors import BookError
from tests.book.data import epub_book, needs_books, needs_epubs, text_book
from tests.book.make_epub import epub, package, page

Write = Callable[..., Path]

PICTURE = b"\x89PNG\r\n\x1a\n not looked at"


@pytest.fixture
def series(tmp_path: Path) -> Write:
    """Writes a series file with these volumes."""

    def write(
        *volumes: str | Path,
        name: str = "saga.series",
        head: str = 'title = "The Saga"',
    ) -> Path:
        path = tmp_path / name
        path.write_text(
            f"{head}\nvolumes = {json.dumps([str(volume) for volume in volumes])}\n"
        )
        return path

    return write


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """An EPUB with every kind of inline content, and a text with chapters."""
    body = (
        '<h1>Rain</h1><p>It <em>rained</em> <a href="#later">later</a>, <i '
        'xml:lang="de">Regen</i>.</p>'
        '<p id="later"><img src="rain.png" alt="Rain on a roof"/> All of it.</p>'
    )
    metadata = '<dc:creator id="c">A. Writer</dc:creator><dc:language>en</dc:language>'
    files: dict[str, str | bytes] = {
        "a.xhtml": page(body),
        "b.xhtml": page("<h1>Snow</h1><p>It snowed.</p>"),
    }
    opf = package(list(files), metadata=metadata)
    first = tmp_path / "one.epub"
    first.write_bytes(epub({**files, "rain.png": PICTURE}, opf))
    second = tmp_path / "two.txt"
    chapters = (
        f"Chapter {n}\n\n" + "The keeper stood before the door and counted. " * 9
        for n in (1, 2, 3)
    )
    second.write_text("\n\n\n".join(chapters))
    return first, second


def cut(book: Book, start: int, end: int) -> str:
    return book.text[start:end]


def assert_shifted(whole: Book, index: int, alone: Book) -> None:
    """Everything in a volume is in the series, shifted."""
    volume = whole.volumes[index]
    assert cut(whole, volume.start, volume.end) == alone.text
    heading = cut(whole, volume.heading, volume.heading + len(volume.title))
    assert heading == volume.title == alone.title
    assert paragraphs_of(whole, volume) == [
        (paragraph.start, paragraph.end, paragraph.kind, paragraph.level)
        for paragraph in alone.paragraphs
    ]
    for name in ("spans", "links", "images"):
        shifted = [
            (mark.start - volume.start, mark.end - volume.start)
            for mark in getattr(whole, name)
            if volume.start <= mark.start < volume.end
        ]
        assert shifted == [(mark.start, mark.end) for mark in getattr(alone, name)]
    targets = [link.target for link in alone.links if link.target is not None]
    assert targets_of(whole, volume) == targets


def paragraphs_of(whole: Book, volume: Volume) -> list[tuple[object, ...]]:
    """Start and end, counted from the volume's start, kind and level of each paragraph in it."""
    return [
        (
            paragraph.start - volume.start,
            paragraph.end - volume.start,
            paragraph.kind,
            paragraph.level,
        )
        for paragraph in whole.paragraphs
        if volume.start <= paragraph.start < volume.end
    ]


def targets_of(whole: Book, volume: Volume) -> list[int]:
    """Where the links of a volume lead, counted from its start."""
    inside = [link for link in whole.links if volume.start <= link.start < volume.end]
    return [link.target - volume.start for link in inside if link.target is not None]


def test_every_volume_is_unchanged_in_a_series(
    series: Write, two: tuple[Path, Path]
) -> None:
    whole = open_book(series("one.epub", "two.txt"))
    alone = [open_book(path) for path in two]
    for index, book in enumerate(alone):
        assert_shifted(whole, index, book)
    sums = [book.sha256 for book in alone]
    assert [book.sha256 for book in whole.volume_books] == sums
    assert whole.title == "The Saga"
    assert whole.authors == ("A. Writer",)
    assert whole.source_format == "series"
    assert alone[0].links
    assert alone[0].images


def test_paragraphs_and_chapters_of_a_series_cover_its_text_in_order(
    series: Write, two: tuple[Path, Path]
) -> None:
    whole = open_book(series("one.epub", "two.txt"))
    paragraphs = [
        cut(whole, paragraph.start, paragraph.end) for paragraph in whole.paragraphs
    ]
    assert whole.text == "\n\n".join(paragraphs)
    assert whole.chapters[0].start == 0
    assert whole.chapters[-1].end == len(whole.text)
    for before, after in pairwise(whole.chapters):
        assert before.end == after.start


def test_volumes_are_chapters_of_the_first_level(
    series: Write, two: tuple[Path, Path]
) -> None:
    whole = open_book(series("one.epub", "two.txt"))

    def titles(level: int) -> list[str]:
        return [chapter.title for chapter in whole.chapters if chapter.level == level]

    assert titles(1) == ["A Book", "two"]
    assert titles(2)[:3] == ["Rain", "Snow", "Chapter 1"]
    for volume in whole.volumes:
        heading = whole.paragraphs[whole.paragraph_index(volume.heading)]
        assert heading.kind is ParagraphKind.HEADING


def test_places_in_a_series_name_the_volume(
    series: Write, two: tuple[Path, Path]
) -> None:
    whole = open_book(series("one.epub", "two.txt"))
    assert whole.chapter_title(whole.text.index("It snowed")) == "A Book · Snow"
    assert whole.chapter_title(whole.volumes[1].heading) == "two"
    assert whole.volume_title(len(whole.text)) == "two"
    assert open_book(two[1]).chapter_title(0) == "Chapter 1"


def test_a_volume_without_chapters_is_one_chapter(
    series: Write, tmp_path: Path, two: tuple[Path, Path]
) -> None:
    (tmp_path / "plain.txt").write_text("Nothing but a few words.\n\nAnd a few more.")
    whole = open_book(series("plain.txt", "two.txt"))
    assert [chapter.title for chapter in whole.chapters][:2] == ["plain", "two"]


def test_a_longer_series_starts_with_the_text_of_the_shorter(
    series: Write, two: tuple[Path, Path]
) -> None:
    shorter = open_book(series("one.epub"))
    assert open_book(series("one.epub", "two.txt")).text.startswith(shorter.text)


def test_pictures_come_from_their_volume(series: Write, two: tuple[Path, Path]) -> None:
    path = series("two.txt", "one.epub")
    (image,) = open_book(path).images
    assert read_image(path, image.source) == PICTURE
    for wrong in ("", "3/rain.png", "x/rain.png", "2/", "2/none.png"):
        with pytest.raises(BookError):
            read_image(path, wrong)


def test_a_volume_in_another_language_is_foreign(
    series: Write, tmp_path: Path, two: tuple[Path, Path]
) -> None:
    opf = package(["a.xhtml"], metadata="<dc:language>de</dc:language>")
    (tmp_path / "regen.epub").write_bytes(
        epub({"a.xhtml": page("<p>Es regnete.</p>")}, opf)
    )
    whole = open_book(series("one.epub", "regen.epub"))
    assert whole.language == "en"
    assert [
        (cut(whole, language_span.start, language_span.end), language_span.language)
        for language_span in whole.language_spans
    ] == [
        ("Regen", "de"),
        ("Es regnete.", "de"),
    ]


def test_notices_of_a_volume_name_it(
    series: Write, tmp_path: Path, two: tuple[Path, Path]
) -> None:
    (tmp_path / "three.epub").write_bytes(
        epub({"a.xhtml": page("<p>A</p>"), "b.xhtml": page("<p>It <b>rained.</p>")})
    )
    alone = open_book(tmp_path / "three.epub")
    assert alone.notices
    assert open_book(series("two.txt", "three.epub")).notices == tuple(
        f"A Book: {notice}" for notice in alone.notices
    )


def test_title_and_authors_default_to_those_of_the_volumes(
    series: Write, two: tuple[Path, Path]
) -> None:
    assert open_book(series("two.txt", head="")).title == "saga"
    named = open_book(
        series(
            "two.txt",
            head='title = "A\\u001b[31m\\n Saga"\nauthors = ["B. Other", " "]',
        )
    )
    assert (named.title, named.authors) == ("A[31m Saga", ("B. Other",))


def test_volumes_are_cached_separately(
    series: Write,
    two: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, texts = series("one.epub", "two.txt"), tmp_path / "texts"
    first = open_cached(path, texts)
    assert first == open_book(path)
    assert len(list(texts.iterdir())) == 2
    two[1].write_text("Another text.")
    again = open_cached(path, texts)
    assert again.sha256 != first.sha256
    assert again.text.endswith("Another text.")
    monkeypatch.setattr(
        cache, "read_book", lambda *_, **__: pytest.fail("a volume was read again")
    )
    assert open_cached(path, texts) == again


@pytest.mark.usefixtures("two")
def test_volume_paths_are_relative_to_the_real_series_file(
    series: Write, tmp_path: Path
) -> None:
    path = series("one.epub", "two.txt")
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.series"
    link.symlink_to(path)
    assert open_book(link) == open_book(path)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    "out",
    ["../two.txt", "deep/../../two.txt", "/etc/hostname", "~/two.txt", "link.txt"],
)
def test_a_series_names_no_file_outside_its_folder(
    series: Write, tmp_path: Path, out: str
) -> None:
    (tmp_path / "below").mkdir()
    path = series(out, name="below/saga.series")
    (path.parent / "link.txt").symlink_to(tmp_path / "two.txt")
    with pytest.raises(BookError, match="is not beside or below it"):
        open_book(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'title = "x"\nvolumes = ["one.epub"', "not a valid series file"),
        (b"Once upon a time there was a text.", "not a valid series file"),
        (b"volumes = \xff\xfe", "it is not UTF-8"),
        (b"volumes = " + b"[" * 5000 + b"]" * 5000, "it is nested too deeply"),
        (b"volumes = " + b"9" * 5000, "a number has too many digits"),
        (b'title = "x"', "lists no volumes"),
        (b"volumes = []", "lists no volumes"),
        (b"volumes = [1, 2]", "lists no volumes"),
        (b'volumes = "one.epub"', "lists no volumes"),
        (b'volumes = ["one.epub", " "]', "has no path"),
        (b'title = 3\nvolumes = ["one.epub"]', "title must be a string"),
        (b'authors = "A"\nvolumes = ["one.epub"]', "authors a list"),
        (b'volumes = ["none.epub"]', "Volume 1 of saga.series: No such file"),
        (b'volumes = ["two.txt", "nul\\u0000l"]', "Volume 2 of saga.series"),
        (b'volumes = ["two.txt", "."]', "is a directory"),
        (b'volumes = ["two.txt", "picture.png"]', "is a PNG image"),
        (b'volumes = ["two.txt", "other.series"]', "is itself a series"),
        (b'volumes = ["saga.series"]', "is itself a series"),
        (
            b'volumes = ["two.txt", "./two.txt"]',
            "Volumes 1 and 2 of saga.series have the same text",
        ),
        (
            b'volumes = ["two.txt", "one.epub", "copy.txt"]',
            "Volumes 1 and 3 of saga.series have the same text",
        ),
        (
            b"volumes = "
            + json.dumps([f"{n}.txt" for n in range(MOST_VOLUMES + 1)]).encode(),
            "the limit is",
        ),
        (b"#" * 2_000_000, "too large"),
        (b"", "is empty"),
    ],
)
def test_errors_in_a_series_file_are_reported_in_two_lines(
    content: bytes, message: str, tmp_path: Path, two: tuple[Path, Path]
) -> None:
    (tmp_path / "picture.png").write_bytes(PICTURE)
    (tmp_path / "copy.txt").write_bytes(two[1].read_bytes())
    (tmp_path / "other.series").write_text('volumes = ["two.txt"]')
    path = tmp_path / "saga.series"
    path.write_bytes(content)
    for opened in (open_book, lambda source: open_cached(source, tmp_path / "texts")):
        with pytest.raises(BookError) as raised:
            opened(path)
        assert message in str(raised.value)
        assert len(str(raised.value).splitlines()) <= 2


def test_a_series_cannot_be_read_from_a_stream(
    series: Write, two: tuple[Path, Path]
) -> None:
    with pytest.raises(BookError, match="Open it by its path"):
        open_bytes(series("two.txt").read_bytes(), "saga.series")


def test_a_book_with_the_suffix_of_a_series_is_read_as_a_book(
    two: tuple[Path, Path], tmp_path: Path
) -> None:
    assert open_book(two[0].rename(tmp_path / "book.series")).source_format == "epub"


@needs_books
@needs_epubs
def test_real_books_are_unchanged_in_a_series(series: Write, tmp_path: Path) -> None:
    paths = [epub_book("time"), text_book("18807"), text_book("35_")]
    names = [Path(shutil.copy(path, tmp_path)).name for path in paths]
    whole = open_cached(series(*names), tmp_path / "texts")
    for index, path in enumerate(paths):
        assert_shifted(whole, index, open_book(path))
    paragraphs = [
        cut(whole, paragraph.start, paragraph.end) for paragraph in whole.paragraphs
    ]
    assert whole.text == "\n\n".join(paragraphs)
