"""Recipes of other package managers name what `pyproject.toml` requires; `stamp` fills them in.

`release` checks everything before it changes anything.
"""

import hashlib
import re
import shutil
import subprocess
import tomllib
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
ON_ARCH = {"jinja2": "jinja", "pyyaml": "yaml", "mdit-py-plugins": "mdit_py_plugins"}


def required() -> set[str]:
    names = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "dependencies"
    ]
    return {re.match(r"[\w.-]+", name)[0] for name in names}


def words(text: str, pattern: str) -> set[str]:
    match = re.search(pattern, text, re.DOTALL)
    assert match
    return {re.sub(r"\s*#.*", "", line).strip() for line in match[1].splitlines()} - {
        ""
    }


def test_flake_and_pkgbuild_name_every_dependency() -> None:
    flake = (PACKAGING / "nix" / "flake.nix").read_text()
    assert words(flake, r" dependencies = with python; \[(.*?)\]") == required()
    pkgbuild = (PACKAGING / "aur" / "PKGBUILD").read_text()
    expected = {"python", *(f"python-{ON_ARCH.get(name, name)}" for name in required())}
    assert words(pkgbuild, r"\ndepends=\((.*?)\n\)") == expected


def test_stamp_writes_version_and_checksum(tmp_path: Path) -> None:
    shutil.copytree(PACKAGING, tmp_path / "packaging")
    (source := tmp_path / "gistread-9.8.7.tar.gz").write_bytes(b"a source distribution")
    subprocess.run([tmp_path / "packaging" / "stamp", source], check=True)
    checksum = hashlib.sha256(source.read_bytes()).hexdigest()
    formula = (tmp_path / "packaging" / "homebrew" / "gistread.rb").read_text()
    assert 'releases/download/v9.8.7/gistread-9.8.7.tar.gz"' in formula
    assert f'sha256 "{checksum}"' in formula
    pkgbuild = (tmp_path / "packaging" / "aur" / "PKGBUILD").read_text()
    assert "\npkgver=9.8.7\n" in pkgbuild
    assert f"\nsha256sums=({checksum})\n" in pkgbuild


def test_the_package_of_the_starter_has_the_weights_of_the_catalogue() -> None:
    catalogue = ROOT / "src" / "gistread" / "engine" / "catalogue.toml"
    starter = tomllib.loads(catalogue.read_text())["starter"]
    build = (PACKAGING / "starter" / "build").read_text()
    assert f"\nfile={starter['file']}\nsum={starter['sha256']}\n" in build
    project = tomllib.loads((PACKAGING / "starter" / "pyproject.toml").read_text())[
        "project"
    ]
    assert "dependencies" not in project


def git(checkout: Path, *arguments: str) -> str:
    ran = subprocess.run(
        ["git", *arguments], cwd=checkout, check=True, capture_output=True, text=True
    )
    return ran.stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the files that a release changes, and one released version."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    files = {
        "src/gistread/__init__.py": '__version__ = "0.3.0"\n',
        "CITATION.cff": 'version: 0.3.0\ndate-released: "2026-11-27"\n',
        "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n### Added\n",
        # These stand for the program that writes the manual page.
        **dict.fromkeys(("tests/__init__.py", "tests/cli/__init__.py"), ""),
        "tests/cli/test_manual.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "packaging").mkdir()
    shutil.copy(PACKAGING / "release", tmp_path / "packaging")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    git(tmp_path, "tag", "v0.3.0")
    return tmp_path


def release(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = checkout / "packaging" / "release"
    return subprocess.run(
        [script, *arguments], capture_output=True, text=True, check=False
    )


def test_a_release_has_a_commit_a_tag_and_a_heading(checkout: Path) -> None:
    ran = release(checkout, "0.4.0")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert git(checkout, "log", "-1", "--format=%s", "v0.4.0") == "Release 0.4.0\n"
    heading = f"## [Unreleased]\n\n## [0.4.0] - {date.today().isoformat()}\n"
    assert heading in (checkout / "CHANGELOG.md").read_text()
    assert "version: 0.4.0" in (checkout / "CITATION.cff").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name the version"),
        (["v0.4.0"], "Name the version"),
        (["0.4"], "Name the version"),
        (["0.4.0", "--pusch"], "The only option is --push"),
        (["0.3.0"], "The tag v0.3.0 exists"),
    ],
)
def test_a_release_with_a_wrong_argument_changes_nothing(
    checkout: Path, arguments: list[str], message: str
) -> None:
    before = git(checkout, "rev-parse", "HEAD")
    ran = release(checkout, *arguments)
    assert ran.returncode == 1
    assert message in ran.stderr
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "rev-parse", "HEAD") == before
    assert git(checkout, "tag", "--list") == "v0.3.0\n"


def test_a_release_is_made_on_main(checkout: Path) -> None:
    git(checkout, "switch", "--quiet", "--create", "other")
    ran = release(checkout, "0.4.0")
    assert (ran.returncode, git(checkout, "tag", "--list")) == (1, "v0.3.0\n")
    assert "on the branch main" in ran.stderr


def test_a_release_needs_the_heading_of_what_is_unreleased(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
    git(checkout, "commit", "--quiet", "--all", "--message", "Change the heading")
    ran = release(checkout, "0.4.0")
    assert (ran.returncode, git(checkout, "tag", "--list")) == (1, "v0.3.0\n")
    assert "no heading" in ran.stderr
    assert git(checkout, "status", "--porcelain") == ""
