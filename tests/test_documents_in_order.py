"""README and documents, run from the first to the last block in one fresh home.

What a reader has is there: a book and files of notes in the folder, `~/Books`, two models, an
adapter. Servers on this machine stand for Project Gutenberg, Standard Ebooks, an OPDS catalogue,
the hub of models, a server of models and KOReader's; `BOOK` and `NAME` are filled in. Everything
else is run as it is written.
"""

import asyncio
import json
import re
import shlex
import sys
import threading
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gistread.acquisition import sources
from gistread.cli import main
from gistread.engine.catalogue import Catalogue, read_catalogue
from tests.book.make_epub import epub, package, page
from tests.cli.conftest import Ran, Run, running
from tests.cli.test_get import ENTRY, FEED, Typed
from tests.engine.fetching.server import (
    FaultyServer,
    File,
    faulty_server,
    serve_repository,
    sha256,
    without_environment,
)
from tests.engine.remote.server import Kind, Server
from tests.models import starter_path
from tests.syncing.server import serving
from tests.terminal import environment, terminal
from tests.test_documents import REMARK, ROOT, Snippet, is_as_shown, snippets
from tests.tiny_gguf import write_tiny_adapter, write_tiny_gguf

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(starter_path() is None, reason="needs the starter model"),
]

# Commands that install gistread, or run for hours; the tests of packaging install it
_NOT_RUN = (
    "sudo apt install",
    "git clone",
    "python3 -m venv",
    "python3 -m pip",
    "CMAKE_ARGS=",
    "uv tool",
    "pipx",
    "python3 -m tests",
)
_SCREEN = re.compile(
    r"gistread( (sample|last|BOOK|--model|\S+\.(epub|series)).*| frankenstein)?$"
)
_WORDS = "Justine stood before the door and counted the stairs, one by one. "
_CLIPPING = "Justine stood before the door"
_KINDLE = f"""Frankenstein (Mary Shelley)
- Your Highlight on page 5 | location 64-66 | Added on Monday, 4 March 2024 10:10:10

{_CLIPPING}
==========
"""
_LUA = f"""return {{
    ["annotations"] = {{ [1] = {{ ["drawer"] = "lighten", ["text"] = "{_CLIPPING}" }} }},
}}"""
_CALIBRE = {
    "type": "calibre_highlights",
    "highlights": [{"type": "highlight", "highlighted_text": _CLIPPING}],
}
_FILLED_IN = {  # By document and command: what stands for BOOK or NAME
    ("models.md", "gistread models use NAME"): "small",
    ("models.md", "gistread models rm NAME"): "file",
    ("your-data.md", "gistread models rm NAME"): "qwen3-4b-instruct",
    ("reading.md", 'gistread BOOK --at "p. 101"'): "'war and peace'",
}

_REFUSED = {  # What is needed is not there: an answer that was cut
    "gistread ask frankenstein.epub --continue": "The last answer is complete",
}


def _book(title: str, author: str, paragraphs: int = 1) -> bytes:
    words = f"<p>{title}. {_WORDS * 8}</p>" * paragraphs
    pages = {
        f"c{number}.xhtml": page(f"<h1>Part {number}</h1>{words}")
        for number in (1, 2, 3)
    }
    about = f"<dc:creator>{author}</dc:creator><dc:language>en</dc:language>"
    opf = package(list(pages), metadata=about).replace("A Book", title)
    return epub(pages, opf)


@dataclass
class Reader:
    """Follows the documents, command by command."""

    home: Path
    addresses: dict[str, str]  # What stands for each address in the documents
    patch: pytest.MonkeyPatch
    run: Run

    def follow_all(self, blocks: Sequence[Snippet]) -> list[str]:
        return [problem for block in blocks for problem in self.follow(block)]

    def follow(self, snippet: Snippet) -> list[str]:
        """Run a block; returns what went wrong, a line each."""
        match snippet.language:
            case "" | "sh":
                lines = snippet.text.replace("\\\n", " ").splitlines()
                problems = [self._line(snippet.where, line) for line in lines]
                return [
                    f"{snippet.where}: {problem}" for problem in problems if problem
                ]
            case "console":
                return self._console(snippet)
            case "python" | "py":
                exec(
                    compile(snippet.text, snippet.where, "exec"),
                    {"__name__": "__main__"},
                )
            case "toml":
                tomllib.loads(snippet.text)
            case "json":
                json.loads(snippet.text)
            case "jinja":
                Path("template.md").write_text(snippet.text)
                ran = self._command(
                    "gistread export frankenstein.epub --template template.md"
                )
                return [] if ran.status == 0 else [f"{snippet.where}: {ran.err}"]
            case language:
                return [f"{snippet.where}: {language} is not run"]
        return []

    def _console(self, snippet: Snippet) -> list[str]:
        command, _, shown = snippet.text.partition("\n")
        ran = self._command(command.removeprefix("$ "))
        if ran.status == 0 and is_as_shown(ran.out, shown):
            return []
        return [f"{snippet.where}: printed {ran.out}{ran.err}"]

    def _line(self, where: str, line: str) -> str:
        """What is wrong with a command line; empty if nothing is."""
        document = where.partition(":")[0]
        if line.endswith("&& gistread sample"):
            line = "gistread sample"
        if not line.startswith("gistread"):
            is_known = (
                line.strip().startswith(_NOT_RUN) or document == "architecture.md"
            )
            return "" if is_known else f"is not run: {line}"
        written = REMARK.sub("", line).strip()
        name = _FILLED_IN.get((document, written), "frankenstein.epub")
        command = re.sub(r"\b(BOOK|NAME)\b", name, written)
        for address, local in self.addresses.items():
            command = command.replace(address, local)
        if _SCREEN.fullmatch(written):
            self._screen(shlex.split(command)[1:])
            return ""
        ran = self._command(command)
        if ran.status == 0 or _REFUSED.get(command, ran.out) in ran.err:
            return ""
        return f"{command}: status {ran.status}: {ran.err}"

    def _command(self, command: str) -> Ran:
        words = [word.replace("~", str(self.home)) for word in shlex.split(command)[1:]]
        if words[-1:] == ["notes.json"]:
            self.run("export", "frankenstein.epub", "--output", "notes.json")
        typed = "1\n" if words[0] == "get" else "y\n"
        self.patch.setattr(sys, "stdin", Typed(typed))
        return self.run(*words)

    def _screen(self, words: list[str]) -> None:
        with terminal(words, self.home) as run:
            run.wait_for(_shown(words))
            if "end the tour" in run.text:
                run.press("\x1b")
                run.wait_until_gone("end the tour")
            run.press("q")
            assert run.wait_for_end() == 0, words


def _shown(words: list[str]) -> str:
    """What is on the screen that a command opens."""
    if not words:
        return "Frankenstein"
    return "ten o’clock" if words[0] == "sample" else "Justine"


@contextmanager
def _model_server() -> Iterator[str]:
    """A server of models in a thread of its own."""
    server = Server(Kind(models=("Qwen/Qwen3-8B",)))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.open(), loop).result()
    try:
        yield f"http://127.0.0.1:{server.port}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _serve_books(server: FaultyServer) -> None:
    frankenstein = File(_book("Frankenstein", "Mary Shelley"))
    for path in (
        "/ebooks/84.epub3.images",
        "/ebooks/mary-shelley/frankenstein/downloads/mary-shelley_frankenstein.epub",
    ):
        server.files[path] = frankenstein
    server.files["/emma.epub"] = File(_book("Emma", "Jane Austen"))
    for path, title, href in (
        ("/ebooks/search.opds/", "Frankenstein", "/ebooks/84.epub3.images"),
        ("/opds", "Emma", "/emma.epub"),
    ):
        feed = FEED.format(entries=ENTRY.format(title=title, href=href))
        atom = {"Content-Type": "application/atom+xml"}
        server.files[path] = File(feed.encode(), headers=atom)


def _serve_models(server: FaultyServer, model: bytes) -> Catalogue:
    """The catalogue, whose every model is this one."""
    known = read_catalogue()
    entries = tuple(
        replace(entry, revision="main", size_bytes=len(model), sha256=sha256(model))
        for entry in known.entries
    )
    for entry in entries:
        serve_repository(
            server, entry.repository, {entry.file: model}, licence=entry.licence
        )
    files = {"file.gguf": model, "model-Q4_K_M.gguf": model}
    serve_repository(server, "owner/repository", files)
    return replace(known, entries=entries)


def _prepare(home: Path, model: Path) -> None:
    """What a reader has before the first line."""
    models = Path(environment(home)["XDG_DATA_HOME"]) / "gistread" / "models"
    for folder in (models, home / "adapters", home / "Books"):
        folder.mkdir(parents=True)
    for name in ("small", "large", "qwen3"):
        (models / f"{name}.gguf").write_bytes(model.read_bytes())
    write_tiny_adapter(home / "adapters" / "mine.gguf")
    for title, author, paragraphs in (
        ("Emma", "Jane Austen", 1),
        ("Persuasion", "Jane Austen", 1),
        ("War and Peace", "Leo Tolstoy", 300),
    ):
        (home / "Books" / f"{title}.epub").write_bytes(_book(title, author, paragraphs))
    Path("book.epub").write_bytes(_book("Frankenstein", "Mary Shelley"))
    for name in ("warden", "towers"):
        Path(f"{name}.epub").write_bytes(_book(name.title(), "Anthony Trollope"))
    Path("thorne.txt").write_text(f"Doctor Thorne\n\n\n{_WORDS * 40}\n")
    Path("My Clippings.txt").write_text(_KINDLE)
    Path("metadata.epub.lua").write_text(_LUA)
    Path("notes.calibre_highlights").write_text(json.dumps(_CALIBRE))
    Path("readwise.csv").write_text(f"Highlight\n{_CLIPPING}\n")


@pytest.fixture
def reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Reader]:
    without_environment(monkeypatch)
    for name, value in environment(tmp_path, HOME=str(tmp_path)).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GISTREAD_SYNC_PASSWORD", "secret-word")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    model = write_tiny_gguf(tmp_path / "tiny.gguf", brief=True)
    _prepare(tmp_path, model)
    with faulty_server() as server, serving() as places, _model_server() as models:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        _serve_books(server)
        catalogue = _serve_models(server, model.read_bytes())
        monkeypatch.setattr(
            "gistread.cli.model_download.read_catalogue", lambda: catalogue
        )
        for name in ("_GUTENBERG", "_STANDARD_EBOOKS"):
            monkeypatch.setattr(sources, name, server.url)
        gutenberg = sources.SOURCES["gutenberg"]
        search = f"{server.url}/ebooks/search.opds/?query={{searchTerms}}"
        monkeypatch.setitem(
            sources.SOURCES, "gutenberg", replace(gutenberg, search=search)
        )
        addresses = {
            "http://localhost:8080/opds": f"{server.url}/opds",
            "https://sync.koreader.rocks": places.url,
            "http://localhost:8080/v1": models,
            "http://gpu.example:8000/v1": models,
            "https://gpu.example/v1": models,
        }
        yield Reader(tmp_path, addresses, monkeypatch, running(main, capsys))


def test_every_block_runs_in_the_order_of_the_documents(reader: Reader) -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = ["README.md", *re.findall(r"\]\(([a-z-]+\.md)\)", index)]
    blocks = {
        page: [block for block in snippets() if block.page == page] for page in pages
    }
    problems = reader.follow_all(
        [*blocks.pop("README.md"), *blocks.pop("getting-started.md")]
    )
    # From here on the documents mean a file of the reader's own.
    Path("frankenstein.epub").write_bytes(_book("Frankenstein", "Mary Shelley"))
    for of_page in blocks.values():
        problems += reader.follow_all(of_page)
    assert not problems, "\n".join(problems)
