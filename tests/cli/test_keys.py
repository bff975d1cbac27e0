"""`gistread keys`, with the configured keys."""

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
