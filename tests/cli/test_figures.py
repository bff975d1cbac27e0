"""`gistread figures`."""

from pathlib import Path

from gistread.book.open import open_book
from gistread.paths import default_paths
from gistread.store.user_data import UserData
from tests.cli.conftest import Run


def test_figures_in_words_and_as_json(run: Run, book: Path) -> None:
    assert "while you read on" in run("figures").err
    text, data = open_book(book), UserData(default_paths())
    data.record_opening(
        text.sha256, title=text.title, authors=(), length=len(text.text), path=book
    )
    data.add_reading(text.sha256, 480, 120)
    out = run("figures").out
    assert "Today: 2 min" in out
    assert "The Lamp\n  2 min · 240 words a minute · 0%" in out
    document = run("figures", "--json").json
    assert (document["today_seconds"], document["week_seconds"][-1]) == (120, 120)
    assert document["books"][0]["words_per_minute"] == 240
