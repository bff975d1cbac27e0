"""LiteraryQA and NarrativeQA: whole books, in records, beside them, and as they were fetched."""

from pathlib import Path
from typing import Any

from research.evaluation.tasks.registry import TASKS
from tests.research.evaluation.tasks.files import DATA, lines, needs_data, sound

literary = TASKS["literaryqa"].load
GUTENBERG = """The Project Gutenberg EBook of The Lamp, by Ann Lee

*** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***

CHAPTER I

The lamp had burned for a year.

*** END OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***

End of the licence.
"""


def novel(**more: Any) -> dict[str, Any]:
    return {
        "document_id": "8a7a",
        "gutenberg_id": "1",
        "split": "validation",
        "title": "The Lamp",
        "qas": [
            {
                "question": "What burned?",
                "answers": ["The lamp.", "A lamp", "The lamp."],
            }
        ],
        "metadata": {"author": "Ann Lee"},
        **more,
    }


def test_the_text_of_a_novel_is_read_from_the_data_folder(tmp_path: Path) -> None:
    for folder in ("literaryqa", "books"):
        (tmp_path / folder).mkdir()
    (tmp_path / "books" / "1.txt").write_text(GUTENBERG)
    (document,) = literary(
        lines(tmp_path / "literaryqa" / "dev.jsonl", novel(text_file="books/1.txt"))
    )
    assert document.book.text == "CHAPTER I\n\nThe lamp had burned for a year.", (
        "no header, no footer"
    )
    assert (document.book.title, document.book.authors) == ("The Lamp", ("Ann Lee",))
    assert document.questions[0].references == ("The lamp.", "A lamp")
    sound(document)


@needs_data
def test_real_novels_are_read() -> None:
    novels = list(literary(DATA / "literaryqa" / "literaryqa_dev.jsonl"))
    assert (len(novels), sum(len(novel.questions) for novel in novels)) == (6, 176)
    for novel in novels:
        sound(novel)
        assert "PROJECT GUTENBERG" not in novel.book.text.upper()
        assert len(novel.questions[0].references) == 2
