"""Recipes of other package managers name what `pyproject.toml` requires; `stamp` fills them in."""

import hashlib
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
ON_ARCH = {"jinja2": "jinja", "pyyaml": "yaml", "mdit-py-plugins": "mdit_py_plugins"}


def required() -> set[str]:
    names = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return {re.match(r"[\w.-]+", name)[0] for name in names}


def words(text: str, pattern: str) -> set[str]:
    match = re.search(pattern, text, re.DOTALL)
    assert match
    return {re.sub(r"\s*#.*", "", line).strip() for line in match[1].splitlines()} - {""}


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
    project = tomllib.loads((PACKAGING / "starter" / "pyproject.toml").read_text())["project"]
    assert "dependencies" not in project
