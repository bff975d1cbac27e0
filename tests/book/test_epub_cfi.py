"""EPUB CFIs of places, resolved by another program's rules in `cfi_resolver`."""

import io
import random
import re
import unicodedata

import pytest

from gistread.book.formats.epub_cfi import SourceText, read_source
from gistread.book.model import Book
from gistread.book.open import open_book, open_bytes
from tests.book.cfi_resolver import Resolver
from tests.book.data import all_epubs, needs_epubs
from tests.book.make_epub import epub, package, page

_WORD = re.compile(r"\w+")
_MARKS = 200
_REAL = (
    "h-g-wells_the-time-machine",
    "mary-shelley_frankenstein",
    "regime-anticancer-arabic",
    "kusamakura-japanese-vertical-writing",
)

HARD = {
    "one.xhtml": page(
        """<h1 id="a[1]">The <!-- a comment -->Ferry</h1>
<p>He said “yes”<!-- x --> and <em>she <b>said</b></em> no&nbsp;&#233;t&eacute;.</p>
<p>A <![CDATA[<wild>]]> 😀 smile 😀 and a cafe\u0301 at noon.</p>
<p>The same words again.</p><p>The same words again.</p>
<ul><li>First apples</li><li>Then pears</li></ul>"""
    ),
    "two.xhtml": page(
        "<h1>Two</h1><section id='s'><p>The same words again.</p><p>The end.</p></section>"
    ),
}


def letters(text: str) -> str:
    """Letters and digits: bullets and brackets are of the reader's making."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFC", text)))


def random_marks(book: Book) -> list[tuple[int, int]]:
    """Marks from word to word, inside chapters, up to three paragraphs long."""
    chance = random.Random(7)
    words = [(word.start(), word.end()) for word in _WORD.finditer(book.text)]
    marks: list[tuple[int, int]] = []
    while len(marks) < _MARKS:
        first = chance.randrange(len(words))
        last = min(len(words) - 1, first + chance.choice((0, 1, 3, 10, 40)))
        start, end = words[first][0], words[last][1]
        is_inside = book.chapter_index(start) == book.chapter_index(end)
        if is_inside and book.text.count("\n\n", start, end) < 3:
            marks.append((start, end))
    return marks


def check(source: SourceText, book: Book, resolver: Resolver) -> list[str]:
    """The marks that have an identifier which leads to other words, or none."""
    marks = random_marks(book)
    wrong = []
    for (start, end), identifier in zip(
        marks, source.identifiers(book.text, marks), strict=True
    ):
        words = book.text[start:end]
        if not identifier or letters(resolver.words(identifier)) != letters(words):
            wrong.append(f"{identifier} {words}")
    return wrong


def test_marks_of_a_hard_page_are_found_by_an_independent_resolver() -> None:
    data = epub(HARD)
    assert (
        check(
            read_source(data), open_bytes(data, "hard.epub"), Resolver(io.BytesIO(data))
        )
        == []
    )


@needs_epubs
@pytest.mark.parametrize("name", _REAL)
def test_marks_of_real_books_are_found_by_an_independent_resolver(name: str) -> None:
    path = next(path for path in all_epubs() if path.stem == name)
    wrong = check(read_source(path.read_bytes()), open_book(path), Resolver(path))
    assert len(wrong) <= _MARKS // 100, wrong


@pytest.mark.parametrize(
    ("words", "cfi"),
    [
        ("Ferry", "epubcfi(/6/2!/4/2[a^[1^]],/1:4,/1:9)"),
        ("“yes” and she", "epubcfi(/6/2!/4/4,/1:8,/2/1:3)"),
        ("smile", "epubcfi(/6/2!/4/6,/1:12,/1:17)"),
        ("café at", "epubcfi(/6/2!/4/6,/1:27,/1:35)"),
        ("First apples", "epubcfi(/6/2!/4/12/2,/1:0,/1:12)"),
        ("The end.", "epubcfi(/6/4!/4/4[s]/4,/1:0,/1:8)"),
    ],
)
def test_a_place_has_the_path_that_the_description_gives_it(
    words: str, cfi: str
) -> None:
    data = epub(HARD)
    text = open_bytes(data, "hard.epub").text
    start = text.index(words)
    place = (start, start + len(words))
    source = read_source(data)
    assert source.identifiers(text, [place]) == [cfi]
    assert source.place(cfi, text) == place


def test_the_same_words_are_told_apart_by_their_order() -> None:
    data = epub(HARD)
    text = open_bytes(data, "hard.epub").text
    starts = [match.start() for match in re.finditer("The same words", text)]
    places = [(start, start + len("The same words")) for start in starts]
    assert read_source(data).identifiers(text, places) == [
        "epubcfi(/6/2!/4/8,/1:0,/1:14)",
        "epubcfi(/6/2!/4/10,/1:0,/1:14)",
        "epubcfi(/6/4!/4/4[s]/2,/1:0,/1:14)",
    ]


def test_an_identifier_of_another_program_is_found() -> None:
    data = epub(HARD)
    text = open_bytes(data, "hard.epub").text
    source = read_source(data)
    for cfi, words in (
        ("epubcfi(/6/4[any]!/4/4[s]/4/1:4)", "e"),
        ("epubcfi(/6/2!/4/6)", "A"),
        ("epubcfi(/6/2!/4/12[x]/4/1:5[Then;s=b])", "p"),
    ):
        start, end = source.place(cfi, text)
        assert text[start:end] == words
    for cfi in ("epubcfi(/6/99!/4/2/1:0)", "epubcfi(/6/4)", "epubcfi(x)", "page 4"):
        assert source.place(cfi, text) is None


def test_a_place_over_two_files_is_named_as_far_as_the_first_reaches() -> None:
    """A reader takes the file from the part before the first comma."""
    data = epub(HARD)
    text = open_bytes(data, "hard.epub").text
    start = text.index("pears")
    (cfi,) = read_source(data).identifiers(text, [(start, start + 20)])
    assert cfi == "epubcfi(/6/2!/4/12/4,/1:5,/1:10)"
    assert Resolver(io.BytesIO(data)).words(cfi) == "pears"


def test_an_identifier_over_two_files_of_another_program_is_found() -> None:
    data = epub(HARD)
    text = open_bytes(data, "hard.epub").text
    start, end = read_source(data).place("epubcfi(/6,/2!/4/12/4/1:5,/4!/4/2/1:3)", text)
    assert text[start:end] == "pears\n\nTwo"


@pytest.mark.parametrize(
    "words", ["Upon a page and behind", "page and", "a page and behind"]
)
def test_a_page_number_that_only_the_file_has_does_no_harm(words: str) -> None:
    number = '<span epub:type="pagebreak">12</span>'
    data = epub({"a.xhtml": page(f"<p>Upon a page {number} and behind.</p>")})
    text = open_bytes(data, "book.epub").text
    start = text.index(words)
    source = read_source(data)
    (cfi,) = source.identifiers(text, [(start, start + len(words))])
    resolved = Resolver(io.BytesIO(data)).words(cfi)
    assert resolved == words.replace("page ", "page 12 ")
    assert source.place(cfi, text) == (start, start + len(words))


def test_edges_in_the_other_order_are_no_place() -> None:
    moved = epub(
        {"one.xhtml": page("<h1>One</h1><p>qrs omega. mid words here Alpha xyz</p>")}
    )
    text = "xyz. Alpha 77 omega. qrs"
    place = (text.index("Alpha"), text.index(" qrs"))
    assert read_source(moved).identifiers(text, [place]) == [""]


def test_nothing_is_said_of_a_place_that_is_not_exactly_in_the_file() -> None:
    files = {**HARD, "three.xhtml": page("<p>A page that <b>is not closed.</p>")}
    data = epub(files, package(list(files)))
    text = open_bytes(data, "book.epub").text
    repaired = text.index("A page that")
    places = [(repaired, repaired + 30), (0, 0)]
    assert read_source(data).identifiers(text, places) == ["", ""]
    assert read_source(data).identifiers("Words of another book", [(0, 21)]) == [""]
