"""Themes: packaged and own ones, contrast, and the chooser with its preview."""

import colorsys
import math
from pathlib import Path

import pytest
from rich.color import ColorType
from rich.style import Style
from textual.app import App

from gistread.config import Config, load_config
from gistread.paths import packaged_themes
from gistread.tui.appearance import Appearance
from gistread.tui.screens.choosing import ThemeScreen
from gistread.tui.themes import (
    GROUND_ROLES,
    HIGHLIGHTS,
    ROLES,
    TERMINAL_COLORS,
    Palette,
    contrast,
    read_themes,
)
from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened, paths_in, text_of, until, until_shown

SIZE = (110, 36)
TEXT_ROLES = (
    "text",
    "muted",
    "accent",
    "link",
    "emphasis",
    "success",
    "warning",
    "error",
)
MARK_ROLES = ("cursor", "mark", *HIGHLIGHTS)
THEMES, PROBLEMS = read_themes(packaged_themes())
COMPUTABLE = [name for name, palette in THEMES.items() if not palette.terminal]


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.toml").write_text(text, "utf-8")
    return folder


def test_there_are_light_and_dark_themes_one_without_colours_and_the_terminals_own() -> (
    None
):
    assert not PROBLEMS
    assert {"paper", "night", "sepia", "contrast", "ink", "terminal"} <= set(THEMES)
    assert len(THEMES) >= 6
    assert [palette.dark for palette in THEMES.values()].count(False) >= 3
    assert [name for name, palette in THEMES.items() if palette.terminal] == [
        "terminal"
    ]


@pytest.mark.parametrize("name", COMPUTABLE)
def test_every_text_colour_has_enough_contrast(name: str) -> None:
    colors = THEMES[name].colors
    for ground in GROUND_ROLES:
        for role in TEXT_ROLES:
            assert contrast(colors[role], colors[ground]) >= 7, (role, ground)
    for ground in (*GROUND_ROLES, "cursor"):
        assert contrast(colors["faint"], colors[ground]) >= 4.5, ground
    for ground in MARK_ROLES:
        assert contrast(colors["on-mark"], colors[ground]) >= 7, ground
        assert contrast(colors["text"], colors[ground]) >= 7, ground
        assert contrast(colors["muted"], colors[ground]) >= 4.5, ground


@pytest.mark.parametrize(
    "name", [name for name in COMPUTABLE if name not in ("contrast", "ink")]
)
def test_text_has_three_tiers(name: str) -> None:
    colors = THEMES[name].colors
    faint, muted, text = (
        contrast(colors[role], colors["background"])
        for role in ("faint", "muted", "text")
    )
    assert faint < 6.5
    assert muted > 7
    assert text > muted + 2


@pytest.mark.parametrize("name", [name for name in COMPUTABLE if name != "ink"])
def test_highlights_differ_from_the_ground_and_from_each_other(name: str) -> None:
    colors = THEMES[name].colors
    grounds = [colors["background"], *(colors[role] for role in HIGHLIGHTS)]
    assert len(set(grounds)) == len(grounds)
    for role in HIGHLIGHTS:
        assert _distance(colors[role], colors["background"]) > 30, role


@pytest.mark.parametrize("name", [name for name in COMPUTABLE if name != "ink"])
def test_hits_and_sources_have_another_hue_than_highlights(name: str) -> None:
    colors = THEMES[name].colors
    mark = _hue(colors["mark"])
    for role in HIGHLIGHTS:
        apart = abs(mark - _hue(colors[role]))
        assert min(apart, 1 - apart) > 0.1, role


def test_the_theme_without_colours_has_none() -> None:
    for role, color in THEMES["ink"].colors.items():
        assert color[1:3] == color[3:5] == color[5:7], role


def test_the_theme_of_the_terminal_names_its_colours_alone() -> None:
    assert set(THEMES["terminal"].colors.values()) <= set(TERMINAL_COLORS)


async def test_the_terminals_colours_reach_the_terminal_as_they_are(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path, config=Config(theme="terminal"))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        styles = _styles(app)
        assert styles
        assert {
            color.type
            for style in styles
            for color in (style.color, style.bgcolor)
            if color
        } <= {
            ColorType.DEFAULT,
            ColorType.STANDARD,
        }


async def test_without_colours_the_terminals_theme_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_on(small_book(), tmp_path, config=Config(theme="terminal"))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        assert {
            color.type
            for style in _styles(app)
            for color in (style.color, style.bgcolor)
            if color
        } == {ColorType.DEFAULT}


@pytest.mark.parametrize(
    ("theme", "no_color", "shown"),
    [("", False, "paper"), ("ember", False, "ember"), ("", True, "terminal")],
)
async def test_a_light_terminal_is_followed_unless_a_theme_or_no_colour_is_chosen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    theme: str,
    no_color: bool,
    shown: str,
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    app = app_on(small_book(), tmp_path, config=Config(theme=theme))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        app.post_message(Appearance(light=True))
        await pilot.pause()
        assert app.theme == shown
        await pilot.press("T", "down", "escape")
        await until(
            pilot,
            lambda: not isinstance(app.screen, ThemeScreen) and app.theme == shown,
        )


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_a_fallback_theme_exists_without_theme_files(tmp_path: Path) -> None:
    themes, problems = read_themes(tmp_path / "nowhere")
    assert len(themes) == 1
    assert problems == []
    assert set(next(iter(themes.values())).colors) == set(ROLES)


def test_an_own_theme_extends_another(tmp_path: Path) -> None:
    folder = written(
        tmp_path, "mine", 'extends = "night"\n[colors]\naccent = "#ffcc00"\n'
    )
    themes, problems = read_themes(packaged_themes(), folder)
    assert not problems
    mine, night = themes["mine"], themes["night"]
    assert mine.dark
    assert mine.colors["accent"] == mine.colors["link"] == "#ffcc00"
    assert {role for role in ROLES if mine.colors[role] != night.colors[role]} == {
        "accent",
        "link",
    }


def test_a_theme_may_extend_the_packaged_one_of_its_own_name(tmp_path: Path) -> None:
    themes, problems = read_themes(
        packaged_themes(),
        written(tmp_path, "night", 'extends = "night"\n[colors]\ntext = "#ffffff"\n'),
    )
    assert not problems
    assert themes["night"].colors["text"] == "#ffffff"


@pytest.mark.parametrize("dark", [True, False])
def test_colours_that_a_theme_leaves_out_are_derived_and_can_be_read(
    tmp_path: Path, dark: bool
) -> None:
    base = THEMES["night" if dark else "paper"].colors
    derived = ("link", "emphasis", "on-mark", *HIGHLIGHTS)
    lines = [
        f'{role} = "{color}"' for role, color in base.items() if role not in derived
    ]
    themes, problems = read_themes(
        written(tmp_path, "mine", "[colors]\n" + "\n".join(lines))
    )
    assert not problems
    colors = themes["mine"].colors
    assert colors["link"] == colors["accent"]
    assert len({colors[role] for role in HIGHLIGHTS}) == 4
    for role in HIGHLIGHTS:
        assert contrast(colors["text"], colors[role]) >= 7


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "[colors]\nbackground = 'red!'",
            ["'background' is 'red!'", "#rrggbb", "bright-blue"],
        ),
        (
            "[colors]\nbackground = '#101010'",
            ["'surface' (behind the memory", "muted", 'extends = "night"'],
        ),
        (
            "extends = 'night'\n[colors]\nacent = '#101010'",
            ["unknown colour 'acent'", "Did you mean accent?", "muted"],
        ),
        ("extends = 'nigth'", ["extends unknown theme 'nigth'", "night", "paper"]),
        ("extends = 'mine'", ["extends unknown theme 'mine'"]),
        ("extends = 'night'\ndrak = true", ["unknown key 'drak'", "dark"]),
        ("name = 'a b'", ["letters, digits and dashes"]),
        ("colors = 3", ["[colors] is missing"]),
        ("dark = yes\n", ["line 1"]),
        ("extends = 'night'\ndark = 'yes'", ["true or false"]),
    ],
)
def test_a_theme_that_cannot_be_used_is_said_with_its_file_and_what_there_is(
    tmp_path: Path, text: str, messages: list[str]
) -> None:
    themes, problems = read_themes(packaged_themes(), written(tmp_path, "mine", text))
    assert "mine" not in themes
    assert set(THEMES) == set(themes)
    (problem,) = problems
    assert problem.startswith("Theme mine.toml: ")
    for words in messages:
        assert words in problem


async def test_themes_are_previewed_and_escape_restores_the_old_one(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path, config=Config(theme="night"))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("T")
        await until(pilot, lambda: isinstance(app.screen, ThemeScreen))
        assert app.theme == "night"
        seen = {app.theme}
        for _ in THEMES:
            await pilot.press("down")
            await pilot.pause(0.05)
            seen.add(app.theme)
        assert seen == set(THEMES)
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "night")
        assert not paths_in(tmp_path).config_file.exists()


async def test_a_theme_is_chosen_by_mouse(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path, config=Config(theme="night"))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("T")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, ThemeScreen)
                and app.screen.query_one("#rows").size.height
            ),
        )
        await pilot.pause(0.1)
        await pilot.click("#rows", offset=(4, 3))
        await until(pilot, lambda: not isinstance(app.screen, ThemeScreen))
        chosen = app.theme
        assert chosen != "night"
        await until(
            pilot, lambda: load_config(paths_in(tmp_path).config_file).theme == chosen
        )


async def test_themes_of_the_person_are_read_anew_when_the_chooser_opens(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path, config=Config(theme="night"))
    async with app.run_test(size=(110, 40)) as pilot:
        await opened(pilot)
        folder = paths_in(tmp_path).themes
        written(folder, "harbour", 'extends = "paper"\ntitle = "My harbour"')
        written(folder, "broken", "colors = 3")
        await pilot.press("T")
        await until_shown(pilot, "My harbour")
        assert "Theme broken.toml: [colors] is missing" in text_of(app)
        await pilot.press("escape")
        app.theme = "harbour"
        ground = str(app.get_theme("harbour").background)
        written(folder, "harbour", 'extends = "night"\ntitle = "My harbour"')
        await pilot.press("T")
        await until(pilot, lambda: isinstance(app.screen, ThemeScreen))
        assert app.theme == "harbour"
        assert str(app.get_theme("harbour").background) != ground
        shown = THEMES["night"].colors["background"]
        await until(pilot, lambda: app.reading.styles.background.hex.lower() == shown)


async def test_themes_as_they_were_change_no_style(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(small_book(), tmp_path, config=Config(theme="night"))
    async with app.run_test(size=(110, 40)) as pilot:
        await opened(pilot)
        changes: list[str] = []
        monkeypatch.setattr(app, "refresh_css", lambda **_: changes.append(app.theme))
        await pilot.press("T")
        await until(pilot, lambda: isinstance(app.screen, ThemeScreen))
        app.theme = "paper"
        await until(pilot, lambda: bool(changes))
        assert changes == ["paper"]


async def test_the_chooser_fits_small_terminals_and_a_click_beside_it_keeps_the_old_theme(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path, config=Config(theme="sepia"))
    async with app.run_test(size=(20, 5)) as pilot:
        await opened(pilot)
        for size in ((20, 5), (60, 20), SIZE):
            await pilot.resize_terminal(*size)
            await pilot.press("T", "down")
            await until(pilot, lambda: app.theme != "sepia")
            if size == SIZE:
                await pilot.click(offset=(1, 1))
            else:
                await pilot.press("escape")
            await until(pilot, lambda: app.theme == "sepia")


def _styles(app: App[None]) -> list[Style]:
    """The styles of everything on the screen, as sent to the terminal."""
    strips = app.screen._compositor.render_strips()
    return [segment.style for strip in strips for segment in strip if segment.style]


def _hue(color: str) -> float:
    return colorsys.rgb_to_hsv(*_channels(color))[0]


def _distance(first: str, second: str) -> float:
    return math.dist(_channels(first), _channels(second))


def _channels(color: str) -> list[int]:
    return [int(color[at : at + 2], 16) for at in (1, 3, 5)]


def test_a_palette_without_terminal_colours_is_not_the_terminals() -> None:
    assert not Palette("x", "x", True, dict.fromkeys(ROLES, "#000000")).terminal
