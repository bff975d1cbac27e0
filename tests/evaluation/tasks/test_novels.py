"""LiteraryQA and NarrativeQA: whole books, in records, beside them, and as they were fetched."""

from pathlib import Path
from typing import Any

import pytest

from gistread.errors import GistreadError
from gistread.evaluation.tasks.registry import TASKS, TaskOptions
from tests.evaluation.tasks.files import DATA, lines, needs_data, sound

literary, narrative = TASKS["literaryqa"].load, TASKS["narrativeqa"].load
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
        "qas": [{"question": "What burned?", "answers": ["The lamp.", "A lamp", "The lamp."]}],
        "metadata": {"author": "Ann Lee"},
        **more,
    }


def test_the_text_of_a_novel_is_read_from_the_data_folder(tmp_path: Path) -> None:
    for folder in ("literaryqa", "books"):
        (tmp_path / folder).mkdir()
    (tmp_path / "books" / "1.txt").write_text(GUTENBERG)
    (document,) = literary(lines(tmp_path / "literaryqa" / "dev.jsonl", novel(text_file="books/1.txt")))
    assert document.book.text == "CHAPTER I\n\nThe lamp had burned for a year.", "no header, no footer"
    assert (document.book.title, document.book.authors) == ("The Lamp", ("Ann Lee",))
    assert document.questions[0].references == ("The lamp.", "A lamp")
    sound(document)


def test_the_text_of_a_novel_may_be_in_the_record(tmp_path: Path) -> None:
    (document,) = literary(lines(tmp_path / "test.jsonl", novel(text="THE LAMP\nBY ANN LEE\n" + "It burned. " * 40)))
    assert "It burned." in document.book.text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "`text` and `text_file` are missing"),
        ({"text_file": "books/none.txt"}, r"no file books/none\.txt"),
        ({"text_file": "../secret.txt"}, "is outside the data folder"),
        ({"text_file": "/etc/passwd"}, "is outside the data folder"),
        ({"text": "x", "qas": []}, "`qas` is empty"),
        ({"text": "x", "qas": [{"question": "?", "answers": []}]}, "`answers` is empty"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    (tmp_path / "secret.txt").write_text("not for you")
    (tmp_path / "data").mkdir()
    with pytest.raises(GistreadError, match=f"dev.jsonl, line 1.*{says}"):
        list(literary(lines(tmp_path / "data" / "dev.jsonl", novel(**change))))


@needs_data
def test_real_novels_are_read() -> None:
    novels = list(literary(DATA / "literaryqa" / "literaryqa_dev.jsonl"))
    assert (len(novels), sum(len(one.questions) for one in novels)) == (6, 176)
    for one in novels:
        sound(one)
        assert "PROJECT GUTENBERG" not in one.book.text.upper()
        assert len(one.questions[0].references) == 2


def authors_folder(root: Path) -> Path:
    """As in the authors' repository, after `download_stories.sh` has fetched two of three stories."""
    (root / "tmp").mkdir()
    (root / "documents.csv").write_text(
        "document_id,set,kind,story_url,story_file_size,wiki_url,wiki_title,story_word_count,story_start,story_end\n"
        "00aa,valid,gutenberg,http://x/1,9,http://w,The Lamp (novel),7,CHAPTER I,a year\n"
        '00bb,test,movie,http://x/2,9,http://w,"Lamp, The (film)",7,FADE IN,FADE OUT\n'
        "00cc,valid,gutenberg,http://x/3,9,http://w,The Fog,7,FOG,FOG\n"
    )
    (root / "qaps.csv").write_text(
        "document_id,set,question,answer1,answer2,question_tokenized,answer1_tokenized,answer2_tokenized\n"
        '00aa,valid,"What burned, and why?",The lamp,the lamp.,x,x,x\n'
        "00bb,test,Who fades?,Ann,Ann,x,x,x\n"
        "00aa,valid,How long?,a year,a whole year,x,x,x\n"
        "00cc,valid,Where?,there,here,x,x,x\n"
    )
    (root / "tmp" / "00aa.content").write_text(GUTENBERG)
    (root / "tmp" / "00bb.content").write_text("<html><body><pre>FADE IN\n\nANN fades.\n\nFADE OUT</pre></body></html>")
    return root


def test_only_fetched_stories_of_the_authors_folder_are_read(tmp_path: Path) -> None:
    (lamp,) = narrative(authors_folder(tmp_path))
    assert (lamp.id, lamp.book.title) == ("00aa", "The Lamp (novel)")
    assert lamp.book.text == "CHAPTER I\n\nThe lamp had burned for a year."
    assert [(question.id, question.references) for question in lamp.questions] == [
        ("1", ("The lamp", "the lamp.")),
        ("2", ("a year", "a whole year")),
    ]
    sound(lamp)


def test_another_split_and_a_film_script_are_read(tmp_path: Path) -> None:
    (film,) = narrative(authors_folder(tmp_path), TaskOptions(split="test"))
    assert film.book.title == "Lamp, The (film)"
    assert "ANN fades." in film.book.text
    assert "<" not in film.book.text


def test_an_unknown_split_and_one_without_stories_are_refused(tmp_path: Path) -> None:
    folder = authors_folder(tmp_path)
    with pytest.raises(
        GistreadError, match=r"None of the 0 stories of the split train was fetched: .*download_stories\.sh"
    ):
        list(narrative(folder, TaskOptions(split="train")))
    with pytest.raises(GistreadError, match="Unknown split dev"):
        list(narrative(folder, TaskOptions(split="dev")))
    (folder / "qaps.csv").unlink()
    with pytest.raises(GistreadError, match="No such file"):
        list(narrative(folder))
