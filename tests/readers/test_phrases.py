"""The phrases that readers recognize.

Each one that the code names is there, compiles, and is used.
"""

import re
from pathlib import Path

import gistread
from gistread.readers.phrases import _PHRASES, pattern, phrases

SOURCE = "\n".join(
    path.read_text("utf-8") for path in Path(gistread.__file__).parent.rglob("*.py")
)
NAMED = set(re.findall(r"\b(?:pattern|phrases)\(\s*\"(\w+)\"", SOURCE))


def test_every_phrase_that_the_code_names_exists_and_compiles() -> None:
    assert set(_PHRASES) >= NAMED
    for name in NAMED:
        assert pattern(name).pattern == phrases(name)
        assert "${" not in phrases(name)


def test_no_phrase_is_left_unused() -> None:
    within = set(re.findall(r"\$\{(\w+)\}", "\n".join(_PHRASES.values())))
    families = tuple(re.findall(r"\b(?:pattern|phrases)\(f\"(\w+)\{", SOURCE))
    assert [
        name for name in set(_PHRASES) - NAMED - within if not name.startswith(families)
    ] == []
