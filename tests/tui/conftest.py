"""A scripted reader, a folder of books, and style sheets parsed once."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType
from textual._compositor import Compositor
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

from tests.session.conftest import scripted_reader
from tests.tui.scripted import ScriptedReader


@pytest.fixture(scope="session", autouse=True)
def parsed_once() -> None:
    """Hundreds of apps start with the same style sheets and themes: parse each pair once."""
    parse, parsed = Stylesheet._parse_rules, dict[Any, list[RuleSet]]()

    def parse_once(
        sheet: Stylesheet, css: str, *where: Any, **kind: Any
    ) -> list[RuleSet]:
        key = css, where, *kind.values(), *sheet._variables.items()
        if key not in parsed:
            parsed[key] = parse(sheet, css, *where, **kind)
        return parsed[key]

    Stylesheet._parse_rules = parse_once  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def no_starter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a chosen model the installed starter would be used."""
    monkeypatch.setattr("gistread.engine.model_search.starter_path", lambda: None)


@pytest.fixture(autouse=True)
def drawn_when_looked_at(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draw only what a test looks at.

    Without a terminal Textual draws each update and throws it away, which takes half the time of
    these tests. Those marked `drawn` are about drawing.
    """
    if request.node.get_closest_marker("drawn"):
        return
    render = Compositor.render_update

    def render_if_full(
        compositor: Compositor, full: bool = False, **how: Any
    ) -> RenderableType | None:
        if full:
            return render(compositor, full, **how)
        compositor._dirty_regions.clear()
        return None

    monkeypatch.setattr(Compositor, "render_update", render_if_full)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> ScriptedReader:
    return scripted_reader(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three small books."""
    folder = tmp_path / "Books"
    folder.mkdir()
    for title in ("A Short Tale", "The Long Tale", "Notes on Émile"):
        (folder / f"{title}.txt").write_text(
            f"{title}\n\n" + f"Once upon a time there was {title}. " * 60
        )
    return folder
