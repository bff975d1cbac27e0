"""Markdown: structure and front matter."""

import pytest

from gistread.book.model import Book, ParagraphKind, Style
from gistread.book.open import open_bytes
from gistread.errors import BookError
from tests.book.paragraphs import chapters, images, links, paragraphs, styles
from tests.book.promises import assert_keeps_promises


def read(text: str) -> Book:
    book = open_bytes(text.encode(), "rain.md")
    assert book.source_format == "markdown"
    assert_keeps_promises(book)
    return book


def test_paragraphs_are_joined_and_hard_line_ends_kept() -> None:
    book = read(
        "It rained\nand rained.\n\nRoses are red,  \nviolets are blue,\\\nrain is wet.\n"
    )
    assert paragraphs(book) == [
        (ParagraphKind.TEXT, "It rained and rained."),
        (ParagraphKind.VERSE, "Roses are red,\nviolets are blue,\nrain is wet."),
    ]


def test_blocks_have_their_kinds() -> None:
    book = read(
        "Rain\n====\n\n> Said he.\n\n* * *\n\n- Bread\n- Cheese\n  1. hard\n\n3. Rope\n\n"
        "| Day | Rain |\n|--|--|\n| 1 | 2 mm |\n\n```py\nif a:\n    b\n```\n\n    c\n\nTerm\n: "
        "Meaning\n"
    )
    assert paragraphs(book) == [
        (ParagraphKind.HEADING, "Rain"),
        (ParagraphKind.QUOTE, "Said he."),
        (ParagraphKind.BREAK, "* * *"),
        (ParagraphKind.LIST, "• Bread"),
        (ParagraphKind.LIST, "• Cheese"),
        (ParagraphKind.LIST, "1. hard"),
        (ParagraphKind.LIST, "3. Rope"),
        (ParagraphKind.TABLE, "Day | Rain\n1 | 2 mm"),
        (ParagraphKind.CODE, "if a:\n    b"),
        (ParagraphKind.CODE, "c"),
        (ParagraphKind.LIST, "Term"),
        (ParagraphKind.LIST, "Meaning"),
    ]


def test_emphasis_is_kept() -> None:
    book = read("It _rained_ **all** ~~night~~ `day` in snake_case and 2*3*4.")
    assert book.text == "It rained all night day in snake_case and 234."
    assert styles(book)[:4] == [
        (Style.EMPHASIS, "rained"),
        (Style.STRONG, "all"),
        (Style.STRIKE, "night"),
        (Style.CODE, "day"),
    ]


def test_chapters_come_from_headings_below_the_title() -> None:
    book = read("# Rain\n\n## One\n\nIt.\n\n### Dawn\n\nIt.\n\n## Two\n\nIt.\n")
    assert chapters(book) == [(1, "One"), (2, "Dawn"), (1, "Two")]
    assert book.title == "Rain"


def test_links_lead_to_headings_and_out() -> None:
    book = read(
        "[There](#the-sun-again), [out](http://example.org/a_b), <http://example.org>.\n\n# The "
        "*Sun*, again!\n\nIt."
    )
    assert links(book) == [
        ("There", "The Sun, again!"),
        ("out", "http://example.org/a_b"),
        ("http://example.org", "http://example.org"),
    ]


def test_a_footnote_opens_with_all_its_paragraphs() -> None:
    book = read(
        "# One\n\nIt rained.[^a] And.^[Inline *note*.]\n\n[^a]: A note.\n\n    More of it.\n\n# "
        "Two\n\nIt."
    )
    assert links(book) == [
        ("[1]", "1. A note.\n\nMore of it."),
        ("[2]", "2. Inline note."),
    ]
    assert "↩" not in book.text
    assert chapters(book) == [(1, "One"), (1, "Two"), (1, "Notes")]


def test_a_footnote_opens_at_each_of_its_references() -> None:
    book = read(
        "It rained.[^a] It rained again.[^a]\n\n[^a]: A note.\n\n    More of it.\n"
    )
    assert links(book) == [
        (sign, "1. A note.\n\nMore of it.") for sign in ("[1]", "[1:1]")
    ]


def test_pictures_and_html_inside() -> None:
    book = read(
        'See ![a bridge](img/b.png "Old").\n\n<p align="center">The <i>end</i>&hellip;</p>\n'
    )
    assert book.text == "See [a bridge].\n\nThe end…"
    assert images(book) == [("img/b.png", "[a bridge]")]


@pytest.mark.parametrize(
    "front",
    [
        (
            '---\ntitle: "Rain: A Story" # so\nauthor:\n  - Jane Doe\n  - name: John Roe\n    as: '
            "x\nlang: en-GB\n---\n"
        ),
        (
            "---\ntitle: 'Rain: A Story'\nauthors: [Jane Doe, \"John Roe\"]\nlanguage: "
            "en_GB\nx:\n  "
            "y: true\n...\n"
        ),
        '+++\ntitle = "Rain: A Story"\nauthors = ["Jane Doe", "John Roe"]\nlang = "en-GB"\n+++\n',
        "\ufeff---\r\n"
        "title: >\r\n  Rain:\r\n  A Story\r\nauthor:\r\n- Jane Doe\r\n- John Roe\r\n\r\nlang: "
        "en-GB\r\n---\r\n",
    ],
    ids=["YAML", "YAML on one line", "TOML", "folded"],
)
def test_front_matter_is_read_as_metadata(front: str) -> None:
    book = read(front + "\nIt rained.\n")
    assert (book.title, book.authors, book.language) == (
        "Rain: A Story",
        ("Jane Doe", "John Roe"),
        "en-GB",
    )
    assert book.text == "It rained."


def test_metadata_as_pandoc_writes_it() -> None:
    book = read("% Rain: A\n  Story\n% Jane Doe; John Roe\n% 1850\n\nIt rained.")
    assert (book.title, book.authors, book.text) == (
        "Rain: A Story",
        ("Jane Doe", "John Roe"),
        "It rained.",
    )


@pytest.mark.parametrize(
    "text",
    ["---\n\nIt rained.\n\n---\n\nIt went on.", "+++\nIt [rained.\n+++\n\nIt went on."],
)
def test_anything_but_front_matter_stays_text(text: str) -> None:
    assert "It rained." in read(text).text.replace("[", "")


def test_a_file_without_words_is_refused() -> None:
    with pytest.raises(BookError, match=r"no (?:readable )?text"):
        open_bytes(b"---\ntitle: Rain\n---\n\n<!-- nothing -->\n", "rain.md")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5000,
        "> " * 3000 + "a",
        "*a " * 20_000,
        "- " * 3000 + "a",
        "`" * 30_000,
        "![" * 5000,
    ],
)
def test_thousands_of_markup_signs_are_read_in_time(text: str) -> None:
    assert read(f"It rained.\n\n{text}\n").text.startswith("It rained.")


def test_a_text_of_brackets_is_plain() -> None:
    book = open_bytes(b"It rained.\n\n" + b"![" * 50_000, "rain.md")
    assert book.text.startswith("It rained.")
    assert book.notices == (
        "It has too many brackets for Markdown and was read as plain text.",
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["  " * depth + f"- word{depth}" for depth in range(150)],
        [">" * depth + f" word{depth}\n" for depth in range(1, 150)],
        ["   " * depth + f"1. word{depth}" for depth in range(150)],
        ["- " * 300 + "word"],
    ],
    ids=["list", "quote", "numbers", "one line"],
)
def test_lists_and_quotes_nested_too_deeply_lose_no_word(lines: list[str]) -> None:
    book = read("# Rain\n\n" + "\n".join(lines) + "\n\nThe end.\n")
    assert [word for word in book.text.split() if word.startswith("word")] == [
        line.split()[-1] for line in lines
    ]
    assert book.text.endswith("The end.")


def test_what_nothing_refers_to_is_counted() -> None:
    links = (
        "[](http://x.org/0) [Rain][1]\n\n[1]: http://x.org/1\n[2]: http://x.org/2\n[//]: # (a "
        "comment)\n"
    )
    book = read(f"It rained.[^1] {links}\n[^1]: In May.\n[^2]: In June.\n")
    assert book.notices == (
        "1 link without words was left out.",
        "2 words of unused links were left out.",
        "2 words of titles of links were left out.",
    )
    assert book.text.endswith("1. In May.\n\n2. In June.")


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nDear reader: this is a tale.\n\n---\n\n# A\n\ntext\n",
        "---\nDear reader, I say: this is a tale.\n---\n\n# A\n\ntext\n",
    ],
)
def test_a_rule_and_a_line_with_a_colon_are_text(text: str) -> None:
    assert "this is a tale." in read(text).text


def test_words_of_front_matter_are_counted() -> None:
    book = read("---\ntitle: Rain\nauthor: Ann\nsummary: It rains.\n---\nIt rained.\n")
    assert (book.title, book.text) == ("Rain", "It rained.")
    assert book.notices == ("3 words of metadata were left out.",)


def test_notes_with_one_label_are_all_read() -> None:
    book = read("Rain.[^a]\n\n[^a]: First.\n\n[^a]: Second.\n")
    assert {"First.", "Second."} <= set(book.text.split())


ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "head",
    [
        pytest.param(f"---\n{ALIASES}title: *a11\n---\n", id="aliases"),
        pytest.param(
            f"---\ntitle: {'[' * 9_000}{']' * 9_000}\n---\n", id="nested YAML"
        ),
        pytest.param(
            f"+++\ntitle = {'[' * 4_000}{']' * 4_000}\n+++\n", id="nested TOML"
        ),
        pytest.param(
            f"+++\ntitle = {'9' * 9_000}\n+++\n", id="a number of 9,000 digits"
        ),
        pytest.param(
            '---\ntitle: "\\UFFFFFFFF"\n---\n', id="a character beyond Unicode"
        ),
    ],
)
@pytest.mark.parametrize("suffix", ["md", "txt"])
def test_hostile_front_matter_does_not_hang(head: str, suffix: str) -> None:
    assert (
        "It rained." in open_bytes(f"{head}\nIt rained.\n".encode(), f"x.{suffix}").text
    )


def test_fields_may_be_texts_mappings_or_lists() -> None:
    head = "---\ntitle: The Lamp\nauthor:\n- name: A. Keeper\n- B. Boat\n---\n"
    book = open_bytes(f"{head}\nIt rained.\n".encode(), "x.md")
    assert (book.title, book.authors) == ("The Lamp", ("A. Keeper", "B. Boat"))
