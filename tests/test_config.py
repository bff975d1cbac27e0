"""Settings: read strictly, said clearly, written without touching what the person wrote."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.config import Config, load_config, save_setting
from gistread.errors import UsageError
from tests.permissions import obey_permissions

WRITTEN = """\
# My settings.
theme = "sepia"   # easy on the eyes

max_pages = 3

[keys]
# as in less
quit = "q"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gistread" / "config.toml"


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


def test_reads_every_setting(file: Path) -> None:
    write(
        file,
        'theme = "dark"\nmodel = "~/m.gguf"\ncontext_tokens = 4096\nmin_words = 280\nmax_words = '
        "600\n"
        'max_pages = 0\njustify = true\ntext_width = 60\nkeys = { ask = "a", "next-page" = '
        '"space,j" }\n',
    )
    assert load_config(file) == Config(
        theme="dark",
        model="~/m.gguf",
        context_tokens=4096,
        min_words=280,
        max_words=600,
        max_pages=0,
        justify=True,
        text_width=60,
        keys={"ask": "a", "next-page": "space,j"},
    )


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "\n\nthem = 'dark'",
            ["line 3", "unknown setting 'them'", "Did you mean theme?"],
        ),
        (
            "zzz = 1",
            [
                "line 1",
                "unknown setting 'zzz'",
                "theme, model, read_along, asking_model, context_tokens",
            ],
        ),
        ("theme = 7", ["line 1: theme must be a text in quotes, not 7"]),
        ("\njustify = 'yes'", ["line 2: justify must be true or false, not 'yes'"]),
        (
            "max_pages = true",
            ["max_pages must be a whole number from 0 to 100, not true"],
        ),
        ("max_pages = 101", ["from 0 to 100, not 101"]),
        ("text_width = 72.5", ["from 20 to 400, not 72.5"]),
        (
            "min_words = 600\nmax_words = 280",
            ["min_words (600) must be smaller than max_words (280)"],
        ),
        ("keys = 'q'", ["line 1: keys must be a table"]),
        ("theme = ''\n[keys]\nquit = 1", ["line 2: keys.quit must name a key"]),
        ("[keys]\nquit = ''", ["keys.quit must name a key"]),
        ("theme = dark", ["is not valid TOML", "line 1"]),
        (
            "model_folders = 'a'",
            ["line 1: model_folders must be a list of folders in quotes"],
        ),
        (
            "model_folders = ['a', 3]",
            ["line 1: model_folders must be a list of folders in quotes"],
        ),
        ("[display]\nwidth = 3", ["line 1: unknown setting 'display'"]),
    ],
)
def test_says_which_file_line_and_key_are_wrong_and_what_is_allowed(
    file: Path, text: str, messages: list[str]
) -> None:
    write(file, text)
    with pytest.raises(UsageError) as caught:
        load_config(file)
    assert str(caught.value).startswith(str(file))
    for words in messages:
        assert words in str(caught.value)


def test_settings_saved_at_once_are_all_kept(file: Path) -> None:
    """Threads and processes read, change and write each under the lock of the file."""
    numbers = range(12)
    with ThreadPoolExecutor(len(numbers)) as pool:
        list(
            pool.map(
                lambda number: save_setting(
                    file, f"keys.command{number}", f"f{number}"
                ),
                numbers,
            )
        )
    assert load_config(file).keys == {
        f"command{number}": f"f{number}" for number in numbers
    }


def test_saving_leaves_every_other_byte(file: Path) -> None:
    write(file, WRITTEN)
    save_setting(file, "theme", "dark")
    assert file.read_text() == WRITTEN.replace('"sepia"', '"dark"')


@pytest.mark.parametrize(
    "value", ["/models/two\nlines.gguf", "/models/no \udcff UTF-8.gguf"]
)
def test_what_cannot_be_written_is_refused_and_the_file_is_as_it_was(
    file: Path, value: str
) -> None:
    write(file, WRITTEN)
    with pytest.raises(UsageError, match="model must be a text"):
        save_setting(file, "model", value)
    assert file.read_text() == WRITTEN


@pytest.mark.parametrize("text", ["theme = dark", "theme = 'a'\ntheme = 'b'"])
def test_saving_never_touches_a_file_that_it_does_not_understand(
    file: Path, text: str
) -> None:
    write(file, text)
    with pytest.raises(UsageError, match="justify has not been saved"):
        save_setting(file, "justify", True)
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("key", "value"),
    [("max_pages", -1), ("colour", "red"), ("keys.quit", ""), ("keys", "q")],
)
def test_what_could_not_be_read_back_is_not_written(
    file: Path, key: str, value: str | int
) -> None:
    with pytest.raises(UsageError):
        save_setting(file, key, value)
    assert not file.exists()


def test_a_link_to_the_settings_stays_a_link_and_keeps_its_mode(
    file: Path, tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(WRITTEN)
    real.chmod(0o600)
    file.parent.mkdir()
    file.symlink_to(real)
    save_setting(file, "theme", "dark")
    assert file.is_symlink()
    assert load_config(real) == replace(load_config(file), theme="dark")
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_read_only_folder_is_said_and_changes_nothing(file: Path) -> None:
    write(file, WRITTEN)
    file.parent.chmod(0o555)
    script = (
        "import sys\nfrom pathlib import Path\nfrom gistread.config import save_setting\n"
        "from gistread.errors import StorageError\n"
        "try: save_setting(Path(sys.argv[1]), 'theme', 'dark')\nexcept StorageError as error: "
        "print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=obey_permissions,
    )
    file.parent.chmod(0o755)
    assert "Permission denied" in done.stdout
    assert "theme has not been saved" in done.stdout
    assert file.read_text() == WRITTEN


def test_a_setting_of_0_2_that_is_gone_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('reading_goal = 20\nbidi = "off"\n')
    assert load_config(path).bidi == "off"


def test_a_value_of_0_2_that_is_gone_becomes_the_one_like_it(file: Path) -> None:
    write(file, 'steps = "announce"\n')
    assert load_config(file).steps == "ask"
