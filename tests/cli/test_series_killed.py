"""A series read by a real worker process: killed in its second volume, resumed, extended."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gistread.book.open import open_book
from tests.book.make_epub import epub, page
from tests.tiny_gguf import write_tiny_gguf

SIZE = ("--min-words", "60", "--max-words", "200")
LINE = "The {who} stood before the {what} and counted the stairs, one by one, as the sea went on below. "

pytestmark = pytest.mark.slow


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_gguf(tmp_path / "tiny.gguf")


def start(*words: str | Path, home: Path | None = None) -> "subprocess.Popen[str]":
    places = {name: str(home / name) for name in os.environ if name.startswith("XDG_")} if home else {}
    command = [sys.executable, "-m", "gistread", *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **places}
    )


def done(*words: str | Path, home: Path | None = None) -> str:
    process = start(*words, home=home)
    out, errors = process.communicate(timeout=280)
    assert process.returncode == 0, errors
    return out


def pages_of(book: Path, home: Path | None = None) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = json.loads(done("pages", book, "--json", home=home))["pages"]
    return pages


@pytest.fixture
def volumes(tmp_path: Path) -> list[Path]:
    """An EPUB and two texts, a page a chapter; the second has the most."""
    told = {"keeper": 2, "boy": 9, "boatman": 2}
    lines = [[LINE.format(who=who, what=f"{n}. door") * 4 for n in range(chapters)] for who, chapters in told.items()]
    first = tmp_path / "one.epub"
    body = "".join(f"<h1>Chapter {n}</h1><p>{line}</p>" for n, line in enumerate(lines[0], start=1))
    first.write_bytes(epub({"a.xhtml": page(body)}))
    paths = [first]
    for name, chapters in zip(("two", "three"), lines[1:], strict=True):
        paths.append(tmp_path / f"{name}.txt")
        text = "\n\n".join(f"Chapter {n}\n\n{line}" for n, line in enumerate(chapters, start=1))
        paths[-1].write_text(text + "\n")
    return paths


def test_a_series_killed_in_its_second_volume_resumes(volumes: list[Path], tiny: Path, tmp_path: Path) -> None:
    saga = tmp_path / "saga.series"
    done("books", "tag", *volumes[:2], saga)
    whole = open_book(saga)
    second = whole.volumes[1]

    process = start("index", saga, *SIZE, "--model", tiny, "--events")
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "gisted" and event["start"] == second.start:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    kept = pages_of(saga)
    assert second.start < kept[-1]["end"] < len(whole.text)

    events = [json.loads(line) for line in done("index", saga, *SIZE, "--model", tiny, "--events").splitlines()]
    assert events[0]["event"] == "resumed"
    assert len(kept) <= events[0]["pages"] < len(pages_of(saga))
    again = {event["start"] for event in events if event["event"] == "gisted"}
    assert again == {page["start"] for page in pages_of(saga)} - {page["start"] for page in kept}
    pages = pages_of(saga)
    assert pages[: len(kept)] == kept
    assert pages[-1]["end"] == len(whole.text)

    alone = tmp_path / "alone"
    for volume, path in zip(whole.volumes, volumes, strict=False):
        done("index", path, *SIZE, "--model", tiny, home=alone)
        wanted = [(one["start"], one["gist"], one["source"]) for one in pages_of(path, home=alone)]
        inside = [one for one in pages if volume.start <= one["start"] < volume.end]
        assert [(one["start"] - volume.start, one["gist"], one["source"]) for one in inside] == wanted
        assert [(one["start"], one["gist"], one["source"]) for one in pages_of(path)] == wanted

    done("books", "tag", volumes[2], saga)
    events = [json.loads(line) for line in done("index", saga, *SIZE, "--model", tiny, "--events").splitlines()]
    third = open_book(saga).volumes[2]
    assert events[0] == {"schema": 1, "event": "resumed", "pages": len(pages)}
    assert all(event["start"] >= third.heading for event in events if event["event"] in ("page_found", "gisted"))
    longer = pages_of(saga)[: len(pages)]
    # The last page of the second volume takes the empty line that parts it from the third now.
    assert [one | {"end": 0} for one in longer] == [one | {"end": 0} for one in pages]
    assert longer[:-1] == pages[:-1]
