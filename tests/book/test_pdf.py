"""PDF: paragraphs in order, without page furniture."""

import io
import sys
from io import FileIO
from pathlib import Path

import pytest

from gistread.book.formats.pdf import process as pdf_process
from gistread.book.formats.pdf.book import read_pdf
from gistread.book.formats.pdf.furniture import find_furniture
from gistread.book.formats.pdf.lines import TextLine, scan_page
from gistread.book.formats.pdf.pages import Font, PdfPage, TextRun
from gistread.book.formats.pdf.text import WordCounts
from gistread.book.model import Book, ParagraphKind, Style
from gistread.book.open import open_book
from gistread.errors import BookError
from gistread.system import wait_for_data
from tests.book.data import needs_books, needs_pdfs, pdf_book, text_book
from tests.book.make_pdf import HEIGHT, Entry, LinkTo, Put, Sheet, column, pdf, read
from tests.book.promises import assert_keeps_promises

pytestmark = pytest.mark.process

LONG = (
    "The lamp had burned all night in the tower above the sea and nobody had come to trim it "
    "until the glass was black."
)
OTHER = (
    "Down in the village they slept, and the boats lay on the sand as they had been left when "
    "the storm came in."
)
THIRD = (
    "It was the keeper's daughter who first saw that the light was low, and she climbed the "
    "stairs without a word."
)


def texts(book: Book, kind: ParagraphKind | None = None) -> list[str]:
    return [
        book.text[p.start : p.end] for p in book.paragraphs if kind in (None, p.kind)
    ]


def prose(*paragraphs: str, **how: float) -> list[Put]:
    return column("\n".join(paragraphs), **how)


def test_a_page_of_thousands_of_letters_is_read_row_by_row() -> None:
    font = Font("Serif", 0, 400)
    letters = [
        TextRun(
            "ab"[row % 2], 40.0 * place, 40.0 * place + 5, 800.0 - 9 * row, 8.0, font
        )
        for row in range(90)
        for place in range(50)
    ]
    read_rows = scan_page(PdfPage(1, tuple(letters))).rows
    assert [{run.text for run in row.runs} for row in read_rows] == [{"a"}, {"b"}] * 45
    assert all(len(row.runs) == 50 for row in read_rows)


def test_lines_are_joined_and_indents_separate_paragraphs() -> None:
    book = read(Sheet(prose(LONG, OTHER, THIRD)))
    assert texts(book) == [LONG, OTHER, THIRD]
    assert_keeps_promises(book)


def test_gaps_separate_paragraphs_without_indents() -> None:
    puts = [
        *prose(LONG, indent=0),
        *prose(OTHER, indent=0, top=490),
        *prose(THIRD, indent=0, top=440),
    ]
    assert texts(read(Sheet(puts))) == [LONG, OTHER, THIRD]


def test_a_paragraph_continues_on_the_next_page() -> None:
    lines = prose(OTHER, f"{LONG} {OTHER}", THIRD, LONG)
    for cut in range(4, 7):
        on = [
            Put(put.x, put.y + lines[0].y - lines[cut].y, put.text)
            for put in lines[cut:]
        ]
        assert texts(read(Sheet(lines[:cut]), Sheet(on))) == [
            OTHER,
            f"{LONG} {OTHER}",
            THIRD,
            LONG,
        ]


def test_a_paragraph_continues_after_a_table() -> None:
    lines = prose(OTHER, f"{LONG} {OTHER}", THIRD)
    table = [
        Put(60 + 90 * column, 540 - 10 * row, word, 8)
        for row in range(4)
        for column, word in enumerate(("oil", "7", "wick"))
    ]
    on = [Put(put.x, put.y + 450 - lines[5].y, put.text) for put in lines[5:]]
    book = read(Sheet(lines[:5]), Sheet([*table, *on]))
    assert f"{LONG} {OTHER}" in texts(book)
    assert len(texts(book, ParagraphKind.TABLE)) == 1


def test_running_heads_and_page_numbers_are_left_out() -> None:
    sheets = [
        Sheet(
            [
                Put(
                    50,
                    570,
                    f"{page + 7}   THE LAMP" if page % 2 else f"PART ONE   {page + 7}",
                    8,
                ),
                *prose(
                    f"{number.title()} was the leaf. {LONG} This is leaf {number}.",
                    f"{OTHER} So ends {number}.",
                ),
                Put(195, 30, str(page + 1)),
            ]
        )
        for page, number in enumerate(
            ("one", "two", "three", "four", "five", "six", "seven")
        )
    ]
    book = read(*sheets)
    assert "THE LAMP" not in book.text
    assert "PART ONE" not in book.text
    assert not any(character.isdigit() for character in book.text)
    for number in ("one", "four", "seven"):
        assert (
            f"{number.title()} was the leaf. {LONG} This is leaf {number}." in book.text
        )
        assert f"{OTHER} So ends {number}." in book.text


@pytest.mark.timeout(20)
def test_the_heads_of_thousands_of_pages_are_found_in_time() -> None:
    def row(page: int, at: int) -> TextLine:
        words = f"{LONG} {chr(0x4E00 + page)}" if at else "The Lamp"
        return TextLine(page, (), 0, 9, 800 - 10 * at, 10, words)

    furniture = find_furniture(
        [[row(page, at) for at in range(2)] for page in range(6_000)]
    )
    assert all([row.text for row in rows] == ["The Lamp"] for rows in furniture)


def test_the_running_head_of_a_single_page_is_left_out() -> None:
    heads = [
        "THE CALM",
        "THE CALM",
        "THE CALM",
        "THE STORM",
        "THE END",
        "THE END",
        "THE END",
    ]
    sheets = [
        Sheet(
            [
                Put(150, 570, head, 8),
                *prose(f"Leaf {number}. {LONG}", f"{OTHER} {number} times."),
            ]
        )
        for head, number in zip(
            heads, ("one", "two", "three", "four", "five", "six", "seven"), strict=True
        )
    ]
    text = read(*sheets).text
    assert not any(head in text for head in heads)


def test_running_heads_that_change_with_the_chapters_are_left_out() -> None:
    heads = [
        "2 THE CALM",
        "THE HAND 3",
        "4 THE CALM",
        "THE GALE 5",
        "6 THE STORM",
        "THE END 7",
    ]
    leaves = ("one", "two", "three", "four", "five", "six")
    pages = [prose(f"Leaf {leaf}. {LONG}", f"{OTHER} {leaf} times.") for leaf in leaves]
    sheets = [
        Sheet([Put(50, 570, head, 8), *page])
        for head, page in zip(heads, pages, strict=True)
    ]
    text = read(Sheet([*prose(THIRD), Put(195, 30, "1")]), *sheets).text
    assert "THE" not in text
    assert "1" not in text


def test_titles_with_numbers_stay() -> None:
    titles = [f"{number} The lamp" for number in range(1, 7)]
    text = read(
        *[
            Sheet(
                [Put(50, 570, title, 18), *prose(f"Of {title}. {LONG}", OTHER + title)]
            )
            for title in titles
        ]
    ).text
    assert all(text.count(title) == 3 for title in titles)


def test_a_raised_number_before_a_word_stands_apart() -> None:
    puts = [
        Put(50, 504, "1", 6),
        Put(53, 500, "North Harbour and "),
        Put(150, 504, "2", 6),
        Put(153, 500, "Ely"),
    ]
    assert read(Sheet(puts)).text == "1 North Harbour and 2 Ely"


def test_identical_pages_keep_their_words() -> None:
    assert (
        read(*[Sheet(prose(LONG)) for _ in range(4)]).text.count("The lamp had burned")
        == 4
    )


@pytest.mark.parametrize(("x", "step"), [(30, 1), (380, 2)])
def test_line_numbers_in_the_margin_are_left_out(x: float, step: int) -> None:
    lines = prose(LONG, OTHER, THIRD, LONG, OTHER, THIRD, LONG, OTHER, THIRD)
    numbers = [
        Put(x, line.y, str(number), 6)
        for number, line in enumerate(lines, 1)
        if number % step == 0
    ]
    book = read(Sheet([*lines, *numbers]), Sheet([*numbers, *lines]))
    assert texts(book) == [LONG, OTHER, THIRD] * 6
    assert book.notices == (f"{2 * len(numbers)} line numbers were left out.",)


def test_a_column_of_numbers_in_a_table_stays() -> None:
    rows = [
        (Put(50, 540 - 12 * n, f"{n * n % 7}"), Put(100, 540 - 12 * n, f"Row {n}"))
        for n in range(1, 9)
    ]
    assert [
        line.split()[0]
        for line in read(Sheet([put for row in rows for put in row])).text.splitlines()
    ] == [str(n * n % 7) for n in range(1, 9)]


def test_left_and_right_pages_have_margins_of_their_own() -> None:
    leaves = [
        [f"{n.title()} was the leaf. {LONG} This is leaf {n}.", f"{OTHER} So ends {n}."]
        * 3
        for n in ("one", "two", "six")
    ]
    book = read(
        *(Sheet(prose(*leaf, x=30 + 25 * (at % 2))) for at, leaf in enumerate(leaves))
    )
    assert texts(book, ParagraphKind.TEXT) == [text for leaf in leaves for text in leaf]


def test_the_lines_of_a_centred_title_are_one_heading() -> None:
    title = [
        Put(50, 540, "The Lamp That Had Burned for the Keeper of", 16, "bold"),
        Put(165, 520, "the Tower", 16, "bold"),
    ]
    book = read(Sheet([*title, *prose(LONG, OTHER, THIRD, top=480)]))
    assert texts(book)[0] == "The Lamp That Had Burned for the Keeper of the Tower"


def test_the_words_in_a_figure_are_one_paragraph() -> None:
    labels = [
        Put(60 + 90 * n % 200, 460 - 15 * n, word, 6, "sans")
        for n, word in enumerate(("1.0", "0.5", "Day", "Oil"))
    ]
    caption = Put(50, 395, "Figure 1: The oil that the lamp burned.")
    book = read(
        Sheet(
            [
                *prose(LONG, OTHER, top=540),
                *labels,
                caption,
                *prose(THIRD, LONG, top=370),
            ]
        )
    )
    assert texts(book) == [LONG, OTHER, "1.0 0.5 Day Oil", caption.text, THIRD, LONG]


def test_form_fields_are_read() -> None:
    book = read(
        Sheet(
            [Put(50, 500, "Name:")],
            links=[LinkTo(50, 490, 80, 510)],
            fields=[Put(90, 500, "Ann Lee")],
        )
    )
    assert book.text == "Name: Ann Lee"


def test_form_fields_are_read_before_a_viewer_has_drawn_them() -> None:
    form = pdf(
        [Sheet([Put(50, 500, "Name:")], fields=[Put(90, 494, "Ann Lee")])]
    ).replace(b"/AP", b"/Undrawn")
    assert read_pdf(io.BytesIO(form), "form.pdf").text == "Name: Ann Lee"


def test_comments_are_counted() -> None:
    page = pdf([Sheet(prose(LONG), links=[LinkTo(50, 490, 80, 510)])])
    commented = page.replace(b"/Subtype /Link", b"/Subtype /Text /Contents (Who?)")
    assert read_pdf(io.BytesIO(commented), "read.pdf").notices == (
        "1 comment on pages was left out.",
    )


def test_letters_whose_font_does_not_name_them_are_counted_or_refused() -> None:
    book = read(Sheet([*prose(LONG, OTHER), Put(20, 100, "\x04\x05\x06")]))
    assert book.notices == (
        "3 letters may be misread: their fonts do not say which they are.",
    )
    with pytest.raises(BookError, match="does not say which characters"):
        read(Sheet([Put(20, 500, "\x04\x05\x06" * 20), Put(20, 480, "Few words")]))


@pytest.mark.parametrize("meaning", [b"<00AD00AD>", b"<E000E001>", b"<FFFEFFFE>"])
def test_pages_whose_letters_mean_nothing_are_left_out_or_refused(
    meaning: bytes,
) -> None:
    unnamed = Sheet([Put(20, 500 - 12 * n, "\x03" * 30 + " a") for n in range(30)])

    def opened(*sheets: Sheet) -> Book:
        return read_pdf(
            io.BytesIO(pdf(sheets).replace(b"<D83DDE00>", meaning)), "lamp.pdf"
        )

    book = opened(
        Sheet(prose(LONG, OTHER, THIRD, LONG, OTHER)),
        unnamed,
        unnamed,
        Sheet(prose(THIRD)),
    )
    assert texts(book) == [LONG, OTHER, THIRD, LONG, OTHER, THIRD]
    assert book.notices == (
        "Pages 2–3 were left out: the fonts do not say which characters they display.",
    )
    with pytest.raises(BookError, match="does not say which characters"):
        opened(unnamed)


def test_fonts_that_name_the_wrong_letters_are_noticed() -> None:
    shifted = "".join(
        chr((ord(c) - 94) % 26 + 97) if c.isalpha() else c
        for c in f"{LONG} {OTHER} {THIRD}".lower()
    )
    (notice,) = read(Sheet(prose(shifted, shifted, shifted))).notices
    assert (
        notice
        == "Most words look misread: the fonts of the file may name the wrong letters."
    )


def test_a_chapter_number_at_the_top_of_a_page_is_kept() -> None:
    sheets = [
        sheet
        for number in range(1, 5)
        for sheet in (
            Sheet(
                [
                    Put(160, 540, f"Chapter {number}", 18, "bold"),
                    *prose(LONG, OTHER, top=500),
                ]
            ),
            Sheet(prose(THIRD, LONG)),
        )
    ]
    book = read(*sheets)
    assert [chapter.title for chapter in book.chapters] == [
        f"Chapter {n}" for n in range(1, 5)
    ]
    assert texts(book, ParagraphKind.HEADING) == [f"Chapter {n}" for n in range(1, 5)]


def test_hyphenation_at_line_ends_is_undone_and_real_hyphens_stay() -> None:
    lines = [
        "The light-house keeper kept a well-known lamp and was not a",
        "wonderful man, for he had no light-house of his own, only a won-",
        "derful lamp, and a light-",
    ]
    puts = [Put(50, 540 - 12 * number, line) for number, line in enumerate(lines)]
    puts += [
        Put(50, 504, "house made of wood, where the lamp stood in a window of glass.")
    ]
    (text,) = texts(read(Sheet(puts)))
    assert "only a wonderful lamp" in text
    assert "a light-house made of wood" in text


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("they were else-", "where at night", "they were elsewhere at night"),
        ("he kept bow-", "ing to all", "he kept bowing to all"),
        ("a self-", "made lamp", "a self-made lamp"),
        ("an old-", "fashioned lamp", "an old-fashioned lamp"),
        ("the Anglo-", "Saxon lamp", "the Anglo-Saxon lamp"),
        ("in 1850-", "1860 only", "in 1850-1860 only"),
        ("the lamp\u2014", "it was black", "the lamp\u2014it was black"),
        ("he said--", "or so they say", "he said--or so they say"),
        ("of the tower", "and the sea", "of the tower and the sea"),
    ],
)
def test_line_ends_of_both_kinds_give_the_same_text(
    before: str, after: str, joined: str
) -> None:
    drop, between = WordCounts(["x bow where made fashioned lamp night"]).junction(
        before, after
    )
    assert before[: len(before) - drop] + between + after == joined


def test_two_columns_are_read_one_after_the_other() -> None:
    words = LONG.split()
    left = column(f"{LONG} {OTHER}", width=150, x=40, indent=0)
    right = column(f"{THIRD} {LONG}", width=150, x=215, indent=0)
    title = Put(100, 570, "On Lamps and Their Keepers", 16, "bold")
    # A program may write the columns line by line across.
    mixed = [put for pair in zip(left, right, strict=False) for put in pair]
    rest = (left if len(left) > len(right) else right)[min(len(left), len(right)) :]
    book = read(Sheet([title, *mixed, *rest]))
    assert texts(book)[0] == "On Lamps and Their Keepers"
    assert book.text.index(OTHER[-20:]) < book.text.index(THIRD[:20])
    assert " ".join(words[-8:]) in book.text


@pytest.mark.parametrize("label", ["1", "a"])
def test_a_footnote_follows_its_paragraph_and_opens_from_its_reference(
    label: str,
) -> None:
    first = [
        *prose(OTHER, LONG),
        Put(50, 480, "The keeper had a name"),
        Put(150, 484, label, 6),
        Put(155, 480, "that nobody knew, and"),
    ]
    foot = [
        Put(50, 60, label, 5),
        Put(54, 57, "His name was Amos, as the parish register says in its margin.", 8),
    ]
    second = [Put(50, 540, "it was never asked for."), *prose(THIRD, LONG, top=528)]
    book = read(Sheet([*first, *foot]), Sheet(second))
    (note,) = [p for p in book.paragraphs if p.kind is ParagraphKind.NOTE]
    before = book.paragraphs[book.paragraphs.index(note) - 1]
    assert "knew, and it was never asked for." in book.text[before.start : before.end]
    (link,) = book.links
    assert book.text[link.start : link.end] == f"[{label}]"
    assert link.target is not None
    assert book.text[link.target : link.target_end].endswith("margin.")
    assert any(span.style is Style.SUPERSCRIPT for span in book.spans)


def test_italics_and_bold_words_are_kept() -> None:
    puts = [
        *prose(LONG),
        Put(50, 492, "She read"),
        Put(88, 492, "Emma", font="italic"),
        Put(115, 492, "twice."),
    ]
    book = read(Sheet(puts))
    (span,) = book.spans
    assert (book.text[span.start : span.end], span.style) == ("Emma", Style.EMPHASIS)
    assert "She read Emma twice." in book.text


def test_the_outline_names_the_chapters_and_finds_them_in_the_middle_of_a_page() -> (
    None
):
    first = [
        *prose(LONG, OTHER),
        Put(50, 440, "The Storm", 14, "bold"),
        *prose(THIRD, top=410),
    ]
    sheets = [Sheet(first), Sheet(prose(LONG, OTHER))]
    outline = [
        Entry("The Calm", 0, 560),
        Entry("The Storm", 0, 456),
        Entry("After", 1, 560),
    ]
    book = read(*sheets, outline=outline)
    assert [chapter.title for chapter in book.chapters] == [
        "The Calm",
        "The Storm",
        "After",
    ]
    assert book.text[book.chapters[1].start :].startswith(
        "The Storm\n\nIt was the keeper"
    )


def test_links_lead_to_paragraphs_and_out() -> None:
    links = [
        LinkTo(50, 536, 90, 550, page=1, y=495),
        LinkTo(50, 512, 110, 526, address="https://example.org/lamp"),
    ]
    contents = [Put(50, 540, "Chapter the last"), Put(50, 514, "example.org/lamp")]
    book = read(
        Sheet([*contents, *prose(LONG, top=460)], links),
        Sheet([*prose(LONG, indent=0), *prose(THIRD, indent=0, top=485)]),
    )
    inside, outside = book.links
    assert inside.target is not None
    assert book.text[inside.target :].startswith(THIRD[:30])
    assert outside.address == "https://example.org/lamp"


def test_rotated_pages_are_read_and_margin_stamps_left_out() -> None:
    turned = [
        Put(600 - put.y, put.x, put.text, put.size, turned=True)
        for put in prose(LONG, OTHER)
    ]
    book = read(
        Sheet(turned, rotate=90),
        Sheet([*prose(THIRD, LONG), Put(20, 200, "draft 1234", turned=True)]),
    )
    assert texts(book) == [LONG, OTHER, THIRD, LONG]
    assert book.notices == ("2 words printed at an angle were left out.",)


def test_document_metadata_is_read() -> None:
    puts = prose(LONG)
    book = read(
        Sheet(puts),
        metadata={"Title": "The Lamp", "Author": "A. Keeper; B. Keeper"},
        language="en-GB",
    )
    assert (book.title, book.authors, book.language) == (
        "The Lamp",
        ("A. Keeper", "B. Keeper"),
        "en-GB",
    )
    assert book.source_format == "pdf"
    broken = pdf([Sheet(puts)], metadata={"Title": "The Lamp"}).replace(
        b"(The Lamp)", b"<FEFFD83D>"
    )
    assert read_pdf(io.BytesIO(broken), "lamp.pdf").title == "lamp"


def test_a_file_name_is_not_a_title() -> None:
    puts = [Put(100, 560, "The Lamp", 24, "bold"), *prose(LONG, OTHER)]
    assert (
        read(Sheet(puts), metadata={"Title": "Microsoft Word - lamp_final2.doc"}).title
        == "The Lamp"
    )


def test_captions_and_code() -> None:
    code = [
        Put(50 + 6 * 4 * (n % 2), 400 - 12 * n, line, 9, "fixed")
        for n, line in enumerate(("def lamp():", "return oil"))
    ]
    caption = Put(60, 440, "Figure 3: The lamp, seen from the sea.", 9)
    book = read(Sheet([*prose(LONG, OTHER), caption, *code, *prose(THIRD, top=350)]))
    assert texts(book, ParagraphKind.IMAGE) == [
        "Figure 3: The lamp, seen from the sea."
    ]
    (lines,) = texts(book, ParagraphKind.CODE)
    assert lines.splitlines()[0] == "def lamp():"
    assert lines.splitlines()[1].startswith("   ")


def test_a_scan_is_refused_with_a_hint() -> None:
    with pytest.raises(BookError, match=r"only pictures of pages, no text.*\n.*OCR"):
        read(Sheet(picture=True), Sheet(picture=True))


def test_pages_that_are_pictures_are_named() -> None:
    book = read(
        Sheet(prose(LONG, OTHER)), Sheet(picture=True), Sheet(prose(THIRD, LONG))
    )
    assert book.notices == ("Page 2 is a picture without text.",)


class ClockOfSilence:
    """A clock that jumps past every limit once the worker has said all that it will say."""

    def __init__(self, silent: Path) -> None:
        self.silent = silent
        self._now_s = 0.0

    def monotonic(self) -> float:
        return self._now_s

    def wait_for_data(self, output: FileIO, timeout_s: float) -> bool:
        is_silent = self.silent.exists()
        if wait_for_data(output, timeout_s):
            return True
        if is_silent:
            self.silent.unlink()
            self._now_s += 3600
        return False


@pytest.mark.parametrize("how", ["dead", "silent"])
def test_a_page_that_crashes_pdfium_is_left_out_with_a_notice(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ClockOfSilence(tmp_path / "silent")
    monkeypatch.setattr(pdf_process, "time", clock)
    monkeypatch.setattr(pdf_process, "wait_for_data", clock.wait_for_data)
    monkeypatch.setattr(pdf_process, "_WORKER", "tests.book.broken_pdf_worker")
    monkeypatch.setattr(
        sys, "path", [*sys.path, str(Path(__file__).resolve().parents[2])]
    )
    monkeypatch.setenv("BROKEN_PDF_WORKER", how)
    monkeypatch.setenv("SILENT_PDF_WORKER", str(clock.silent))
    book = read(Sheet(prose(LONG)), Sheet(prose(OTHER)), Sheet(prose(THIRD)))
    assert texts(book) == [LONG, THIRD]
    assert book.notices == ("Page 2 could not be read and was left out.",)


def test_a_file_for_which_memory_is_short_is_not_called_damaged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pdf_process, "_WORKER", "no.such.worker")
    monkeypatch.setattr(pdf_process, "is_limited_below", lambda size_bytes: True)
    with pytest.raises(BookError, match="not enough memory"):
        read(Sheet(prose(LONG)))


@pytest.mark.parametrize("handler", ["Standard", "Adobe.APS"])
def test_a_locked_file_is_refused_with_a_hint(handler: str) -> None:
    lock = (
        f"/Encrypt << /Filter /{handler} /V 1 /R 2 /O <{'41' * 32}> /U <{'42' * 32}> /P -4 >> "
        "/ID [<01> <02>]"
    )
    data = pdf([Sheet(prose(LONG))]).replace(b"/Root", lock.encode() + b" /Root")
    with pytest.raises(BookError, match=r"password|DRM"):
        read_pdf(io.BytesIO(data), "locked.pdf")


def test_a_damaged_file_is_refused() -> None:
    with pytest.raises(BookError, match="damaged"):
        read_pdf(io.BytesIO(b"%PDF-1.7\nnothing of the kind"), "broken.pdf")


def test_a_wrong_xref_table_is_repaired_and_a_truncated_file_refused() -> None:
    data = pdf([Sheet(prose(LONG, OTHER)) for _ in range(3)])
    moved = data.replace(
        b"%PDF-1.7\n", b"%PDF-1.7\n% something that was not there before\n"
    )
    assert LONG in read_pdf(io.BytesIO(moved), "moved.pdf").text
    with pytest.raises(BookError, match="damaged"):
        read_pdf(io.BytesIO(data[: len(data) // 3]), "cut.pdf")


def test_a_cancelled_read_ends() -> None:
    data = pdf([Sheet(prose(LONG, OTHER)) for _ in range(300)])
    with pytest.raises(BookError, match="cancelled"):
        read_pdf(io.BytesIO(data), "long.pdf", cancelled=lambda: True)


def test_the_same_file_is_the_same_book() -> None:
    data = pdf([Sheet(prose(LONG, OTHER, THIRD))])
    assert len({read_pdf(io.BytesIO(data), "a.pdf").sha256 for _ in range(2)}) == 1
    assert HEIGHT == 600


@pytest.mark.slow
@needs_pdfs
@needs_books
def test_the_paragraphs_of_a_printed_novel_are_those_of_its_text_edition() -> None:
    def letters(text: str) -> str:
        return "".join(filter(str.isalpha, text)).casefold()

    book = open_book(pdf_book("pride"))
    plain = {letters(text) for text in texts(open_book(text_book("Pride")))}
    same = sum(letters(text) in plain for text in texts(book))
    assert same > 2_100
    assert [chapter.title for chapter in book.chapters[1:]] == [
        f"Chapter {number}" for number in range(1, 62)
    ]
    assert_keeps_promises(book)


@needs_pdfs
def test_a_paper_in_two_columns() -> None:
    book = open_book(pdf_book("debate"))
    assert_keeps_promises(book)
    assert book.title.startswith("Single-Turn Debate Does Not Help Humans")
    assert [chapter.title for chapter in book.chapters][1:5] == [
        "Introduction",
        "Related Work",
        "Argument Writing Protocol",
        "Judging Protocol",
    ]


@needs_pdfs
def test_sentences_of_a_paper_go_on_across_columns_and_pages() -> None:
    whole = texts(open_book(pdf_book("debate")))
    # Across a column and a page with a table at the top.
    assert any("but current models do not reliably provide" in text for text in whole)
    assert any("To determine whether the arguments affect" in text for text in whole)


@needs_pdfs
def test_notes_figures_and_references_of_a_paper() -> None:
    book = open_book(pdf_book("debate"))
    links = {book.text[link.start : link.end]: link for link in book.links}
    notes = {words for words, link in links.items() if link.target_end}
    assert notes >= {f"[{n}]" for n in range(2, 8)}
    assert (
        sum(text.startswith("Figure") for text in texts(book, ParagraphKind.IMAGE)) == 9
    )
    target = links["Irving et al."].target
    assert target is not None
    assert book.text[target:].startswith("Geoffrey Irving")
