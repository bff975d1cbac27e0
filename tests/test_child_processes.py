"""Children of gistread import nothing from the working directory and end with their parent.

Nor from beside a book.
"""

import os
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path

import psutil
import pytest

import gistread
from gistread.child_process import run_python
from tests.book.test_pdf import Sheet, pdf, prose

LOOK_ALIKES = (
    "json",
    "llama_cpp",
    "numpy",
    "orjson",
    "pypdfium2",
    "random",
    "resvg_py",
    "textual",
    "jinja2",
    "lxml",
)
PACKAGE = Path(gistread.__file__).parent
STORY = "The mill stood by the river. Nobody had lived there for twenty years.\n\n" * 8
DRAWING = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect '
    b'width="9" height="9"/></svg>'
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder of books with modules that leave a trace when they are imported."""
    folder = tmp_path / "books"
    folder.mkdir()
    for name in LOOK_ALIKES:
        (folder / f"{name}.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n"
        )
    (folder / "story.txt").write_text(STORY)
    (folder / "letter.pdf").write_bytes(pdf([Sheet(prose(STORY))]))
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with gistread, as from a wheel.

    Its `sitecustomize` is talkative.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    shutil.copytree(PACKAGE, packages / "gistread")
    theirs = [
        path for path in sys.path if path.endswith("site-packages")
    ] + site.getsitepackages()
    (packages / "dependencies.pth").write_text("\n".join(dict.fromkeys(theirs)))
    (packages / "sitecustomize.py").write_text(
        "print('{\"kind\": \"Loaded\"}')\nprint('half a line', end='')\n"
    )
    return folder / "bin" / "python"


def run(
    python: Path | str, folder: Path, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    home = str(folder.parent / "home")
    own = {
        **os.environ,
        "HOME": home,
        "XDG_CACHE_HOME": "",
        "XDG_CONFIG_HOME": "",
        "XDG_DATA_HOME": "",
    }
    return subprocess.run(
        [str(python), *words],
        cwd=folder,
        env={**own, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def commands(tiny: Path) -> dict[str, list[str]]:
    """What starts each child: the command line of Python, by the child's name."""
    drawing = (
        f"from gistread.tui.drawing import unpack; print(unpack({DRAWING!r}).width)"
    )
    page = "import subprocess; from gistread.child_process import python_command; "
    page += (
        "subprocess.run([*python_command('gistread', outlives_parent=True), '--version'], "
        "check=True)"
    )
    return {
        "worker": ["-m", "gistread", "index", "story.txt", "--model", str(tiny)],
        "probe": ["-m", "gistread", "doctor", "--model", str(tiny)],
        "PDF": ["-m", "gistread", "search", "letter.pdf", "river"],
        "drawing": ["-P", "-c", drawing],
        "page in a browser": ["-P", "-c", page],
    }


CHILDREN = ["worker", "probe", "PDF", "drawing", "page in a browser"]


@pytest.mark.parametrize("child", CHILDREN)
def test_nothing_is_imported_from_the_working_directory(
    child: str, hostile: Path, tiny: Path
) -> None:
    """In this checkout, with an empty entry in PYTHONPATH: to Python, the working directory."""
    words = commands(tiny)[child]
    done = run(
        sys.executable, hostile, *words, PYTHONPATH="" if "-P" in words else os.pathsep
    )
    assert not done.returncode, done.stderr
    assert not (hostile.parent / "ran").exists()


@pytest.mark.parametrize(
    "child",
    [
        CHILDREN[0],
        *(pytest.param(child, marks=pytest.mark.slow) for child in CHILDREN[1:]),
    ],
)
def test_an_installation_imports_nothing_from_there_and_survives_what_is_printed(
    child: str, hostile: Path, tiny: Path, installed: Path
) -> None:
    done = run(installed, hostile, *commands(tiny)[child])
    assert not done.returncode, done.stderr
    assert not (hostile.parent / "ran").exists()


def test_a_child_imports_from_the_users_own_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "import sys; print(sys.argv[1:], sys.flags.isolated)"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run_python("mine", "a b", timeout_s=60).stdout == b"['a b'] 1\n"


def test_a_child_ends_after_its_parent(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text("while True: pass")
    code = (
        "import subprocess, sys, time; from gistread.child_process import python_command; "
        f"sys.path.append({str(tmp_path)!r}); "
        "print(subprocess.Popen(python_command('busy')).pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(timeout=60)
