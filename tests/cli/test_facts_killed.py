"""`gistread index --for graphreader` on a whole book: killed ten times, no page lost, each once in the facts.

With the tests' own tiny model in the real worker process: what it says is of no account, so every page is told by
sentences of its own, and that takes as many steps as with any other model.
"""

import itertools
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from gistread import journal
from gistread.book.open import open_book
from tests.book.data import needs_books, text_book
from tests.tiny_gguf import write_tiny_gguf

KILLS = 10
SIZE = ("--min-words", "200", "--max-words", "350")

pytestmark = [pytest.mark.slow, needs_books, pytest.mark.timeout(3600)]


def start(book: Path, model: Path) -> "subprocess.Popen[str]":
    words = ("index", str(book), *SIZE, "--for", "graphreader", "--model", str(model), "--json")
    return subprocess.Popen(
        [sys.executable, "-m", "gistread", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def facts(home: Path) -> Counter[str]:
    """The pages whose facts are on disk, by the hash of their text, and how often each is there."""
    records = [one for path in home.rglob("*.derived") for one in journal.read_records(path)[0]]
    return Counter(record["key"] for record in records if record["kind"] == "facts")


def pages(home: Path) -> int:
    """The number of gisted pages."""
    return sum(len(journal.read_records(path)[0]) - 1 for path in home.rglob("*.memory"))


def test_after_ten_kills_every_page_has_its_facts_once(home: Path, tmp_path: Path) -> None:
    book, model = text_book("35_"), write_tiny_gguf(tmp_path / "tiny.gguf", brief=True)
    chance = random.Random(5)
    seen: Counter[str] = Counter()
    for kill in range(KILLS):
        process = start(book, model)
        before = facts(home).total(), pages(home)
        # Half of the kills while pages are found and shortened, the others among the facts.
        while process.poll() is None:
            time.sleep(chance.uniform(0.2, 1.0))
            grown = facts(home).total() > before[0] + 2 if kill >= KILLS // 2 else pages(home) > before[1] + 3
            if grown:
                break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        now = facts(home)
        assert pages(home) >= before[1]
        assert set(now.values()) <= {1}
        assert seen.keys() <= now.keys()
        seen = now
    assert len(seen) > 0
    process = start(book, model)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    document = json.loads(out)
    made = facts(home)
    assert set(made.values()) == {1}
    assert len(made) == document["pages"] == document["needs"]["facts"]["total"]
    assert document["needs"]["facts"]["made"] == document["pages"] - len(seen)
    told = json.loads(subprocess.check_output([sys.executable, "-m", "gistread", "pages", str(book), "--json"]))[
        "pages"
    ]
    assert told[0]["start"] == 0
    assert told[-1]["end"] == len(open_book(book).text)
    assert all(one["end"] == other["start"] for one, other in itertools.pairwise(told))
