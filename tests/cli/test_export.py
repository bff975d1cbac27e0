"""`gistread export`: the user's data about a book, without a model."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.cli.output import SCHEMA
from gistread.errors import ExitStatus
from gistread.marking import Color, MarkKind, new_mark, quote_at
from gistread.paths import default_paths
from gistread.store.model import (
    AnswerMark,
    AnswerMarkKind,
    BoundChoice,
    Citation,
    SavedQuestion,
)
from gistread.store.user_data import MarkStore, UserData
from tests.book.make_epub import epub, page
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine
from tests.permissions import permissions_obeyed


@pytest.fixture
def marked(book: Path) -> Path:
    opened = open_book(book)
    place = quote_at(opened.text, 100, 140)
    MarkStore(default_paths()).put(
        opened.sha256,
        new_mark(MarkKind.HIGHLIGHT, place, color=Color.RED, note="Look."),
    )
    user_data = UserData(default_paths())
    user_data.record_opening(
        opened.sha256,
        title=opened.title,
        authors=(),
        length=len(opened.text),
        path=book,
    )
    user_data.add_question(opened.sha256, SavedQuestion("Who?", "Nobody.", True))
    return book


def test_markdown_comes_on_standard_output(run: Run, marked: Path) -> None:
    ran = run("export", marked)
    assert ran.status == ExitStatus.DONE
    assert open_book(marked).text[100:140].strip() in ran.out.replace("\n> ", " ")
    assert "Look." in ran.out
    assert "### Who?" in ran.out


def test_an_output_without_a_format_is_explained(
    run: Run, marked: Path, tmp_path: Path
) -> None:
    ran = run("export", marked, "--output", tmp_path / "nowhere")
    assert ran.status == ExitStatus.USAGE
    assert "nowhere is no folder, and its name does not say the format." in ran.err


def test_a_dash_is_standard_output(
    run: Run, marked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("export", marked, "--output", "-").out == run("export", marked).out
    assert not (tmp_path / "-").exists()


def test_json_is_one_document(run: Run, marked: Path) -> None:
    for words in (["--json"], ["--format", "json"]):
        ran = run("export", marked, *words)
        assert ran.status == ExitStatus.DONE
    assert json.loads(run("export", marked, "--format", "json").out)["schema"] == SCHEMA
    document = run("export", marked, "--json").json
    assert document["marks"][0]["note"] == "Look."
    assert document["questions"][0]["answer"] == "Nobody."


def test_gists_are_exported_from_the_memory(
    run: Run, marked: Path, engine: FakeEngine
) -> None:
    assert run("export", marked, "--json").json["gists"] == []
    assert (
        run("index", marked, "--min-words", "60", "--max-words", "200").status
        == ExitStatus.DONE
    )
    document = run("export", marked, "--json", "--upto", "all").json
    assert len(document["gists"]) > 3
    assert document["gists_ahead"] == 0
    ran = run("export", marked, "--upto", "all")
    assert "## Gists" in ran.out
    assert "ahead" not in ran.out + ran.err


def test_gists_of_a_novel_end_at_the_place_of_the_reader(
    run: Run, marked: Path, engine: FakeEngine
) -> None:
    assert (
        run("index", marked, "--min-words", "60", "--max-words", "200").status
        == ExitStatus.DONE
    )
    whole = run("export", marked, "--json", "--upto", "all").json["gists"]
    unread = run("export", marked, "--json").json
    assert (unread["gists"], unread["gists_ahead"]) == ([], len(whole))
    ran = run("export", marked)
    assert f"*{len(whole)} more sections are ahead.*" in ran.out
    assert whole[0]["gist"] not in ran.out
    assert (
        f"the gists of {len(whole)} sections ahead; `--upto all` exports all."
        in ran.err
    )
    together = run("export", "--all", "--json")
    assert together.json["books"][0]["gists_ahead"] == len(whole)
    assert "Without gists ahead in 1 book; `--upto all` exports all." in together.err
    book = open_book(marked)
    place = book.text.index("Chapter 2: The Storm")
    UserData(default_paths()).set_position(book.sha256, 0, read=[(0, place)])
    begun = run("export", marked, "--json").json
    assert begun["gists"] == whole[: len(begun["gists"])]
    assert begun["gists"][-1]["end"] <= place
    assert begun["gists_ahead"] == len(whole) - len(begun["gists"])
    first = run("export", marked, "--json", "--upto", "section:1").json
    assert first["gists"] == whole[:1]


def test_cards_say_nothing_of_gists(run: Run, marked: Path, engine: FakeEngine) -> None:
    assert (
        run("index", marked, "--min-words", "60", "--max-words", "200").status
        == ExitStatus.DONE
    )
    assert "ahead" not in run("export", marked, "--format", "anki").err


def test_other_programs_have_formats_of_their_own(
    run: Run, marked: Path, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for _ in range(2):
        assert (
            run("export", marked, "--format", "obsidian", "--output", vault).status
            == ExitStatus.DONE
        )
    assert [path.name for path in vault.iterdir()] == ["The Lamp.md"]
    assert (vault / "The Lamp.md").read_text().count("Look.") == 1
    assert (
        run("export", marked, "--output", tmp_path / "a.tsv").status == ExitStatus.DONE
    )
    assert (tmp_path / "a.tsv").read_text().startswith("#separator:tab")
    assert "{{c1::" in run("export", marked, "--format", "anki").out


def test_an_existing_file_is_replaced_only_by_force(
    run: Run, marked: Path, tmp_path: Path
) -> None:
    path = tmp_path / "notes.md"
    path.write_text("mine")
    ran = run("export", marked, "--output", path)
    assert ran.status == ExitStatus.FAILED
    assert "--force" in ran.err
    assert path.read_text() == "mine"
    assert run("export", marked, "--output", path, "--force").status == ExitStatus.DONE
    assert "Look." in path.read_text()


def test_an_export_goes_into_a_folder_under_the_title_of_the_book(
    run: Run, marked: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    assert run("export", marked, "--output", folder).status == ExitStatus.DONE
    assert (
        run("export", marked, "--output", folder, "--format", "json").status
        == ExitStatus.DONE
    )
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["The Lamp – notes.json", "The Lamp – notes.md"]


def test_only_the_last_answer_that_the_check_supports_becomes_a_card(
    run: Run, marked: Path
) -> None:
    book = open_book(marked)
    citation = Citation(1, 100, 140, book.text[100:140])
    doubt = AnswerMark(0, 5, AnswerMarkKind.STATEMENT, "not supported by the book")
    user_data = UserData(default_paths())
    for number, (answer, marks, sources) in enumerate(
        (
            ("An early answer.", (), (citation,)),
            ("A late answer.", (), (citation,)),
            ("A doubted answer.", (doubt,), (citation,)),
            ("No sentence says plainly who Ada is. The nearest: …", (), (citation,)),
            ("Another answer.", (), (replace(citation, tells="something else"),)),
        ),
        start=1,
    ):
        user_data.add_question(
            book.sha256,
            SavedQuestion(
                "Who?",
                answer,
                True,
                marks=marks,
                citations=sources,
                asked_at=float(number),
            ),
        )
    cards = run("export", marked, "--format", "anki").out
    assert "A late answer." in cards
    assert not any(word in cards for word in ("early", "doubted", "plainly", "Another"))
    doubted = run("export", marked, "--format", "anki", "--doubted").out
    assert "Another answer." in doubted
    assert "Another passage says “something else”" in doubted
    assert "late" not in doubted


def test_a_question_whose_answer_is_in_doubt_is_left_out_of_cards_with_a_notice(
    run: Run, marked: Path
) -> None:
    book = open_book(marked)
    doubt = AnswerMark(0, 9, AnswerMarkKind.STATEMENT, "not supported by the text")
    saved = SavedQuestion(
        "How many?",
        "asdf qwer",
        found=True,
        marks=(doubt,),
        citations=(Citation(1, 100, 140, book.text[100:140]),),
    )
    UserData(default_paths()).add_question(book.sha256, saved)
    ran = run("export", marked, "--format", "anki")
    assert "asdf" not in ran.out
    assert "1 question left out: the answer is in doubt" in ran.err
    notes = run("export", marked).out
    assert "asdf qwer \\[not supported by the text\\]" in notes
    doubted = run("export", marked, "--format", "anki", "--doubted")
    assert "asdf" in doubted.out
    assert "doubt" not in doubted.err


def test_a_question_asked_twice_is_one_card_that_a_new_answer_updates(
    run: Run, marked: Path
) -> None:
    book = open_book(marked)
    source = Citation(1, 100, 140, book.text[100:140])
    guids = []
    for at, question in enumerate(("Who came?", "who came", "Who  came ?"), start=1):
        saved = SavedQuestion(
            question, f"Answer {at}.", True, citations=(source,), asked_at=float(at)
        )
        UserData(default_paths()).add_question(book.sha256, saved)
        cards = run("export", marked, "--format", "anki").out.splitlines()
        (card,) = (line.split("\t") for line in cards if "gistread question" in line)
        assert f"Answer {at}." in card[0]
        guids.append(card[-1])
    assert len(set(guids)) == 1


def test_a_folder_that_may_not_be_entered_is_told(
    run: Run, marked: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o000)
    with permissions_obeyed():
        ran = run("export", marked, "--output", folder / "notes.md")
    folder.chmod(0o700)
    assert ran.status == ExitStatus.FAILED
    assert "cannot be written: Permission denied" in ran.err


def test_only_the_parts_that_are_named_are_exported(run: Run, marked: Path) -> None:
    notes = json.loads(run("export", marked, "--format", "json", "--only", "notes").out)
    assert (len(notes["marks"]), notes["questions"]) == (1, [])
    questions = json.loads(
        run("export", marked, "--format", "json", "--only", "questions").out
    )
    assert (questions["marks"], len(questions["questions"])) == ([], 1)
    ran = run("export", marked, "--only", "pictures")
    assert ran.status == ExitStatus.USAGE
    assert "'pictures' is none of marks, notes" in ran.err


def test_cards_of_names_end_where_the_user_has_read(run: Run, tmp_path: Path) -> None:
    novel = tmp_path / "Saltness.txt"
    halves = (
        f"{name} came at dusk, and the old woman of the house let him in. In the morning {name} "
        f"went down to the sea and looked for his boat. The rain fell on the roof when {name} left."
        for name in ("Mr Verrall", "Mr Penn")
    )
    novel.write_text("\n\n".join(halves) + "\n")

    def names() -> set[str]:
        cards = run("export", novel, "--format", "anki").out
        return {name for name in ("Verrall", "Penn") if f"Mr {name} (" in cards}

    assert names() == set()
    book = open_book(novel)
    UserData(default_paths()).set_position(book.sha256, book.text.index("Mr Penn"))
    assert names() == {"Verrall"}
    UserData(default_paths()).choose_bound(book.sha256, BoundChoice(whole=True))
    assert names() == {"Verrall", "Penn"}


def test_a_part_that_a_book_lacks_is_named(run: Run, book: Path) -> None:
    assert "No gists yet." in run("export", book, "--only", "gists").out
    assert "No marks or notes yet." in run("export", book, "--only", "notes,marks").out
    assert "No marks, questions or gists yet." in run("export", book).out


def test_a_format_that_is_unknown_is_told_with_the_known_ones(
    run: Run, book: Path
) -> None:
    ran = run("export", book, "--format", "foo")
    assert ran.status == ExitStatus.USAGE
    assert "md, json, txt" in ran.err.replace("'", "")
    assert "ExportFormat" not in ran.err


def test_web_annotations_quote_the_text_and_give_its_position(
    run: Run, marked: Path
) -> None:
    text = open_book(marked).text
    page = json.loads(run("export", marked, "--format", "annotations").out)
    (annotation,) = page["items"]
    assert annotation["body"]["value"] == "Look."
    quote, position = annotation["target"]["selector"]
    assert text[position["start"] : position["end"]] == quote["exact"]
    assert quote["prefix"] + quote["exact"] + quote["suffix"] in text


def test_web_annotations_of_an_epub_have_cfis(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(
        epub({"a.xhtml": page("<h1>One</h1><p>The <em>boat</em> came in.</p>")})
    )
    opened = open_book(path)
    start = opened.text.index("boat")
    place = quote_at(opened.text, start, start + len("boat came"))
    MarkStore(default_paths()).put(opened.sha256, new_mark(MarkKind.HIGHLIGHT, place))
    (annotation,) = json.loads(run("export", path, "--format", "annotations").out)[
        "items"
    ]
    fragment = annotation["target"]["selector"][-1]
    assert fragment["type"] == "FragmentSelector"
    assert fragment["conformsTo"].endswith("epub-cfi.html")
    assert fragment["value"] == "epubcfi(/6/2!/4/4,/2/1:0,/3:5)"
