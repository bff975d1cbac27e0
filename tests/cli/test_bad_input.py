"""Everything that can be wrong with a book, a cache, a disk or a terminal.

Each gets a clear message and the right status, loses no data of the user, and never shows a
traceback.
"""

import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gistread.cli.output import write_json
from gistread.errors import ExitStatus
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths, install_extra, pip_install
from gistread.store.journal import Journal, read_records
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine
from tests.permissions import obey_permissions, permissions_obeyed

SIZE = ("--min-words", "60", "--max-words", "200")


@contextlib.contextmanager
def file_size_limited(size: int) -> Iterator[None]:
    """Files may not grow beyond a few records, in place of a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def memory_file() -> Path:
    (path,) = default_paths().memories.glob("*.memory")
    return path


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return path


def broken_books(folder: Path) -> dict[str, Path]:
    """Unreadable books by their fault."""
    folder.mkdir()
    books = {
        name: folder / f"{name}.txt" for name in ("empty", "spaces", "binary", "nuls")
    }
    books["empty"].write_bytes(b"")
    books["spaces"].write_bytes(b" \n\t\n" * 50)
    books["binary"].write_bytes(bytes(range(256)) * 200)
    books["nuls"].write_bytes(b"\0" * 4096)
    books["directory"] = folder
    books["missing"] = folder / "gone.txt"
    books["no folder"] = books["empty"] / "inside.txt"
    books["long"] = folder / ("x" * 3000)
    books["picture"] = folder / "book.png"
    books["picture"].write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(500))
    books["zip"] = zipped(folder / "any.zip", a=b"text", b=b"text")
    books["cut zip"] = folder / "cut.epub"
    books["cut zip"].write_bytes(
        zipped(folder / "whole.epub", mimetype=b"application/epub+zip").read_bytes()[
            :40
        ]
    )
    books["hollow epub"] = zipped(
        folder / "hollow.epub", mimetype=b"application/epub+zip"
    )
    books["fifo"] = folder / "pipe"
    os.mkfifo(books["fifo"])
    return books


BROKEN = (
    "empty",
    "spaces",
    "binary",
    "nuls",
    "directory",
    "missing",
    "no folder",
    "long",
    "picture",
    "zip",
    "cut zip",
    "hollow epub",
    "fifo",
)


@pytest.mark.parametrize("name", BROKEN)
def test_an_unreadable_book_is_status_3_and_at_most_two_lines(
    run: Run, tmp_path: Path, name: str
) -> None:
    book = broken_books(tmp_path / "books")[name]
    for command in (
        ["index", book, "--json"],
        ["ask", book, "Why?", "--json"],
        ["pages", book, "--json"],
    ):
        ran = run(*command)
        assert ran.status == ran.json["error"]["status"] == ExitStatus.BOOK, ran
        assert 1 <= ran.err.count("\n") <= 2, ran.err
        assert "Traceback" not in ran.err


def test_escape_sequences_of_names_books_and_models_never_reach_the_terminal(
    run: Run, tmp_path: Path, engine: FakeEngine
) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m"
    assert "\x1b" not in run("pages", tmp_path / f"{evil}.txt").err
    book = tmp_path / "evil.txt"
    book.write_text(
        f"Chapter 1: {evil}\n\n"
        + f"It {evil} was a dark night and the door was open.\n\n" * 60
    )
    engine._says = lambda prompt: f"The night {evil} was dark."
    for command in (
        ["index", book, *SIZE],
        ["pages", str(book)],
        ["ask", book, f"Why {evil}?", "--max-pages", "1"],
    ):
        ran = run(*command)
        assert ran.status == ExitStatus.DONE, ran.err
        assert not {"\x1b", "\x07", "\x9b"} & set(ran.out + ran.err)


def test_invalid_settings_are_status_2_and_name_the_line(
    run: Run, book: Path, home: Path
) -> None:
    config = default_paths().config_file
    config.write_text("theme = 'dark'\nmodle = 'starter'\n")
    ran = run("index", book)
    assert ran.status == ExitStatus.USAGE
    assert f"{config}, line 2: unknown setting 'modle'.\nDid you mean model?" in ran.err


def test_a_missing_model_is_status_4(run: Run, book: Path) -> None:
    ran = run("index", book, "--model", "no-such-model-anywhere")
    assert (ran.status, ran.out) == (ExitStatus.ENGINE, "")
    assert "no-such-model-anywhere" in ran.err


@pytest.mark.parametrize(
    "data", [b"", b"text", b"GGUF", b"GGUF\3\0\0\0" + b"\xff" * 64]
)
def test_an_invalid_model_file_is_status_4(
    run: Run, book: Path, tmp_path: Path, data: bytes
) -> None:
    model = tmp_path / "broken.gguf"
    model.write_bytes(data)
    ran = run("index", book, "--model", model)
    assert (ran.status, ran.out) == (ExitStatus.ENGINE, "")
    assert "Traceback" not in ran.err


def test_a_cache_of_a_later_version_is_left_as_it_is(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    run("index", book, *SIZE)
    path = memory_file()
    records, _ = read_records(path)
    with Journal(path) as memory:
        memory.rewrite([{**records[0], "version": 99}, *records[1:]])
    before = path.read_bytes()
    ran = run("index", book, *SIZE)
    assert (ran.status, ran.out) == (ExitStatus.FAILED, "")
    assert "later version of gistread" in ran.err
    assert run("pages", book).status == ExitStatus.FAILED
    assert path.read_bytes() == before


def test_damage_in_a_memory_costs_only_its_page(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    first = run("index", book, *SIZE, "--json").json
    pages = run("pages", book, "--upto", "all", "--json").json
    path = memory_file()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x20
    path.write_bytes(data)
    shown = run("pages", book, "--upto", "all", "--json")
    assert 0 < len(shown.json["pages"]) < first["pages"]
    assert "A memory of this book is damaged." in shown.err
    assert "sections read so far" in shown.err
    ran = run("index", book, *SIZE, "--json")
    assert "damaged" in ran.err
    assert ran.json["resumed_pages"] == first["pages"] - 1
    assert run("pages", book, "--upto", "all", "--json").json == pages


def test_a_damaged_first_page_hides_no_memory_and_keeps_its_task(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    task = ("--task", "who came")
    first = run("index", book, *SIZE, *task, "--json").json
    path = memory_file()
    whole = path.read_bytes()
    at = whole.index(b"\n") + 20
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    for words in (["pages", str(book)], ["ask", book, "Who?", *task]):
        assert "A memory of this book is damaged." in run(*words).err
    answer = run("ask", book, "Who?", *task, "--reader", "readagent-s", "--upto", "all")
    assert f"From {first['pages'] - 1} of ~{first['pages']} sections" in answer.err
    shown = run("pages", book, "--upto", "all", "--json").json
    assert [page["page"] for page in shown["pages"]] == list(
        range(2, first["pages"] + 1)
    )
    shown = run("pages", book, "--upto", "all")
    assert shown.out.startswith("1  not read yet")
    assert shown.out.count(" words · ") == first["pages"] - 1
    assert f"{first['pages'] - 1} of about" in shown.err
    (listed,) = run("memory", "list", book, "--json").json["memories"]
    assert (listed["pages"], listed["read_until"]) == (first["pages"] - 1, 0)
    assert (
        run("index", book, *task, *SIZE, "--json").json["resumed_pages"]
        == first["pages"] - 1
    )


def test_index_stops_if_it_cannot_save_but_ask_still_answers(
    run: Run, book: Path, home: Path, engine: FakeEngine
) -> None:
    cache = home / "XDG_CACHE_HOME"
    cache.mkdir()
    cache.chmod(0o555)
    with permissions_obeyed():
        ran = run("index", book, *SIZE, "--json")
        answer = run("ask", book, "Who?", "--index", *SIZE, "--json")
    assert ran.status == ran.json["error"]["status"] == ExitStatus.FAILED, ran.err
    assert "cannot be saved" in ran.json["error"]["message"]
    assert "Permission denied" in ran.err
    assert ran.err.count("Note:") == 1
    assert "this session" not in ran.err
    assert list(cache.iterdir()) == []
    assert answer.status == ExitStatus.DONE, answer.err
    assert answer.json["answer"]


def test_a_book_without_a_name_is_none(run: Run) -> None:
    ran = run("toc", "")
    assert ran.status == ExitStatus.USAGE
    assert "The name of the book is empty." in ran.err


def test_a_read_only_data_folder_is_a_notice_and_the_answer_is_given(
    run: Run, book: Path, home: Path, engine: FakeEngine
) -> None:
    data = home / "XDG_DATA_HOME"
    data.mkdir()
    data.chmod(0o555)
    with permissions_obeyed():
        ran = run("ask", book, "Who?", "--index", *SIZE)
    assert ran.status == ExitStatus.DONE, ran.err
    assert ran.out.strip()
    assert ran.err.count("the question could not be saved") == 1


def test_a_full_disk_ends_index_and_leaves_whole_pages(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    with file_size_limited(1500):
        ran = run("index", book, *SIZE, "--json")
    assert ran.status == ran.json["error"]["status"] == ExitStatus.FAILED, ran.err
    assert ran.err.count("Note:") == 1
    kept, length = read_records(memory_file())
    assert length == memory_file().stat().st_size
    again = run("index", book, *SIZE, "--json")
    assert again.status == ExitStatus.DONE, again.err
    assert 0 < again.json["resumed_pages"] == len(kept) - 1 < again.json["pages"]


def test_stored_files_become_private_to_this_user(
    run: Run, book: Path, home: Path, engine: FakeEngine
) -> None:
    cache = home / "XDG_CACHE_HOME" / "gistread"
    (cache / "memories").mkdir(parents=True)
    (cache / "memories" / "old.memory").touch(0o644)
    assert run("index", book, *SIZE).status == ExitStatus.DONE
    assert run("ask", book, "Who?", *SIZE).status == ExitStatus.DONE
    kept = [
        path
        for folder in home.iterdir()
        if folder.name != "XDG_CONFIG_HOME"
        for path in folder.rglob("*")
    ]
    assert {path.suffix for path in kept} >= {".memory", ".db", ".book"}
    assert [path for path in kept if path.stat().st_mode & 0o077] == []


def test_errors_are_documents_under_json(run: Run, book: Path) -> None:
    ran = run("pages", book, "--upto", "all", "--json")
    assert ran.json["error"]["status"] == ran.status == ExitStatus.FAILED
    assert f"{ran.json['error']['message']}\n{ran.json['error']['hint']}" in ran.err
    assert run("pages", "--json").json["error"]["message"].endswith("required: BOOK.")
    ran = run("index", "no-such-book.txt", "--events")
    assert [event["event"] for event in ran.events] == ["error"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there")
@pytest.mark.parametrize("words", [["paths", "--json"], ["--help"]])
def test_a_full_disk_behind_standard_output_is_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gistread", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == ExitStatus.FAILED
    assert (
        done.stderr
        == "gistread: Cannot write to standard output: No space left on device.\n"
    )


@pytest.mark.parametrize("words", [[], ["sample"], ["some.txt"], ["-"]])
def test_no_terminal_is_status_2_and_says_what_works_without(
    run: Run, words: list[str]
) -> None:
    ran = run(*words)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert "terminal" in ran.err
    assert "gistread index" in ran.err


def test_an_internal_error_is_two_lines_and_its_traceback_goes_to_the_log(
    run: Run, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, defect_text = "The text of a book", "a defect"

    def defect(store: MemoryStore, book: object) -> None:
        try:
            int(text)
        except ValueError as error:
            raise ZeroDivisionError(defect_text) from error

    monkeypatch.setattr(MemoryStore, "find", defect)
    ran = run("pages", book)
    log = default_paths().log_file
    assert ran.status == ExitStatus.FAILED
    assert ran.err.startswith(
        "gistread: Internal error; see the log. ZeroDivisionError: a defect\n"
    )
    assert ran.err.count("\n") == 2
    assert str(log) in ran.err
    logged = log.read_text()
    assert "Traceback" in logged
    assert "ValueError" in logged
    assert "memory.py" in logged
    assert text not in logged
    assert defect_text not in logged
    monkeypatch.setenv("GISTREAD_DEBUG", "1")
    assert "Traceback" in run("pages", book).err


@pytest.mark.parametrize(
    "error",
    [MemoryError(), ImportError("x.so: failed to map segment from shared object")],
)
def test_a_lack_of_memory_is_no_internal_error(
    run: Run, book: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(store: MemoryStore, book: object) -> None:
        raise error

    monkeypatch.setattr(MemoryStore, "find", refuse)
    ran = run("pages", book)
    assert ran.status == ExitStatus.FAILED
    assert ran.err.startswith("gistread: There is not enough memory.\n")
    assert not default_paths().log_file.exists()


@pytest.mark.parametrize(
    ("words", "status", "error"),
    [
        (["docs", "models"], ExitStatus.DONE, ""),
        (["index", "BOOK", *SIZE, "--events"], ExitStatus.FAILED, ""),
        (
            ["pages", "BOOK", "--json"],
            ExitStatus.FAILED,
            "Nothing of this book has been read yet",
        ),
    ],
)
def test_a_closed_pipe_is_no_error_of_a_command_that_prints(
    book: Path, home: Path, words: list[str], status: ExitStatus, error: str
) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.cli.fake_gistread",
            *(str(book) if word == "BOOK" else word for word in words),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert error in errors if error else errors == ""


def test_json_is_utf8_in_every_locale(run: Run, book: Path, engine: FakeEngine) -> None:
    book.write_text(
        "Kapitel 1: Das Größte\n\n"
        + "Ein „großes“ Haus stand dort, 雪 fiel darauf.\n\n" * 40
    )
    assert run("index", book, *SIZE).status == ExitStatus.DONE
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    command = [sys.executable, "-m", "gistread", "pages", str(book), "--upto", "all"]
    printed = subprocess.run(
        [*command, "--json"], env=environment, stdout=subprocess.PIPE, check=True
    ).stdout
    assert "Größte" in json.loads(printed)["pages"][0]["chapter"]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)


def test_json_has_no_control_characters(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    write_json({"path": "two\x7f\x9b\u202e\udcff.txt"})
    printed = capfdbinary.readouterr().out.decode()
    assert printed.strip("\n").isprintable()
    assert json.loads(printed)["path"] == "two\x7f\x9b\u202e\ufffd.txt"


@pytest.mark.parametrize("hidden", ["memories", "memory"])
def test_what_cannot_be_read_is_called_so(
    run: Run, book: Path, engine: FakeEngine, hidden: str
) -> None:
    run("index", book, *SIZE)
    run("books", "--add", book)
    paths = default_paths()
    path = {"memories": paths.memories, "memory": memory_file()}[hidden]
    commands: list[list[str | Path]] = [
        ["books"],
        ["pages", str(book)],
        ["memory", "list", book],
        ["ask", book, "Who?"],
    ]
    if hidden == "memories":
        commands += [["cache"]]
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        for words in commands:
            with permissions_obeyed():
                ran = run(*words)
            assert f"{path}: Permission denied" in ran.out + ran.err, words
            assert "Traceback" not in ran.err
    finally:
        path.chmod(mode)


def test_a_store_that_cannot_be_read_is_called_so(run: Run, book: Path) -> None:
    run("books", "--add", book)
    store = default_paths().store
    store.chmod(0)
    command = [sys.executable, "-m", "gistread", "books"]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=obey_permissions,
    )
    assert f"{store}: Permission denied" in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_closed_standard_output_is_one_message(home: Path) -> None:
    command = [sys.executable, "-m", "gistread", "books", "--json"]
    ran = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (
        ExitStatus.FAILED,
        "gistread: Standard output is closed.\n",
    )


def test_a_closed_standard_error_sends_no_message_elsewhere(home: Path) -> None:
    command = [sys.executable, "-m", "gistread", "books", "--add", "nothing.epub"]
    ran = subprocess.run(
        ["sh", "-c", '"$@" <&- 2>&-', "sh", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (ExitStatus.BOOK, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ask", "BOOK", "Who?", "--unread"), "--tag and --unread go with --all."),
        (("ask", "--all"), "The question is empty."),
        (("ask", "--all", "Who?", "--continue"), "and no BOOK, not --continue."),
        (("ask", "--all", "Who?", "--preset", "paper"), "and no BOOK, not --preset."),
        (("books", "tag", "BOOK", "caf\udce9"), "An argument is not UTF-8 text."),
        (("ask",), "The question is empty."),
        (
            ("ask", "BOOK", "why " * 5_000),
            "The question has 20,000 characters; the limit is 4,000.",
        ),
        (("ask", "--all", "why " * 5_000), "The question has 20,000 characters"),
        (("search", "BOOK", "lamp", "--tag", "sea"), "--tag goes with --all."),
        (("search", "--all"), "No words to search for."),
        (("recap", "BOOK", "--upto", "140%"), "'140%' is not a place in a book"),
        (
            ("serve", "--port", "99999"),
            "'99999' is not a whole number from 0 to 65,535",
        ),
    ],
)
def test_what_is_missing_or_too_much_is_said_in_two_lines(
    run: Run, book: Path, words: tuple[str, ...], message: str
) -> None:
    ran = run(*(book if word == "BOOK" else word for word in words))
    assert ran.status == ExitStatus.USAGE
    assert message in ran.err
    assert ran.err.count("\n") == 2


def test_the_way_of_installing_decides_how_an_extra_is_added(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert install_extra("mcp") == f"{sys.executable} -m pip install 'gistread[mcp]'"
    monkeypatch.setattr("gistread.paths.find_spec", lambda name: None)
    assert (
        install_extra("mcp")
        == f"uv pip install --python {sys.executable} 'gistread[mcp]'"
    )
    (tmp_path / "pipx_metadata.json").touch()
    assert re.fullmatch(
        r"pipx inject gistread 'mcp<\d+,>=[\d.]+'", install_extra("mcp")
    )
    assert pip_install("socksio") == "pipx runpip gistread install socksio"
