"""`gistread keys`, with the configured keys."""

import pytest

from gistread.paths import default_paths
from gistread.tui.all_commands import COMMANDS
from tests.cli.conftest import Run


def configure(text: str) -> None:
    file = default_paths().config_file
    file.write_text(text)


def test_every_command_is_listed_by_place_with_its_keys(run: Run) -> None:
    shown = run("keys").out
    titled = [command for command in COMMANDS if command.title]
    assert len(titled) > 50
    assert [command.id for command in titled if command.id not in shown] == []
    assert {command.scope for command in titled if command.scope not in shown} == set()


def test_changed_keys_are_shown_and_invalid_ones_reported(run: Run) -> None:
    configure('[keys]\nask = "ctrl+t"\nno-such-thing = "y"\n')
    ran = run("keys", "--json")
    ask = next(key for key in ran.json["keys"] if key["command"] == "ask")
    assert (ask["keys"], ask["default"]) == (["ctrl+t"], ["a"])
    assert not any("{" in key["help"] for key in ran.json["keys"])
    assert "no-such-thing" in ran.err


@pytest.mark.parametrize("command", ["keys", "books"])
def test_a_theme_that_does_not_exist_is_told_on_one_line(
    run: Run, command: str
) -> None:
    configure('theme = "ember"\n')
    assert "theme" not in run(command).err
    configure('theme = "nosuch"\n')
    (line,) = [line for line in run(command).err.splitlines() if "theme" in line]
    assert "unknown theme 'nosuch'" in line
    assert "ember" in line


def test_a_theme_may_have_another_name_than_its_file(run: Run) -> None:
    folder = default_paths().themes
    folder.mkdir()
    (folder / "file.toml").write_text('name = "mine"\nextends = "night"\n')
    configure('theme = "mine"\n')
    assert "unknown theme" not in run("books").err


def test_a_wrong_setting_is_told_by_the_list_of_books(run: Run) -> None:
    configure('images = "nosuch"\n')
    ran = run("books")
    assert (ran.status, "images must be" in ran.err) == (0, True)
