"""Exports as Markdown, JSON and text, and for Obsidian and Anki."""

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from markdown_it import MarkdownIt

from gistread.exporting.documents import (
    as_json,
    as_readwise,
    render_export,
    write_export,
)
from gistread.exporting.markdown import as_markdown
from gistread.exporting.markup import TABLE_RULE
from gistread.exporting.model import Export, export_file_name, with_gists
from gistread.exporting.names import ExportFormat
from gistread.marking import Color, Mark, MarkKind, quote_at
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.people.index import Index
from gistread.readers.introductions import introducing_sentences
from gistread.store.model import Citation, SavedQuestion
from tests.tui.books import small_book

BOOK = small_book()
NOON = 1_700_000_000.0


def mark(kind: MarkKind, words: str, **fields: Any) -> Mark:
    start = BOOK.text.index(words)
    return Mark(
        f"id-{start}",
        kind,
        quote_at(BOOK.text, start, start + len(words)),
        made_at=NOON,
        **fields,
    )


MARKS = [
    mark(
        MarkKind.HIGHLIGHT,
        "She trimmed it at dusk",
        color=Color.GREEN,
        note="Every day?\n\nTwice.",
    ),
    mark(MarkKind.LETTER, "The boy ate like a dog", letter="a"),
    mark(MarkKind.BOOKMARK, "Nobody ever asked"),
    mark(MarkKind.NOTE, "Finch relit it", note="*bold* [link](x) <b> # head"),
    Mark(
        "lost",
        MarkKind.NOTE,
        quote_at("Words of another edition", 0, 24),
        note="Where is it?",
        lost=True,
    ),
]
START = BOOK.text.index("Finch relit it")
QUESTIONS = [
    SavedQuestion(
        "Who lit the lamp?",
        "Finch did [2].",
        True,
        (Citation(2, START, START + 14, "Finch relit it"),),
    ),
    SavedQuestion(
        "And the cat?",
        "",
        False,
        asked_at=NOON,
        reader="readagent-s",
        model="SmolLM2",
        begun="It sat",
    ),
]
MEMORY = GistMemory(
    BOOK,
    PageSize(10, 50),
    "SmolLM2",
    [
        MemoryEntry(
            Page(1, 0, 400, 70), Gist("Ada keeps\nthe lamp.", 4, GistSource.MODEL)
        )
    ],
)
EVERYTHING = Export(BOOK, MARKS, QUESTIONS, MEMORY)


def test_markdown_has_marks_by_chapter_with_place_and_note() -> None:
    text = as_markdown(EVERYTHING)
    share = f"{100 * MARKS[0].start / len(BOOK.text):.1f}".removesuffix(".0")
    assert text.startswith(
        "# The Lamp at Skerry Point\n\nA. Writer\n\n## Marks\n\n### I. The Lamp\n\n"
    )
    assert (
        f"> She trimmed it at dusk\n\nEvery day?\n\nTwice.\n\n— *green highlight · {share}% · "
        f"offset {MARKS[0].start} · 2023-11-14*" in text
    )
    assert (
        text.index("### II. The Boy")
        < text.index("— *mark a · ")
        < text.index("### III. The Dark Night")
    )
    assert "## Marks that lost their place" in text
    assert "> Words of another edition\n\nWhere is it?\n\n— *note" in text


def test_markdown_has_questions_with_sources_and_gists() -> None:
    text = as_markdown(EVERYTHING)
    assert (
        "### Who lit the lamp?\n\nFinch did \\[2\\].\n\n> Finch relit it\n>\n> — *section 2 · "
        in text
    )
    assert (
        "### And the cat?\n\nIt sat …\n\n*Interrupted before the answer was complete.*\n\n"
        "*readagent-s with SmolLM2 · 2023-11-14*" in text
    )
    assert text.endswith(
        "## Gists\n\nRead by SmolLM2.\n\n### I. The Lamp\n\n**1** Ada keeps the lamp.\n"
    )


def test_markdown_tells_what_another_passage_says_before_its_place() -> None:
    rival = Citation(2, START, START + 14, "Finch relit it", tells="A boy.")
    question = replace(QUESTIONS[0], citations=(rival,))
    text = as_markdown(Export(BOOK, [], [question]))
    assert "> — *another passage says “A boy.” · section 2 · " in text


@pytest.mark.parametrize(
    "words",
    [
        "*a* _b_ `c` [d](e) ![f](g) <h> <!-- i --> # j | k ~~l~~ \\m &amp;",
        "# one\n- two\n+ three\n1. four\n2) five\n> six\n---\n===\n    seven\n| a | b |",
        "\x1b[31mred\x1b[0m \u202eright to left",
        "***",
    ],
)
def test_no_word_of_book_person_or_model_is_taken_for_markdown(words: str) -> None:
    marked = Mark("x", MarkKind.NOTE, quote_at(words, 0, len(words)), note=words)
    html = (
        MarkdownIt("commonmark")
        .enable("table")
        .enable("strikethrough")
        .render(
            as_markdown(Export(BOOK, [marked], [SavedQuestion(words, words, True)]))
        )
    )
    inside = html.split("<blockquote>", 1)[1]
    assert not re.search(r"<(?!/?(p|blockquote|em|br|h2|h3|ul|ol|li)\b)[a-z!]", inside)
    assert inside.count("<em>") == 1
    assert inside.count("<h3>") == 1
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_json_has_every_field_and_offsets_into_the_text() -> None:
    table = orjson.loads(render_export(EVERYTHING, ExportFormat.JSON))
    assert set(table) == {
        *("schema", "version", "book", "marks", "questions", "gists", "gists_ahead")
    }
    assert table["book"]["sha256"] == BOOK.sha256
    first, *_, lost = table["marks"]
    assert (
        BOOK.text[first["start"] : first["end"]]
        == first["text"]
        == "She trimmed it at dusk"
    )
    assert (first["kind"], first["color"], first["chapter"]) == (
        "highlight",
        "green",
        "I. The Lamp",
    )
    assert first["before"] + first["text"] in BOOK.text
    assert (lost["lost"], lost["chapter"]) == (True, "")
    assert table["questions"][0]["citations"][0]["chapter"] == "III. The Dark Night"
    assert table["gists"] == [
        {
            "page": 1,
            "start": 0,
            "end": 400,
            "chapter": "I. The Lamp",
            "gist": "Ada keeps\nthe lamp.",
            "source": "model",
        }
    ]
    assert as_json(Export(BOOK))["marks"] == []


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("War & Peace: a/b\\c?", "War & Peace a b c – notes.md"),
        ("…/../etc", "etc – notes.md"),
        ("///", "book – notes.md"),
        ("吾輩は猫である", "吾輩は猫である – notes.md"),
        ("x" * 300, "x" * 80 + " – notes.md"),
    ],
)
def test_a_title_becomes_a_name_that_every_system_takes(title: str, name: str) -> None:
    assert export_file_name(title, ExportFormat.MARKDOWN) == name


def test_a_note_for_obsidian_has_front_matter_and_the_order_of_the_book(
    tmp_path: Path,
) -> None:
    message = write_export(
        Export(BOOK, MARKS[:1], QUESTIONS), ExportFormat.OBSIDIAN, tmp_path
    )
    (path,) = tmp_path.iterdir()
    assert path.name == "A Writer — The Lamp at Skerry Point.md"
    assert "Wrote 3 items" in message
    first = path.read_text()
    front = yaml.safe_load(first.split("---")[1])
    assert (front["title"], front["author"], front["gistread"]) == (
        BOOK.title,
        list(BOOK.authors),
        BOOK.sha256,
    )
    assert (
        first.index("> She trimmed it")
        < first.index("Every day?")
        < first.index("### Who lit the lamp?")
    )


def test_a_note_for_obsidian_grows_and_keeps_what_was_edited(tmp_path: Path) -> None:
    export = Export(BOOK, MARKS[:1], QUESTIONS)
    write_export(export, ExportFormat.OBSIDIAN, tmp_path)
    (path,) = tmp_path.iterdir()
    first = path.read_text()
    assert "everything" in write_export(export, ExportFormat.OBSIDIAN, path)
    assert path.read_text() == first
    edited = first.replace("She trimmed it at dusk", "My own words").removesuffix("\n")
    path.write_text(edited)
    later = [replace(MARKS[0], note="Thrice."), *MARKS]
    assert "Added 5 items" in write_export(
        Export(BOOK, later, QUESTIONS), ExportFormat.OBSIDIAN, path
    )
    grown = path.read_text()
    assert grown.startswith(edited)
    added = grown.removeprefix(edited)
    assert f"On [[#^mark-{MARKS[0].id}]]: Thrice.\n" in added
    assert "> Finch relit it" in added
    assert "trimmed" not in added
    ids = re.findall(r"^\^(.+)$", grown, re.MULTILINE)
    assert len(ids) == len(set(ids)) == 8


@pytest.fixture
def cards() -> str:
    """For Anki: marks, questions and names."""
    index = Index.from_book(BOOK)
    names = [
        (entity, introducing_sentences(entity, BOOK)[0])
        for entity in index.entities[:2]
    ]
    questions = [
        replace(QUESTIONS[0], question="# Who:: {{lit}}\nthe <red lamp>?"),
        *QUESTIONS,
    ]
    return render_export(Export(BOOK, MARKS, questions, names=names), ExportFormat.ANKI)


def rows_of(cards: str) -> list[list[str]]:
    lines = [line for line in cards.splitlines() if not line.startswith("#")]
    return list(csv.reader(lines, delimiter="\t"))


def test_cards_for_anki_have_headers(cards: str) -> None:
    headers = dict(
        line[1:].split(":", 1) for line in cards.splitlines() if line.startswith("#")
    )
    assert headers["separator"] == "tab"
    assert headers["html"] == "true"
    assert headers["notetype"] == "Cloze"
    assert headers["deck column"] == "3"
    columns = headers["columns"].split("\t")
    assert all(len(row) == len(columns) for row in rows_of(cards))


def test_cards_for_anki_have_one_gap_each(cards: str) -> None:
    rows = rows_of(cards)
    assert all(len(re.findall(r"\{\{c1::.+?\}\}", row[0])) == 1 for row in rows)
    assert {row[2] for row in rows} == {"gistread::The Lamp at Skerry Point"}
    assert [bool(row[4]) for row in rows] == [
        row[3] == "gistread question" for row in rows
    ]
    assert [row[3].split()[1] for row in rows] == [
        *["highlight"] * 3,
        *["question"] * 2,
        *["name"] * 2,
    ]
    question = (
        "&#35; Who&#58;&#58; &#123;&#123;lit&#125;&#125;<br>the &lt;red lamp&gt;?<br>"
    )
    assert rows[3][0] == question + "{{c1::Finch did.}}"
    assert rows[0][1].startswith("Every day?<br><br>Twice.<br>—")


def test_readwise_gets_its_columns() -> None:
    rows = list(csv.DictReader(as_readwise([EVERYTHING]).splitlines(keepends=True)))
    assert list(rows[0]) == [
        "Highlight",
        "Title",
        "Author",
        "URL",
        "Note",
        "Location",
        "Date",
    ]
    assert [row["Highlight"] for row in rows] == [
        "She trimmed it at dusk",
        "Finch relit it",
        "Words of another edition",
    ]
    assert (rows[0]["Note"], rows[0]["Location"]) == (
        "Every day?\n\nTwice.",
        str(MARKS[0].start),
    )
    assert (rows[0]["Title"], rows[0]["Author"], rows[0]["Date"][:10]) == (
        BOOK.title,
        "A. Writer",
        "2023-11-14",
    )


def test_text_is_the_books_own_to_the_byte() -> None:
    assert render_export(EVERYTHING, ExportFormat.TEXT) == BOOK.text


@pytest.mark.parametrize(
    ("ahead", "line"), [(1, "1 more section is"), (3, "3 more sections are")]
)
def test_a_document_counts_the_sections_ahead(ahead: int, line: str) -> None:
    export = replace(EVERYTHING, ahead=ahead)
    assert as_markdown(export).endswith(f"Ada keeps the lamp.\n\n*{line} ahead.*\n")
    unread = replace(export, memory=replace(MEMORY, entries=[]))
    assert as_markdown(unread).endswith(
        f"## Gists\n\nRead by SmolLM2.\n\n*{line} ahead.*\n"
    )
    assert as_json(export)["gists_ahead"] == ahead


def test_gists_end_at_the_bound() -> None:
    beyond = MemoryEntry(
        Page(2, 400, 800, 70), Gist("The boy comes.", 3, GistSource.MODEL)
    )
    memory = replace(MEMORY, entries=[*MEMORY.entries, beyond])
    bounded = with_gists(Export(BOOK), memory, 400)
    assert ([entry.page.number for entry in bounded.gists], bounded.ahead) == ([1], 1)
    whole = with_gists(Export(BOOK), memory, None)
    assert ([entry.page.number for entry in whole.gists], whole.ahead) == ([1, 2], 0)


def test_lists_tables_and_bold_words_of_an_answer_stay() -> None:
    answer = (
        "The **brass key**:\n- one *a*\n- two\n| a | b |\n|---|---|\n| **c** | d_e_ |"
    )
    written = as_markdown(Export(BOOK, [], [SavedQuestion("Which?", answer, True)]))
    html = MarkdownIt("commonmark").enable("table").render(written)
    assert "<strong>brass key</strong>" in html
    assert html.count("<li>") == 2
    assert "one *a*" in html
    assert html.count("<td>") == 2
    assert "<strong>c</strong>" in html
    assert "d_e_" in html


def test_a_long_run_of_dashes_in_an_answer_is_no_table() -> None:
    line = f"{'-' * 200} word"
    assert TABLE_RULE.fullmatch(line) is None
    written = as_markdown(
        Export(BOOK, [], [SavedQuestion("Which?", f"| a |\n{line}", True)])
    )
    assert "\\| a \\|" in written


def test_a_card_for_anki_has_bold_words_of_an_answer() -> None:
    question = replace(QUESTIONS[0], answer="**Finch** did, and **** is nobody.")
    ((field, *_),) = rows_of(
        render_export(Export(BOOK, [], [question]), ExportFormat.ANKI)
    )
    assert "{{c1::<b>Finch</b> did, and **** is nobody.}}" in field
